"""Statistics of a data set: sizes, labels and problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dragoman.core.examples import Dataset, Example, Label, Problem
from dragoman.core.values import Passage, Source, SourceName
from dragoman.text.language import language

KEPT = 1000
"""Number of problems that a report lists; all of them are counted."""
_DOMAINS = 12


@dataclass(frozen=True, slots=True)
class Spread:
    """Minimum, median, maximum and sum of a number that every turn has."""

    least: int
    median: float
    most: int
    total: int
    turns: int


@dataclass(frozen=True, slots=True)
class DatasetReport:
    """Statistics of a set. A mapping is empty, and a spread None, if no turn has that label.

    `retrieve` counts `true` and `false`, `plans` each decision by its sources (`NULL`, `A+B`), `evidence` the turns by
    how many passages are gold. `replies` are in characters, `contexts` in turns. `duplicates` are turns that repeat
    an earlier one with the same context, candidates and reply. `passages` counts the shared ones.
    """

    name: str
    language: str
    files: tuple[str, ...]
    sources: tuple[Source, ...]
    labels: tuple[Label, ...]
    dialogues: int
    turns: int
    retrieve: Mapping[str, int]
    plans: Mapping[str, int]
    evidence: Mapping[int, int]
    by_source: Mapping[SourceName, int]
    contexts: Spread | None
    candidates: Spread | None
    replies: Spread | None
    domains: Mapping[str, int]
    languages: Mapping[str, int]
    duplicates: int
    passages: int
    errors: int
    warnings: int
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class _Tally:
    """Running counts over the turns; no turn is stored."""

    dialogues: set[int] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    sizes: dict[str, Counter[int]] = field(default_factory=dict)
    turns: int = 0
    duplicates: int = 0
    pool: tuple[Passage, ...] = ()
    pool_hash: int = hash(())
    pool_sources: Counter[SourceName] = field(default_factory=Counter)

    def add(self, example: Example) -> None:
        gold, context = example.gold, example.context
        self.turns += 1
        self.dialogues.add(hash(context.dialogue))
        if example.candidates is not self.pool:  # the turns of a dialogue mostly have one and the same
            self.pool = example.candidates
            self.pool_hash = hash(tuple(candidate.text for candidate in self.pool))
            self.pool_sources = Counter(candidate.source for candidate in self.pool)
        content = hash((context.turns, gold.reply, self.pool_hash))
        self.duplicates += content in self.seen
        self.seen.add(content)
        self._count("languages", language(context.last))
        self._size("contexts", len(context.turns))
        self._size("candidates", len(example.candidates))
        if example.domain:
            self._count("domains", example.domain)
        if gold.retrieve is not None:
            self._count("retrieve", "true" if gold.retrieve else "false")
        if gold.plan is not None:
            self._count("plans", decision(gold.plan))
        if gold.evidence is not None:
            self._size("evidence", len(gold.evidence))
        if gold.reply is not None:
            self._size("replies", len(gold.reply))
        for source, count in self.pool_sources.items():
            self._count("by_source", source, count)

    def _count(self, name: str, value: str, times: int = 1) -> None:
        self.counts.setdefault(name, Counter())[value] += times

    def _size(self, name: str, value: int) -> None:
        self.sizes.setdefault(name, Counter())[value] += 1

    def common(self, name: str, most: int | None = None) -> dict[str, int]:
        """Return the counts, most frequent first, ties by name."""
        ranked = sorted(self.counts.get(name, Counter()).items(), key=lambda pair: (-pair[1], pair[0]))
        return dict(ranked[:most])

    def spread(self, name: str) -> Spread | None:
        return _spread(self.sizes.get(name, Counter()))


def check(dataset: Dataset, *, keep: int = KEPT) -> DatasetReport:
    """Read a whole set and return its statistics with the first `keep` problems."""
    tally = _Tally()
    problems: list[Problem] = []
    severities: Counter[str] = Counter()
    for example in dataset.examples():
        if isinstance(example, Example):
            tally.add(example)
            continue
        severities[example.severity] += 1
        if len(problems) < keep:
            problems.append(example)
    candidates = tally.spread("candidates")
    return DatasetReport(
        name=dataset.name,
        language=dataset.language,
        files=tuple(str(file) for file in dataset.files),
        sources=dataset.sources,
        labels=tuple(sorted(dataset.labels)),
        dialogues=len(tally.dialogues),
        turns=tally.turns,
        retrieve=tally.common("retrieve"),
        plans=tally.common("plans"),
        evidence=dict(sorted(tally.sizes.get("evidence", Counter()).items())),
        by_source=tally.common("by_source"),
        contexts=tally.spread("contexts"),
        candidates=candidates if candidates is not None and candidates.total else None,
        replies=tally.spread("replies"),
        domains=tally.common("domains", _DOMAINS),
        languages=tally.common("languages"),
        duplicates=tally.duplicates,
        passages=sum(1 for _ in dataset.passages()),
        errors=severities["error"],
        warnings=severities["warning"],
        problems=tuple(problems),
    )


def decision(plan: tuple[SourceName, ...]) -> str:
    """Return the name of a plan: `NULL`, `PERSONA`, `PERSONA+DOCUMENTS`."""
    return "+".join(plan) or "NULL"


def _spread(sizes: Counter[int]) -> Spread | None:
    turns = sizes.total()
    if not turns:
        return None
    lower, upper = _nth(sizes, (turns - 1) // 2), _nth(sizes, turns // 2)
    total = sum(size * count for size, count in sizes.items())
    return Spread(min(sizes), (lower + upper) / 2, max(sizes), total, turns)


def _nth(sizes: Counter[int], place: int) -> int:
    """Return the value at an index of the sorted values."""
    return next(size for size, upto in _running(sizes) if place < upto)


def _running(sizes: Counter[int]) -> Iterator[tuple[int, int]]:
    upto = 0
    for size in sorted(sizes):
        upto += sizes[size]
        yield size, upto
