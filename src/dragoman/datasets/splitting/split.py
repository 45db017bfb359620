"""Examples cut into parts by dialogue, by unseen evidence or into folds."""

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
"""Letters in an opening that two dialogues do not share by chance; a Chinese character counts as three."""


@dataclass(frozen=True, slots=True)
class Split:
    """The examples of each part, in their order, and those that were dropped because they straddle the cut."""

    parts: Mapping[str, list[Example]]
    dropped: list[Example]


@dataclass(frozen=True, slots=True)
class Units:
    """What is not cut through, and to which of them each dialogue belongs."""

    units: tuple[Unit, ...]
    of: Mapping[str, str]

    def places(self, made: Cut) -> dict[str, str]:
        """Dialogue to part, for those that are in one; a part that got none is an error."""
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
    """Cut examples into parts; no dialogue is in two of them.

    By evidence, no candidate and no gold passage of another part occurs in the first, by its text. `passages` are
    those that all examples share: give them where gold evidence is among them.
    """
    listed = list(examples)
    grouped = units(listed, passages)
    made = cut(grouped.units, by=by, parts=parts, folds=folds, seed=seed, stratify=stratify)
    place = grouped.places(made)
    found: dict[str, list[Example]] = {name: [] for name in made.parts}
    dropped: list[Example] = []
    for example in listed:
        part = place.get(example.context.dialogue)
        (dropped if part is None else found[part]).append(example)
    return Split(found, dropped)


def units(examples: Iterable[Example], passages: Iterable[Passage] = ()) -> Units:
    """The dialogues in order of their first turn, with what each could be answered from.

    Some sets release the turns of one dialogue as logs that do not name it: dialogues that open with the same words,
    and enough of them, are one unit.
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
        found, said = evidence.setdefault(unit, set()), decisions.setdefault(unit, [])
        if unit != last[0] or example.candidates is not last[1]:  # turns of a dialogue mostly have one and the same
            last = unit, example.candidates
            found.update(_text_key(candidate.text) for candidate in example.candidates)
        for named in example.gold.evidence or ():
            found.update(shared.get(named, ()))
        if example.gold.plan is not None:
            said.append(decision(example.gold.plan))
        elif example.gold.retrieve is not None:
            said.append(str(example.gold.retrieve))
    made = (Unit(unit, frozenset(found), tuple(sorted(decisions[unit]))) for unit, found in evidence.items())
    return Units(tuple(made), of)


def _opening(example: Example) -> str:
    first = normalised(example.context.turns[0].text) if example.context.turns else ""
    return _text_key(first) if len(first) + 2 * cjk_count(first) >= _TELLING else ""


def keys(passage: Passage) -> tuple[str, ...]:
    """What must not be on both sides of a cut for a shared passage: its text, and what it is about by its title."""
    return (_text_key(passage.text), *((_text_key(f"title {passage.title}"),) if passage.title else ()))


def normalised(text: str) -> str:
    """The letters and digits of a text, whatever their width and case; a text without any stays as it is."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if char.isalnum()) or folded.strip()


@lru_cache(maxsize=2**16)
def _text_key(text: str) -> str:
    """A short name of a text by its normalised form, so that a large set does not keep its texts."""
    return hashlib.blake2b(normalised(text).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
