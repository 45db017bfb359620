"""Splits of examples by dialogue, by unseen evidence or into folds."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from dragoman.core.errors import InputError
from dragoman.core.examples import Example
from dragoman.core.values import Passage
from dragoman.datasets.check import decision
from dragoman.datasets.splitting.assignment import FOLDS, By, Cut, Unit, cut
from dragoman.text.language import cjk_count

_TELLING = 32
"""Letters of an opening that two dialogues rarely share by chance; a Chinese character counts as three."""


@dataclass(frozen=True, slots=True)
class Split:
    """Examples of each part, in order, and dropped ones whose evidence is on both sides."""

    parts: Mapping[str, list[Example]]
    dropped: list[Example]


@dataclass(frozen=True, slots=True)
class Units:
    """Indivisible units of a split, and the unit of each dialogue."""

    units: tuple[Unit, ...]
    of: Mapping[str, str]

    def places(self, made: Cut) -> dict[str, str]:
        """Return the part of each assigned dialogue; an empty part is an error."""
        for name, ids in made.parts.items():
            if not ids:
                raise InputError(
                    f"No dialogue is left for the part '{name}'.",
                    remedy="Give it a larger share, pool more files, or cut by dialogue.",
                )
        part_of = {unit: name for name, ids in made.parts.items() for unit in ids}
        return {dialogue: part_of[unit] for dialogue, unit in self.of.items() if unit in part_of}


def split(
    examples: Iterable[Example],
    *,
    by: By = "dialogue",
    parts: Mapping[str, float] | None = None,
    folds: int = FOLDS,
    seed: int = 1,
    stratify: bool = True,
    passages: Iterable[Passage] = (),
) -> Split:
    """Split examples into parts; each dialogue is in one part.

    By evidence, no text of a candidate or gold passage of another part occurs in the first. `passages` are the shared
    ones; they are needed if gold evidence is among them.
    """
    listed = list(examples)
    grouped = units(listed, passages)
    made = cut(grouped.units, by=by, parts=parts, folds=folds, seed=seed, stratify=stratify)
    place = grouped.places(made)
    by_part: dict[str, list[Example]] = {name: [] for name in made.parts}
    dropped: list[Example] = []
    for example in listed:
        part = place.get(example.context.dialogue)
        (dropped if part is None else by_part[part]).append(example)
    return Split(by_part, dropped)


def units(examples: Iterable[Example], passages: Iterable[Passage] = ()) -> Units:
    """Return the dialogues in order of their first turn, with their evidence.

    Some sets release the turns of a dialogue as separate logs: dialogues with the same, long enough opening are one
    unit.
    """
    shared = {passage.id: keys(passage) for passage in passages}
    of: dict[str, str] = {}
    openings: dict[str, str] = {}
    evidence: dict[str, set[str]] = {}
    decisions: dict[str, list[str]] = {}
    last: tuple[str, tuple[Passage, ...]] = ("", ())
    for example in examples:
        dialogue = example.context.dialogue
        if dialogue not in of:
            opening = _opening(example)
            of[dialogue] = openings.setdefault(opening, dialogue) if opening else dialogue
        unit = of[dialogue]
        texts, labels = evidence.setdefault(unit, set()), decisions.setdefault(unit, [])
        if unit != last[0] or example.candidates is not last[1]:  # turns of a dialogue mostly have one and the same
            last = unit, example.candidates
            texts.update(_text_key(candidate.text) for candidate in example.candidates)
        for named in example.gold.evidence or ():
            texts.update(shared.get(named, ()))
        if example.gold.plan is not None:
            labels.append(decision(example.gold.plan))
        elif example.gold.retrieve is not None:
            labels.append(str(example.gold.retrieve))
    made = (Unit(unit, frozenset(texts), tuple(sorted(decisions[unit]))) for unit, texts in evidence.items())
    return Units(tuple(made), of)


def _opening(example: Example) -> str:
    first = normalised(example.context.turns[0].text) if example.context.turns else ""
    return _text_key(first) if len(first) + 2 * cjk_count(first) >= _TELLING else ""


def keys(passage: Passage) -> tuple[str, ...]:
    """Return the keys of a shared passage that must stay on one side: its text and its title."""
    return (_text_key(passage.text), *((_text_key(f"title {passage.title}"),) if passage.title else ()))


def normalised(text: str) -> str:
    """Return the letters and digits of a text, without width and case; other texts stay unchanged."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if char.isalnum()) or folded.strip()


@lru_cache(maxsize=2**16)
def _text_key(text: str) -> str:
    """Return a hash of the normalised text, so that a large set does not keep its texts."""
    return hashlib.blake2b(normalised(text).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
