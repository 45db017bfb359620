"""Candidates to label: by turn and source, with a hash of everything that the labels depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.core.errors import InputError
from dragoman.core.examples import Example
from dragoman.core.values import Passage, Source

Which: TypeAlias = Literal["plan", "all"]
"""Sources whose candidates are labelled: those of the gold plan, or all."""
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """Candidates of one source for a turn, which are scored together."""

    example: Example
    source: Source
    candidates: tuple[Passage, ...]

    @property
    def gold(self) -> frozenset[str] | None:
        """Ids of the gold evidence; None without a label."""
        evidence = self.example.gold.evidence
        return None if evidence is None else frozenset(evidence)

    @property
    def given(self) -> tuple[Passage, ...]:
        """Given evidence of a dependent source: the gold of the sources it needs, else the parents of its own gold."""
        right = [passage for passage in self.example.candidates if passage.id in (self.gold or ())]
        needed = tuple(passage for passage in right if passage.source in self.source.needs)
        if needed:
            return needed
        parents = {passage.parent for passage in right if passage.source == self.source.name}
        return tuple(
            passage
            for passage in self.example.candidates
            if passage.id in parents and passage.source in self.source.needs
        )


@dataclass(frozen=True, slots=True)
class TurnToLabel:
    """Turn with candidates to label, and the hash that ties labels to it."""

    example: Example
    pools: tuple[CandidatePool, ...]
    sha256: str

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the labelled passages, in order."""
        return tuple(passage.id for pool in self.pools for passage in pool.candidates)


def turn_to_label(example: Example, which: Which) -> TurnToLabel | None:
    """Return the part of a turn that is labelled; None if there is nothing, as for the plan NULL."""
    sources = [source for source in example.sources if which == "all" or source.name in (example.gold.plan or ())]
    pools = []
    for source in sources:
        candidates = tuple(passage for passage in example.candidates if passage.source == source.name)
        if candidates:
            pools.append(CandidatePool(example, source, candidates))
    if not pools:
        return None
    turn = TurnToLabel(example, tuple(pools), _digest(example, pools))
    if len(set(turn.ids)) < len(turn.ids):
        twice = next(key for key in turn.ids if turn.ids.count(key) > 1)
        raise InputError(
            f"The turn '{example.id}' has two candidates with the id '{twice}'.", remedy="Give each an id of its own."
        )
    return turn


def whole(turns: Iterable[tuple[str, str]]) -> str:
    """Return the hash of a file's turns from their ids and hashes, in order."""
    digest = hashlib.sha256()
    for key, sha256 in turns:
        digest.update(json.dumps([key, sha256]).encode() + b"\n")
    return digest.hexdigest()


def _digest(example: Example, pools: Iterable[CandidatePool]) -> str:
    """Return the hash of everything that labels depend on: turns, indexed candidates, plan, evidence, reply."""
    content = [
        [[turn.speaker, turn.text] for turn in example.context.turns],
        [[pool.source.name, passage.id, passage.indexed] for pool in pools for passage in pool.candidates],
        None if example.gold.plan is None else list(example.gold.plan),
        None if example.gold.evidence is None else sorted(example.gold.evidence),
        example.gold.reply,
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:_DIGITS]
