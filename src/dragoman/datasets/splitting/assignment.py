"""Assignment of dialogues to parts, a pure function of ids, evidence and a seed.

A unit is a dialogue. Splits by dialogue and into folds assign every unit to a part. A split by evidence keeps all
evidence of held-out units out of the first part; if units share evidence so closely that no such split keeps all of
them, a search drops as few as possible.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, TypeAlias

from dragoman.core.errors import InputError
from dragoman.datasets.splitting.holdout import held_out

By: TypeAlias = Literal["dialogue", "evidence", "folds"]
PARTS: Mapping[str, float] = {"train": 0.8, "dev": 0.1, "test": 0.1}
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Unit:
    """Indivisible unit of a split: id, evidence, and the decisions of its turns."""

    id: str
    evidence: frozenset[str] = frozenset()
    decisions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cut:
    """Ids of each part, in the order of the units, and of the dropped units."""

    parts: Mapping[str, tuple[str, ...]]
    dropped: tuple[str, ...] = ()


def cut(
    units: Iterable[Unit],
    *,
    by: By = "dialogue",
    parts: Mapping[str, float] | None = None,
    folds: int = FOLDS,
    seed: int = 1,
    stratify: bool = True,
) -> Cut:
    """Split units into parts; the result depends on units and seed, not on their order.

    `parts` maps each part to its share; by evidence, the first part shares nothing with the others.
    `stratify` gives the parts about the same distribution of decisions.
    """
    listed = list(units)
    shares = shares_of(parts, by=by, folds=folds)
    _check(listed, shares)
    if by != "evidence":
        return _gathered(listed, _dealt(listed, shares, seed=seed, stratify=stratify), shares)
    first, *others = shares
    # Sorted by a seeded key, so that neither the order of the file nor that of a set decides anything.
    bound = sorted((unit for unit in listed if unit.evidence), key=lambda unit: _key(seed, unit.id))
    free = [unit for unit in listed if not unit.evidence]
    if not bound:
        raise InputError("No turn of this set names evidence.", remedy="Cut it by dialogue.")
    sides = held_out([unit.evidence for unit in bound], 1 - shares[first], seed=seed)
    inside = [unit for unit, side in zip(bound, sides, strict=True) if side == "held"]
    placed = _dealt(inside, {name: shares[name] for name in others}, seed=seed, stratify=stratify)
    placed |= {unit.id: first for unit, side in zip(bound, sides, strict=True) if side == "rest"}
    placed |= _dealt(free, shares, seed=seed, stratify=stratify)
    return _gathered(listed, placed, shares)


def control(
    units: Iterable[Unit], made: Cut, *, turns: Mapping[str, int], seed: int = 1, stratify: bool = True
) -> tuple[str, ...]:
    """Draw units with as many turns as the first part, from that part and the dropped units.

    A control for training: as much data as the first part, but with held-out evidence. The number of turns differs by
    less than one unit.
    """
    first = next(iter(made.parts.values()))
    allowed = frozenset({*first, *made.dropped})
    listed = [unit for unit in units if unit.id in allowed]
    wanted, total = sum(turns[name] for name in first), sum(turns[unit.id] for unit in listed)
    drawn: set[str] = set()
    taken = passed = 0
    for unit in _arranged(listed, seed=seed, stratify=stratify, block=math.ceil(total / max(wanted, 1))):
        # Its own length does not decide whether a unit is taken, so that long ones are drawn as often as short ones.
        if taken * total <= passed * wanted and wanted:
            drawn.add(unit.id)
            taken += turns[unit.id]
        passed += turns[unit.id]
    return tuple(unit.id for unit in listed if unit.id in drawn)


def shares_of(parts: Mapping[str, float] | None, *, by: By, folds: int = FOLDS) -> dict[str, float]:
    """Return the shares of the parts, normalised to a sum of one."""
    if by == "folds":
        if folds < 2:
            raise InputError(f"{folds} folds are none.", remedy="Ask for two or more.")
        return {f"fold-{number}": 1 / folds for number in range(1, folds + 1)}
    chosen = dict(PARTS if parts is None else parts)
    wrong = [name for name, share in chosen.items() if not (math.isfinite(share) and share > 0)]
    if len(chosen) < 2 or wrong:
        what = f"The part '{wrong[0]}' has the share {chosen[wrong[0]]}." if wrong else "One part is no cut."
        raise InputError(what, remedy="Give two parts or more, each with a share above 0: train=0.8,test=0.2.")
    total = sum(chosen.values())
    return {name: share / total for name, share in chosen.items()}


def _check(units: Sequence[Unit], shares: Mapping[str, float]) -> None:
    twice = [name for name, count in Counter(unit.id for unit in units).items() if count > 1]
    if twice:
        raise InputError(f"Two units have the id '{twice[0]}'.", remedy="Give each its own.")
    if len(units) < len(shares):
        raise InputError(
            f"{len(units)} dialogues cannot be cut into {len(shares)} parts.", remedy="Ask for fewer parts or folds."
        )


def _gathered(units: Sequence[Unit], placed: Mapping[str, str], names: Iterable[str]) -> Cut:
    parts: dict[str, list[str]] = {name: [] for name in names}
    dropped: list[str] = []
    for unit in units:
        parts[placed[unit.id]].append(unit.id) if unit.id in placed else dropped.append(unit.id)
    return Cut({name: tuple(ids) for name, ids in parts.items()}, tuple(dropped))


def _dealt(units: Sequence[Unit], shares: Mapping[str, float], *, seed: int, stratify: bool) -> dict[str, str]:
    """Assign each unit in turn to the part that is furthest below its share."""
    ordered = _arranged(
        units, seed=seed, stratify=stratify, block=math.ceil(sum(shares.values()) / min(shares.values()))
    )
    total = sum(shares.values())
    counts = dict.fromkeys(shares, 0)
    placed: dict[str, str] = {}
    for number, unit in enumerate(ordered, start=1):
        part = max(shares, key=lambda name: shares[name] / total * number - counts[name])
        counts[part] += 1
        placed[unit.id] = part
    return placed


def _arranged(units: Sequence[Unit], *, seed: int, stratify: bool, block: int) -> list[Unit]:
    """Shuffle units; with stratification, sort by decisions and shuffle within blocks."""
    shuffled = sorted(units, key=lambda unit: _key(seed, unit.id))
    if not stratify:
        return shuffled
    frequency = Counter(decision for unit in units for decision in unit.decisions)
    rarest = sorted(frequency, key=lambda decision: (frequency[decision], decision))
    counts = {unit.id: Counter(unit.decisions) for unit in units}
    alike = sorted(shuffled, key=lambda unit: [counts[unit.id][decision] for decision in rarest])
    blocks = (alike[start : start + block] for start in range(0, len(alike), block))
    return [unit for each in blocks for unit in sorted(each, key=lambda unit: _key(seed, unit.id))]


def _key(seed: int, name: str) -> bytes:
    """Return a random number for a seed and an id."""
    return blake2b(f"{seed}\x00{name}".encode("utf-8", "surrogatepass"), digest_size=12).digest()
