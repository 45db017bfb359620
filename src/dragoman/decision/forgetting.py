"""Clear the caches of this package that hold texts, when a user's data is deleted."""

from __future__ import annotations

from dragoman.core.caches import keeps_texts
from dragoman.decision import questions
from dragoman.decision.tables import rows


class DecisionCaches:
    """The caches of this package; `dragoman.core.caches.clear_caches` reaches them."""

    def __init__(self) -> None:
        keeps_texts(self)

    def clear_cache(self) -> None:
        """Empty every cache that holds words of a user or a document."""
        for kept in (questions.analyser, rows.analyser):  # the others are `text_cache`s
            kept.cache_clear()


CACHES = DecisionCaches()
"""Held here, since the register of caches holds its members weakly."""
