"""Kinds of answers (prices, times, people, places) that a question expects and a sentence offers."""

from __future__ import annotations

import re

from dragoman.core.caches import text_cache
from dragoman.text.patterns import tables

_NAMED = {"who": "person", "where": "place"}
_WANTS = tables("wants")
# People and places are known by the capitals of their names; everything else may be written either way.
_OFFERS = tables("offers", lambda kind: 0 if kind in _NAMED else re.IGNORECASE)


@text_cache(maxsize=2048)
def wants(question: str) -> frozenset[str]:
    """The kinds of answer that a question asks for; none for a plain yes or no."""
    kinds = {kind for kind, pattern in _WANTS.items() if pattern.search(question)}
    if "year" in kinds or "day" in kinds:
        kinds.discard("time")
    if "phone" in kinds and re.search(r"\bnumber\b|\bring\b|phone|电话", question, re.IGNORECASE):
        kinds -= {"count", "place", "person"}
    if "price" in kinds:
        kinds -= {"count", "time", "place", "person"}
    return frozenset(kinds)


@text_cache(maxsize=8192)
def offers(sentence: str) -> frozenset[str]:
    """The kinds of answer that a sentence could give."""
    return frozenset(_NAMED.get(kind, kind) for kind, pattern in _OFFERS.items() if pattern.search(sentence))
