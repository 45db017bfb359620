"""Defaults of distillation, in a file of their own because the command line shows them and imports nothing else."""

from __future__ import annotations

TEACHER = "all-minilm-l6-v2-int8"
LEAST, MOST = 50, 20_000
"""The fewest passages that a table can be fitted to, and the most that are read."""
