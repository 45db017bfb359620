"""Training of the critic: consistent pairs, and pairs made inconsistent by edits."""
