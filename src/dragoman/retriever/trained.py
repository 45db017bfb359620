"""What a trained retriever's part says of its use: how a turn is asked, in which shares, what a score is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, get_args

from dragoman.core.errors import ConfigError, WeightsError
from dragoman.core.values import Evidence, SourceName
from dragoman.models.calibration import log_odds
from dragoman.models.part import Head, Part, open_part
from dragoman.retriever.judge import Candidate
from dragoman.retriever.repetition_penalty import RepetitionPenalty
from dragoman.retriever.search import PREFERENCE, Asked, Dependency, SourceSearch

BI, CROSS = "retriever.bi", "retriever.cross"
"""The kinds of parts: one vector a text, or one score a pair."""
HEAD = "relevance"
_DEPENDENCY: Dependency = "prefer"
_QUERY: Asked = "standalone"


@dataclass(frozen=True, slots=True)
class Way:
    """How a retriever asks and judges; without a head, relevance is not its own to give."""

    query: Asked = _QUERY
    dependency: Dependency = _DEPENDENCY
    mix: Mapping[str, float] = field(default_factory=dict)
    said: Mapping[SourceName, RepetitionPenalty] = field(default_factory=dict)
    """What a passage of a source loses where the agent has said as much already."""
    head: Head | None = None
    part: Part | None = None

    def relevance(self, score: float, source: SourceName) -> float:
        """The calibrated probability of a score: as fitted for that source where there were enough turns to."""
        assert self.head is not None
        return self.head.probability(score, source if source in self.head.calibrations else None)


class Trained:
    """A part that is opened when it is first needed, and the options that were given beside it."""

    def __init__(
        self,
        part: str | None,
        folder: Path | None = None,
        *,
        kind: str = BI,
        query: Asked | None = None,
        dependency: Dependency | None = None,
    ) -> None:
        if part is None and query == "mix":
            raise ConfigError(
                'A retriever with query = "mix" needs a trained part.', remedy="Give `part`, or another query."
            )
        self._name = part
        self._folder = folder
        self._kind = kind
        self._query = query
        self._dependency = dependency
        self._lock = Lock()
        self._way: Way | None = None

    def way(self) -> Way:
        """How to ask: what was given, else what the part was trained with, else what suits an untrained encoder."""
        with self._lock:
            if self._way is None:
                self._way = self._opened()
            return self._way

    def _opened(self) -> Way:
        if self._name is None:
            return Way(self._query or _QUERY, self._dependency or _DEPENDENCY)
        part = open_part(self._name, kind=self._kind, folder=self._folder)
        query: Asked = self._query or _option(part, "query", get_args(Asked), _QUERY)
        dependency: Dependency = self._dependency or _option(part, "dependency", get_args(Dependency), _DEPENDENCY)
        shares = part.options.get("mix") or {}
        mix = {name: float(share) for name, share in shares.items()}
        return Way(query, dependency, mix, _said(part), part.head(HEAD), part)


def calibrated(way: Way, search: SourceSearch, candidates: Sequence[Candidate]) -> list[tuple[float, Evidence]]:
    """Each candidate as evidence, in the order given, with the log-odds by which it may be ranked; see `judged`."""
    found = []
    for candidate in candidates:
        assert candidate.cosine is not None
        relevance = way.relevance(candidate.cosine, search.source.name)
        evidence = Evidence(candidate.passage, relevance, {**candidate.scores, "cosine": candidate.cosine})
        found.append((log_odds(relevance) + liking(search, candidate), evidence))
    return found


def liking(search: SourceSearch, candidate: Candidate) -> float:
    """What being a child of the given evidence adds to the log-odds where dependency prefers."""
    return PREFERENCE if search.prefers(candidate.passage) else 0.0


def _option(part: Part, name: str, known: Sequence[str], default: str) -> Any:
    value = part.options.get(name, default)
    if value not in known:
        raise _unknown(part, name)
    return value


def _said(part: Part) -> dict[SourceName, RepetitionPenalty]:
    try:
        return {name: RepetitionPenalty(**learned) for name, learned in (part.options.get("said") or {}).items()}
    except (TypeError, AttributeError) as error:
        raise _unknown(part, "said") from error


def _unknown(part: Part, name: str) -> WeightsError:
    return WeightsError(
        f"The part '{part.folder}' was trained with {name} = {part.options[name]!r}, which this version does not know.",
        remedy="Train it again, or run it with the version that made it.",
    )
