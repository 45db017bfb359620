"""Entity mentions in dialogues: whole words, ignoring case, 'the' and 'hotel'."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile(r"['’]")
# What people leave off: they stay "at the Acorn". Longest first.
_TAILS = tuple(
    tuple(tail.split()) for tail in ("bed and breakfast", "guest house", "guesthouse", "restaurant", "hotel", "bar")
)
_DISTINCT = 5
"""Least length of a single word that abbreviates a name: 'acorn', but not 'ask' or 'a'."""


class Mentions:
    """Finder of names in texts."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Index the names; `names` maps keys to names."""
        self._starts: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
        for key, name in names.items():
            for words in _variants(name):
                self._starts[words[0]].append((words, key))

    def find(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return the keys of the names in a text, by first mention; a longer name hides one inside it."""
        keys: dict[str, None] = {}
        for text in texts:
            text_words = _words(text)
            place = 0
            while place < len(text_words):
                fitting = [
                    (words, key)
                    for words, key in self._starts.get(text_words[place], ())
                    if tuple(text_words[place : place + len(words)]) == words
                ]
                longest = max((len(words) for words, _ in fitting), default=0)
                keys.update((key, None) for words, key in fitting if len(words) == longest)
                place += max(longest, 1)
        return tuple(keys)


def _words(text: str) -> list[str]:
    return _WORD.findall(_APOSTROPHE.sub("", text.casefold()).replace("&", " and "))


def _variants(name: str) -> set[tuple[str, ...]]:
    words = tuple(_words(name))
    if len(words) > 1 and words[0] == "the":
        words = words[1:]
    forms = {words} if words else set()
    for tail in _TAILS:
        rest = words[: -len(tail)]
        if words[-len(tail) :] == tail and (len(rest) > 1 or (rest and len(rest[0]) >= _DISTINCT)):
            forms.add(rest)
            break
    return forms
