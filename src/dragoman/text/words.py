"""The stems of all words of a text, function words too, which a trained gate counts and a search leaves out."""

from __future__ import annotations

from functools import cache

from dragoman.core.caches import clear_caches, text_cache
from dragoman.text.analyse import SNOWBALL, Analyser


@text_cache(maxsize=4096)
def words(text: str, language: str = "auto") -> tuple[str, ...]:
    """The stems of a text in order; Chinese text as pairs of characters. Cached, as a dialogue repeats its turns."""
    return _analyser(language if language in SNOWBALL else "auto")(text)


def forget_texts() -> None:
    """Empty every cache of this process that holds words of a user or a document."""
    clear_caches()
    _analyser.cache_clear()


@cache
def _analyser(language: str) -> Analyser:
    return Analyser(language=language, stop_words=False)
