"""Answers from tables and lists: which row, which cell, which points."""
