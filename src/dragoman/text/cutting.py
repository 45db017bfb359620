"""Text cut into plain tokens as other people's baselines cut it: nothing folded, stemmed or left out.

jieba    words by jieba's accurate mode; spaces and marks are tokens, as its callers mostly leave them in
words    lower-case words and single marks, for English
space    whatever stands between white space
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, TypeAlias

from dragoman.core.caches import text_cache
from dragoman.core.errors import MissingExtraError
from dragoman.text import lazy_re as re

Cut: TypeAlias = Literal["jieba", "words", "space"]
_WORDS = re.compile(r"\w+|[^\w\s]")


@text_cache(maxsize=65536)
def cut(text: str, scheme: Cut) -> tuple[str, ...]:
    """The tokens of a text. White space always parts tokens, so text may be cut piece by piece after any of it."""
    if scheme == "space":
        return tuple(text.split())
    if scheme == "words":
        return tuple(_WORDS.findall(text.lower()))
    return tuple(jieba_module().lcut(text))


@cache
def jieba_module() -> Any:  # it has no types
    """The package that knows Chinese words, loaded when first needed, without its chatter."""
    import logging
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it writes some patterns in a way that newer Pythons warn of
            import jieba
    except ImportError as error:
        raise MissingExtraError(
            "Cutting Chinese text into words needs jieba.", remedy="Run: pip install dragoman[zh]", extra="zh"
        ) from error
    jieba.setLogLevel(logging.WARNING)
    return jieba
