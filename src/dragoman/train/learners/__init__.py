"""Learners, one per file: each trains one kind of part from labelled turns."""
