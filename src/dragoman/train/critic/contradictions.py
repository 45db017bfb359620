"""Edits of a reply and its evidence: of one side, so that they contradict each other, or of both, so that they agree.

An edit touches only what the two have in common, so that they really disagree afterwards. A number or name of both is
changed in one. A sentence is negated if the other text has half of its words; a word is replaced by one that it
excludes if the other text has the word or a synonym. Questions are left alone. With several pieces of evidence only the
reply is negated, since the other pieces would still support it, and nothing where they contradict each other already.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

from dragoman.text.analyse import analyse
from dragoman.text.claims import names, numbers
from dragoman.text.sentences import sentences
from dragoman.train.critic.edits import (
    Excluded,
    change_number,
    exchange_name,
    has_name,
    negate,
    oppose,
    opposites,
    other_number,
    torn,
)

Edit: TypeAlias = Literal["number", "name", "negation", "opposite"]
EDITS: tuple[Edit, ...] = ("number", "name", "negation", "opposite")

_SHARED = 0.5
"""The share of a sentence's words that the other text must have for the negation to contradict it."""
_TRIES = 8
_IDIOMS = frozenset("01")
"""Numbers that are mostly no counts: "one of them"."""
_COMMON = 3
"""A word in so many titles (hotel, house) is no name."""
_BOOK = re.compile(r"《([^《》]{1,30})》")
_FACT = re.compile(
    r"(?P<subject>[^，。；、：\s]{2,16}?)的(?P<about>[^的，。；、：\s]{2,8}?)(?:是|为|有|叫|：)(?P<value>[^，。；、：\s]{2,16})"
)
_QUESTION = re.compile(r"[?？]\s*[\"'”’)）]*$")


@dataclass(frozen=True, slots=True)
class Pair:
    """A reply with its evidence, the `grounding`. `title` names what the evidence is about, if it has a name; `pieces`
    is the number of pieces of evidence."""

    grounding: str
    reply: str
    title: str = ""
    pieces: int = 1


@dataclass(frozen=True, slots=True)
class NamePools:
    """The names of a dataset by kind, so that a name is exchanged for another of its kind."""

    by_kind: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    common: frozenset[str] = frozenset()
    """Words of many titles, casefolded."""

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> NamePools:
        by_kind: dict[str, dict[str, None]] = {}
        titles: dict[str, None] = {}
        for pair in pairs:
            titles.setdefault(pair.title.casefold())
            for kind, name in shared_names(pair):
                by_kind.setdefault(kind, {}).setdefault(name)
        counts = Counter(word for title in titles for word in set(title.split()))
        common = frozenset(word for word, count in counts.items() if count >= _COMMON)
        pools = {
            kind: tuple(sorted(name for name in names if name.casefold() not in common))
            for kind, names in by_kind.items()
        }
        return cls(pools, common)

    def other(self, kind: str, dice: random.Random, *, absent: Sequence[str]) -> str | None:
        """Another name of a kind that none of the texts has."""
        names = self.by_kind.get(kind, ())
        for name in dice.sample(names, min(_TRIES, len(names))):
            if not any(has_name(text, name) for text in absent):
                return name
        return None


def contradicted(pair: Pair, edit: Edit, names: NamePools, dice: random.Random) -> Pair | None:
    """The pair with one side edited so that the two contradict each other; None where the edit does not apply."""
    return _FINDERS[edit](pair, names, dice, both=False)


def echoed(pair: Pair, names: NamePools, dice: random.Random) -> Pair | None:
    """The pair with the same number or name exchanged on both sides: strange, and as consistent as before."""
    edits = [_number, _name, _opposite]
    dice.shuffle(edits)
    return next(
        (pair_with_edit for edit in edits if (pair_with_edit := edit(pair, names, dice, both=True)) is not None), None
    )


def shared_names(pair: Pair) -> list[tuple[str, str]]:
    """The names on both sides with their kinds: titles, works, subjects and values of facts, and others."""
    kinds: dict[str, str] = {}
    if pair.title and has_name(pair.reply, pair.title):
        kinds[pair.title] = "title"
    for match in _BOOK.finditer(pair.grounding):
        kinds.setdefault(match[1], "work")
    for match in _FACT.finditer(pair.grounding):
        kinds.setdefault(match["value"], f"value of {match['about']}")
        kinds.setdefault(match["subject"].removeprefix("《").removesuffix("》"), f"subject of {match['about']}")
    title = pair.title.casefold()
    for name in sorted(names(pair.reply)):
        kinds.setdefault(name.capitalize(), "name in a title" if has_name(title, name) else "name")
    both = [
        (kind, name) for name, kind in kinds.items() if has_name(pair.reply, name) and has_name(pair.grounding, name)
    ]
    return [(kind, name) for kind, name in both if len(name) > 1]


