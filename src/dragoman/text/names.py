"""Which of many names a text says: whole words in any case, with or without 'the' and the kind of place, and misspelt.

A longer name hides one inside it. What is not said exactly is looked for among stretches of words that begin alike and
differ by a letter or two. What anybody may say of anything (`common` words) is never taken for a misspelt name, nor for
the beginning of one that stands for the whole.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from dragoman.core.caches import keeps_texts
from dragoman.text import lazy_re as re

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile(r"['’]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_KINDS = 3
"""A last word that this many names share names their kind ("Harbour Hotel"), and people leave it off. A word that the
texts of this many names share is common."""
_DISTINCT = 5
"""Letters of a single word that may stand for a longer name, or be misspelt."""
_SHORT = 3
"""The same for a name without its kind where it is known which words are common."""
_ALIKE = 0.84
"""The share of letters in common from which on a stretch of words is a misspelt name."""
_KEPT = 4096


class Names:
    """Finds names in texts; made once for all of them."""

    def __init__(self, names: Iterable[str], *, common: frozenset[str] = frozenset()) -> None:
        listed = tuple(dict.fromkeys(name for name in names if name.strip()))
        self._common = common
        self._starts: dict[str, list[tuple[tuple[str, ...], str, bool]]] = defaultdict(list)
        self._letters: dict[tuple[int, str], list[tuple[str, str, bool]]] = defaultdict(list)
        self._longest = 1
        for name, forms in _forms(listed, common).items():
            for words, is_sure in forms.items():
                self._starts[words[0]].append((words, name, is_sure))
                joined = "".join(words)
                if len(joined) >= _DISTINCT and not _HAN.search(joined):
                    self._letters[len(words), joined[0]].append((joined, name, len(words) > 1))
                    self._longest = max(self._longest, len(words))
        self._said = lru_cache(maxsize=_KEPT)(self._find)
        keeps_texts(self)

    def clear_cache(self) -> None:
        """Empty the cache of texts."""
        self._said.cache_clear()

    def find(self, text: str) -> tuple[str, ...]:
        """The names that a text says, in order."""
        return tuple(self._said(text))

    def latest(self, texts: Sequence[str], *, most: int = 1) -> tuple[str, ...]:
        """The names that a dialogue is about: those of the last `most` texts that surely say one, 0 for all.

        Names that are only guessed at later than that (from one word, perhaps misspelt) are about as likely; they come
        too. The latest come first.
        """
        names: dict[str, None] = {}
        telling = 0
        for text in reversed(texts):
            mentions = self._said(text)
            names.update(dict.fromkeys(mentions))
            telling += any(mentions.values())
            if most and telling >= most:
                break
        return tuple(names)

    def _find(self, text: str) -> Mapping[str, bool]:
        """The names in order, each with whether it is surely meant."""
        tokens = words_of(text)
        places: dict[str, tuple[int, bool]] = {}
        free = [True] * len(tokens)
        place = 0
        while place < len(tokens):
            fitting = [
                (words, name, is_sure)
                for words, name, is_sure in self._starts.get(tokens[place], ())
                if tuple(tokens[place : place + len(words)]) == words
            ]
            longest = max((len(words) for words, _, _ in fitting), default=0)
            for words, name, is_sure in fitting:
                if len(words) == longest:
                    places[name] = min(place, places.get(name, (place,))[0]), is_sure or places.get(name, (0, False))[1]
            free[place : place + longest] = [False] * longest
            place += max(longest, 1)
        for name, where, is_sure in self._misspelt(tokens, free):
            places.setdefault(name, (where, is_sure))
        return {name: places[name][1] for name in sorted(places, key=lambda name: places[name][0])}

    def _misspelt(self, said: Sequence[str], free: list[bool]) -> Iterator[tuple[str, int, bool]]:
        """Names that a stretch of words nearly is, the longest first; what is taken is not looked at again."""
        for size in range(self._longest + 1, 0, -1):
            for place in range(len(said) - size + 1):
                stretch = said[place : place + size]
                if not all(free[place : place + size]) or self._common.issuperset(stretch):
                    continue
                name, is_sure = self._nearest("".join(stretch), size)
                if name:
                    free[place : place + size] = [False] * size
                    yield name, place, is_sure

    def _nearest(self, joined: str, size: int) -> tuple[str, bool]:
        best, nearest = _ALIKE, ("", False)
        if len(joined) < _DISTINCT:
            return nearest
        for words in (size, size + 1, size - 1):  # 'guest house' and 'guesthouse' are the same
            for letters, name, is_sure in self._letters.get((words, joined[0]), ()):
                if abs(len(letters) - len(joined)) > max(1, len(letters) // 6):
                    continue
                alike = SequenceMatcher(None, letters, joined, autojunk=False)
                if alike.quick_ratio() > best and (share := alike.ratio()) > best:
                    best, nearest = share, (name, is_sure)
        return nearest


def words_of(text: str) -> list[str]:
    """The words by which names are compared; of a run of Chinese characters each is one."""
    folded = _APOSTROPHE.sub("", text.casefold()).replace("&", " and ")
    return _WORD.findall(_HAN.sub(lambda match: f" {match[0]} ", folded))


def common_words(texts: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Words that occur in the texts of several names; `texts` are pairs of a name and a text about it."""
    under: dict[str, set[str]] = defaultdict(set)
    for name, text in texts:
        for word in set(words_of(text)):
            if len(under[word]) < _KINDS:
                under[word].add(name)
    return frozenset(word for word, names in under.items() if len(names) >= _KINDS)


def _forms(names: Sequence[str], common: frozenset[str]) -> dict[str, dict[tuple[str, ...], bool]]:
    """What each name may be called, and whether that surely means it: the whole of it without its article does, or
    several words of it without its kind; a single word that is left, or that it begins with and no other name has,
    only where it is not common."""
    split = {name: tuple(words_of(name)) for name in names}
    tails = _tails(split.values())
    times = Counter(word for words in split.values() for word in set(words))
    forms_by_name: dict[str, dict[tuple[str, ...], bool]] = {}
    for name, words_of_name in split.items():
        words = words_of_name[1:] if len(words_of_name) > 1 and words_of_name[0] == "the" else words_of_name
        forms = {words: True} if words else {}
        rest = next((words[:-size] for size in (3, 2, 1) if words[-size:] in tails and words[:-size]), ())
        if len(rest) > 1:
            forms.setdefault(rest, True)
        elif rest and rest[0] not in common and len(rest[0]) >= (_SHORT if common else _DISTINCT):
            forms.setdefault(rest, False)
        if common and words and words[0] not in common and times[words[0]] == 1 and len(words[0]) >= _DISTINCT:
            forms.setdefault(words[:1], False)
        forms_by_name[name] = forms
    return forms_by_name


def _tails(split: Iterable[tuple[str, ...]]) -> frozenset[tuple[str, ...]]:
    """The last words, one to three, that several names share."""
    counts: Counter[tuple[str, ...]] = Counter()
    for words in split:
        counts.update(words[-size:] for size in (1, 2, 3) if len(words) > size)
    return frozenset(tail for tail, times in counts.items() if times >= _KINDS and not _HAN.search("".join(tail)))
