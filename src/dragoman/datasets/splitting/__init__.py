"""Data sets split by dialogue, by unseen evidence, or into folds."""