def word_overlap(sentence: str, other: str) -> float:
    """The share of a sentence's words that another text has."""
    words = set(analyse(sentence))
    return len(words & set(analyse(other))) / len(words) if words else 0.0


def _number(pair: Pair, names: NamePools, dice: random.Random, *, both: bool) -> Pair | None:
    stands = numbers(pair.grounding) | numbers(pair.reply)
    candidates = sorted(numbers(pair.grounding) & numbers(pair.reply) - _IDIOMS)
    dice.shuffle(candidates)
    for old in candidates:
        for _ in range(_TRIES):
            new = other_number(old, dice)
            if new not in stands:
                edited = _applied(pair, partial(change_number, old=old, new=new), dice, both=both)
                if edited is not None:
                    return edited
    return None


def _name(pair: Pair, names: NamePools, dice: random.Random, *, both: bool) -> Pair | None:
    candidates = [(kind, name) for kind, name in shared_names(pair) if name.casefold() not in names.common]
    dice.shuffle(candidates)
    for kind, old in candidates:
        new = names.other(kind, dice, absent=(pair.grounding, pair.reply))
        if new is not None:
            edited = _applied(pair, partial(exchange_name, old=old, new=new), dice, both=both)
            if edited is not None:
                return edited
    return None


def _negation(pair: Pair, names: NamePools, dice: random.Random, *, both: bool) -> Pair | None:
    for in_reply, sentence in _deniable(pair, dice):
        denied = negate(sentence)
        if denied is not None:
            return _put(pair, sentence, denied, in_reply=in_reply)
    return None


def _opposite(pair: Pair, names: NamePools, dice: random.Random, *, both: bool) -> Pair | None:
    if both:
        words = [entry for entry in opposites(pair.reply) if has_name(pair.grounding, entry.word)]
        return _swapped(pair, words, dice)
    for in_reply, sentence in _deniable(pair, dice, share=0.0):
        other_side = pair.grounding if in_reply else pair.reply
        entries = [entry for entry in opposites(sentence) if not has_name(pair.title, entry.word)]
        for entry in dice.sample(entries, len(entries)):
            if not any(has_name(other_side, word) for word in entry.alike):
                continue  # the other side does not mention it
            fitting = [other for other in entry.others if not has_name(other_side, other)]
            edited = oppose(sentence, entry.word, dice.choice(fitting)) if fitting else None
            if edited is not None:
                return _put(pair, sentence, edited, in_reply=in_reply)
    return None


def _swapped(pair: Pair, words: Sequence[Excluded], dice: random.Random) -> Pair | None:
    """The pair with a common word replaced on both sides."""
    for entry in dice.sample(words, len(words)):
        fitting = [other for other in entry.others if not has_name(f"{pair.grounding}\n{pair.reply}", other)]
        if fitting:
            new = dice.choice(fitting)
            edited = _applied(pair, partial(oppose, word=entry.word, other=new), dice, both=True)
            if edited is not None:
                return edited
    return None


def _deniable(pair: Pair, dice: random.Random, *, share: float = _SHARED) -> list[tuple[bool, str]]:
    """Sentences that can be negated, by falling overlap, each with whether it is the reply's."""
    if pair.pieces > 1 and torn(pair.grounding):
        return []
    sides = [(True, pair.reply, pair.grounding)]
    if pair.pieces == 1:
        sides.append((False, pair.grounding, pair.reply))
    dice.shuffle(sides)
    candidates = [
        (in_reply, sentence, word_overlap(sentence, other))
        for in_reply, text, other in sides
        for sentence in sentences(text)
        if not _QUESTION.search(sentence)
    ]
    candidates.sort(key=lambda entry: -entry[2])
    return [(in_reply, sentence) for in_reply, sentence, overlap in candidates if overlap >= share]


def _applied(pair: Pair, edit: Callable[[str], str | None], dice: random.Random, *, both: bool) -> Pair | None:
    """An edit of both sides, or of one by chance."""
    grounding, reply = edit(pair.grounding), edit(pair.reply)
    if both:
        return Pair(grounding, reply, pair.title, pair.pieces) if grounding and reply else None
    in_reply = dice.random() < 0.5
    if in_reply and reply:
        return Pair(pair.grounding, reply, pair.title, pair.pieces)
    return Pair(grounding, pair.reply, pair.title, pair.pieces) if grounding else None


def _put(pair: Pair, sentence: str, edited: str, *, in_reply: bool) -> Pair:
    if in_reply:
        return Pair(pair.grounding, pair.reply.replace(sentence, edited, 1), pair.title, pair.pieces)
    return Pair(pair.grounding.replace(sentence, edited, 1), pair.reply, pair.title, pair.pieces)


_FINDERS = {"number": _number, "name": _name, "negation": _negation, "opposite": _opposite}
