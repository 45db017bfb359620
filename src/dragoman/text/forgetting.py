"""Clear what the rules keep of texts in memory: nothing that was forgotten may stay in a cache."""

from __future__ import annotations

from dragoman.core.caches import clear_caches
from dragoman.text.words import forget_words


def forget_texts() -> None:
    """Empty every cache of this process that holds words of a user or a document."""
    clear_caches()
    forget_words()
