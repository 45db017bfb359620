"""The smallest roles that keep their contracts: for tests of what is around them, and for measuring the loop alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from zlib import crc32

from dragoman.core.values import (
    NOTHING_LEARNED,
    NULL_PLAN,
    Context,
    Draft,
    Evidence,
    Learned,
    Passage,
    Plan,
    ReadTask,
    Request,
    Source,
    Verdict,
)

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

_PIECES = re.compile(r"\S+\s*|\s+")
_WORDS = re.compile(r"\w+")


class StubGate:
    """Opens always, never, or for turns that hold one of some words; the same with evidence unless told otherwise."""

    def __init__(
        self, *, open: bool = True, words: Sequence[str] = (), reads_evidence: bool = False, keeps: bool = True
    ) -> None:
        self.reads_evidence = reads_evidence
        self._words = tuple(words)
        self._open = Verdict(True, 1.0, "stub")
        self._closed = Verdict(False, 0.0, "stub")
        self._first = self._open if open else self._closed
        self._second = self._open if keeps else self._closed

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        if evidence is not None:
            return [self._second] * len(turns)
        if not self._words:
            return [self._first] * len(turns)
        return [self._open if any(word in context.last for word in self._words) else self._closed for context in turns]


class StubPlanner:
    """Gives one plan for every turn, or the plan of the first of some words that a turn holds."""

    def __init__(self, plan: Plan = NULL_PLAN, *, words: Mapping[str, Plan] | None = None) -> None:
        self._plan = plan
        self._words = dict(words or {})

    def plan(self, turns: Sequence[Context], sources: Sequence[Source]) -> Sequence[Plan]:
        if not self._words:
            return [self._plan] * len(turns)
        return [
            next((plan for word, plan in self._words.items() if word in context.last), self._plan) for context in turns
        ]


class StubRetriever:
    """Gives the passages of a source in the order given, with falling relevance; remembers what it was asked."""

    def __init__(self, passages: Sequence[Passage] = (), *, relevance: Mapping[str, float] | None = None) -> None:
        self.requests: list[Request] = []
        self._by_source: dict[str, list[Evidence]] = {}
        for passage in passages:
            rows = self._by_source.setdefault(passage.source, [])
            rows.append(Evidence(passage, (relevance or {}).get(passage.id, 1.0 / (1 + len(rows)))))

    def retrieve(self, requests: Sequence[Request]) -> Sequence[Sequence[Evidence]]:
        self.requests.extend(requests)
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> tuple[Evidence, ...]:
        evidence: list[Evidence] = []
        for source in request.sources:
            novel = [row for row in self._by_source.get(source.name, ()) if row.id not in request.without]
            evidence += novel[: request.k]
        return tuple(evidence)


class StubReader:
    """Reader that lists its evidence, word by word when streamed."""

    def __init__(self, *, confidence: float = 1.0) -> None:
        self.tasks: list[ReadTask] = []
        self._confidence = confidence

    def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
        self.tasks.extend(tasks)
        return [self._one(task) for task in tasks]

    def stream(self, task: ReadTask) -> Iterator[str | Draft]:
        draft = self.read([task])[0]
        yield from _PIECES.findall(draft.text)
        yield draft

    def _one(self, task: ReadTask) -> Draft:
        ids = tuple(piece.id for piece in task.evidence)
        return Draft(f"From {' '.join(ids)}." if ids else "From nothing.", self._confidence, "stub", ids)


class StubCritic:
    """Critic with a fixed consistency per evidence, else one for all."""

    def __init__(self, consistency: Mapping[str, float] | None = None, *, otherwise: float = 1.0) -> None:
        self._consistency = dict(consistency or {})
        self._otherwise = otherwise

    def consistency(self, pairs: Sequence[tuple[Evidence, str]]) -> Sequence[float]:
        return [self._consistency.get(evidence.id, self._otherwise) for evidence, _ in pairs]


class StubMemory:
    """Memory that learns nothing, or always the same."""

    def __init__(self, learned: Learned = NOTHING_LEARNED) -> None:
        self._learned = learned

    def learn(self, turns: Sequence[Context]) -> Sequence[Learned]:
        return [self._learned] * len(turns)


class StubEncoder:
    """A vector of hashed words: texts that share words are close. No weights, and the same everywhere."""

    def __init__(self, *, dimensions: int = 64) -> None:
        self._dimensions = dimensions

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def encode(self, texts: Sequence[str]) -> FloatArray:
        import numpy as np

        # A little of everything, so that a text without words has a direction too.
        vectors = np.full((len(texts), self._dimensions), 1e-3, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in _WORDS.findall(text.lower()):
                vectors[row, crc32(word.encode()) % self._dimensions] += 1.0
        unit: FloatArray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit
