"""Stores copied, backed up, restored and checked, as records."""
