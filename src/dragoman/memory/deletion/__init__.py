"""Deletion: resolve a request, find other texts that repeat the fact, undo it, or delete all data of a user."""
