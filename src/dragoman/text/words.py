"""All words of a text, function words too, stemmed: what a trained gate counts, where a search would leave most out."""

from __future__ import annotations

from functools import cache

from dragoman.core.caches import text_cache
from dragoman.text.analyse import SNOWBALL, Analyser


@text_cache(maxsize=4096)
def words(text: str, language: str = "auto") -> tuple[str, ...]:
    """The stems of a text in their order; Chinese by pairs of characters. Turns of before are not cut again."""
    return _analyser(language if language in SNOWBALL else "auto")(text)


def forget_words() -> None:
    """Let go of every text and word that was seen."""
    words.cache_clear()
    _analyser.cache_clear()


@cache
def _analyser(language: str) -> Analyser:
    return Analyser(language=language, stop_words=False)
