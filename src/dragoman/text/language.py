"""Which language a text is in, by the script it is written in."""

from __future__ import annotations

from typing import Literal, TypeAlias

from dragoman.text import lazy_re as re

Language: TypeAlias = Literal["en", "zh"]

CJK = (
    "\u2e80-\u2fdf"  # radicals
    "\u3005-\u3007\u3021-\u3029"  # iteration mark, zero, numerals
    "\u3040-\u30ff\u3100-\u312f"  # kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\uac00-\ud7af"  # hangul
    "\U00020000-\U0003fffd"  # Han outside the first plane
)
"""The inside of a regular expression's character class: scripts written without spaces, and hangul."""

_CJK = re.compile(f"[{CJK}]")
_WORD = re.compile(f"[^\\W\\d_{CJK}]+(?:['’-][^\\W\\d_{CJK}]+)*")


def is_cjk(char: str) -> bool:
    """Whether a character belongs to a script in which one character is about a word."""
    return _CJK.match(char) is not None


def cjk_count(text: str) -> int:
    """How many characters of a text are CJK."""
    return 0 if text.isascii() else sum(1 for _ in _CJK.finditer(text))


def language(text: str) -> Language:
    """`zh` where CJK characters are at least as many as the words of other scripts, else `en`."""
    characters = cjk_count(text)
    # A character weighs a word, so that a Chinese sentence about "Python" and "FastAPI" stays Chinese.
    return "zh" if characters and characters >= sum(1 for _ in _WORD.finditer(text)) else "en"
