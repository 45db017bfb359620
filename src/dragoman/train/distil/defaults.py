"""How an encoder is distilled where nothing else is said: apart, since the command line shows it and loads no more."""

from __future__ import annotations

TEACHER = "all-minilm-l6-v2-int8"
LEAST, MOST = 50, 20_000
"""Fewer passages are too few to fit anything; more are not read."""
