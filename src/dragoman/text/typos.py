"""Typing errors in English words: "wokrshop" is "workshop".

Only a word that no dictionary has is changed, and only into the commonest word that one slip away from it: a letter
missing, doubled, wrong, or changed places with its neighbour. Capitalised words may be names and stay. Words of four
letters are one slip away from too many others: only letters that changed places are put back. The list of words is in
the order of how common they are.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib.resources import files
from itertools import pairwise

from dragoman.core.caches import text_cache
from dragoman.text import lazy_re as re

_WORD = re.compile(r"(?<![\w'’@./-])[a-z]{4,18}(?![\w'’@/-]|\.\w)")
_ANY_WORD = re.compile(r"[^\W\d_]{2,}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MOST = 12
_SHARE = 0.4
"""With more unknown words, or a larger share of them, a text is taken for another language."""
_LONGEST = 4000
_COMMON = 20_000
"""Up to which place of the list a word is common enough to be meant."""
_SHORT, _COMMONEST = 4, 400
"""A short word is corrected only where two letters changed places, and only into a very common word: "taht"."""
_RAREST = 40_000
"""From which place on a word is too rare for its inflected forms to be meant: "alowed" is no form of "alow"."""
_UNLISTED = frozenset(("arepa", "arepas", "chili", "matcha", "panna"))
"""Words that the list lacks, beside common ones that are one slip away."""
_RARER = 3
"""How many times as common a word must be to be meant where a letter was typed that it does not have."""
_ENDINGS = ("s", "es", "ed", "ing", "er", "ers", "ly", "d", "r")


@text_cache(maxsize=1024)
def untyped(text: str) -> str:
    """The text with typing errors mended; as it is, where it is not English or nothing is one slip away."""
    opening = text[:_LONGEST]
    unknown = [word for word in _WORD.findall(opening) if not _is_known(word)]
    if not unknown or len(unknown) > _MOST or len(unknown) > _SHARE * len(_ANY_WORD.findall(opening)):
        return text
    corrections = {word: _correction(word) for word in unknown}
    return _WORD.sub(lambda match: corrections.get(match[0], match[0]), text)


@text_cache(maxsize=8192)
def _is_known(word: str) -> bool:
    """Whether a word is in the list, or an inflected form of one that is."""
    ranks = _ranks()
    if word in ranks or word in _UNLISTED:
        return True
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if ending in ("d", "r") and not stem.endswith("e"):  # "trailr" is no form of "trail"
            continue
        whole = (stem, f"{stem}e", f"{stem[:-1]}y")
        if stem != word and len(stem) >= 3 and any(ranks.get(each, _RAREST) < _RAREST for each in whole):
            return True
        if stem != word and len(stem) > 3 and stem[-1] == stem[-2] and stem[:-1] in ranks:
            return True
    return False


@text_cache(maxsize=4096)
def _correction(word: str) -> str:
    """The likeliest word that is one slip away and begins with the same letter; else the word itself.

    People leave letters out, or change their places, more often than they type one too many.
    """
    ranks = _ranks()
    if word.endswith("in") and ranks.get(f"{word}g", _RAREST) < _RAREST:
        return f"{word}g"
    if len(word) == _SHORT:
        return next((other for other in _swapped(word) if ranks.get(other, _COMMON) < _COMMONEST), word)
    near = [
        (ranks[other] * (1 if _keeps_letters(word, other) else _RARER), other)
        for other in _one_slip_away(word)
        if ranks.get(other, _COMMON) < _COMMON and other[0] == word[0] and len(other) >= 4
    ]
    return min(near)[1] if near else word


def _keeps_letters(word: str, other: str) -> bool:
    """Whether a correction keeps every typed letter: it adds one, swaps two, or undoubles one."""
    if len(other) < len(word):
        return any(a == b and word[:i] + word[i + 1 :] == other for i, (a, b) in enumerate(pairwise(word)))
    return not set(word) - set(other)


def _swapped(word: str) -> list[str]:
    return [word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)]


def _one_slip_away(word: str) -> set[str]:
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    missing = {a + letter + b for a, b in cuts[1:] for letter in _LETTERS}
    surplus = {a + b[1:] for a, b in cuts if b}
    wrong = {a + letter + b[1:] for a, b in cuts if b for letter in _LETTERS}
    return missing | surplus | {*_swapped(word)} | wrong


def rank(word: str) -> int | None:
    """The place of a word, in lower case, in the list of English words by how common they are; None for others."""
    return _ranks().get(word)


@cache
def _ranks() -> dict[str, int]:
    packed = files("dragoman.text").joinpath("data", "english_words.txt.gz").read_bytes()
    return {word: rank for rank, word in enumerate(gzip.decompress(packed).decode("ascii").split())}
