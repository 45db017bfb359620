"""Search options of a trained retriever part: query text, vector mix, repetition penalties, calibration."""

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
from dragoman.retriever.search import PREFERENCE, Dependency, QueryKind, SourceSearch

BI, CROSS = "retriever.bi", "retriever.cross"
"""Kinds of parts: bi-encoder (a vector per text) and cross-encoder (a score per pair)."""
HEAD = "relevance"
_DEPENDENCY: Dependency = "prefer"
_QUERY: QueryKind = "standalone"


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of a search; without a `head` the part has no calibrated relevance."""

    query: QueryKind = _QUERY
    dependency: Dependency = _DEPENDENCY
    mix: Mapping[str, float] = field(default_factory=dict)
    said: Mapping[SourceName, RepetitionPenalty] = field(default_factory=dict)
    """Repetition penalty by source."""
    head: Head | None = None
    part: Part | None = None

    def relevance(self, score: float, source: SourceName) -> float:
        """Return the calibrated probability of a score, by the source's own calibration if there is one."""
        assert self.head is not None
        return self.head.probability(score, source if source in self.head.calibrations else None)


class Trained:
    """Part that is opened on first use, with the options that override it."""

    def __init__(
        self,
        part: str | None,
        folder: Path | None = None,
        *,
        kind: str = BI,
        query: QueryKind | None = None,
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
        self._options: SearchOptions | None = None

    def options(self) -> SearchOptions:
        """Return the search options: the caller's, else the part's, else the defaults of an untrained encoder."""
        with self._lock:
            if self._options is None:
                self._options = self._opened()
            return self._options

    def _opened(self) -> SearchOptions:
        if self._name is None:
            return SearchOptions(self._query or _QUERY, self._dependency or _DEPENDENCY)
        part = open_part(self._name, kind=self._kind, folder=self._folder)
        query: QueryKind = self._query or _option(part, "query", get_args(QueryKind), _QUERY)
        dependency: Dependency = self._dependency or _option(part, "dependency", get_args(Dependency), _DEPENDENCY)
        shares = part.options.get("mix") or {}
        mix = {name: float(share) for name, share in shares.items()}
        return SearchOptions(query, dependency, mix, _penalties(part), part.head(HEAD), part)


def calibrated_evidence(
    options: SearchOptions, search: SourceSearch, candidates: Sequence[Candidate]
) -> list[tuple[float, Evidence]]:
    """Return each candidate as evidence with the log-odds that rank it, in the given order; see `to_evidence`."""
    scored = []
    for candidate in candidates:
        assert candidate.cosine is not None
        relevance = options.relevance(candidate.cosine, search.source.name)
        evidence = Evidence(candidate.passage, relevance, {**candidate.scores, "cosine": candidate.cosine})
        scored.append((log_odds(relevance) + liking(search, candidate), evidence))
    return scored


def liking(search: SourceSearch, candidate: Candidate) -> float:
    """Return the log-odds that dependency "prefer" adds to a child of the given evidence."""
    return PREFERENCE if search.prefers(candidate.passage) else 0.0


def _option(part: Part, name: str, choices: Sequence[str], default: str) -> Any:
    value = part.options.get(name, default)
    if value not in choices:
        raise _unknown(part, name)
    return value


def _penalties(part: Part) -> dict[SourceName, RepetitionPenalty]:
    try:
        return {name: RepetitionPenalty(**learned) for name, learned in (part.options.get("said") or {}).items()}
    except (TypeError, AttributeError) as error:
        raise _unknown(part, "said") from error


def _unknown(part: Part, name: str) -> WeightsError:
    return WeightsError(
        f"The part '{part.folder}' was trained with {name} = {part.options[name]!r}, which this version does not know.",
        remedy="Train it again, or run it with the version that made it.",
    )
