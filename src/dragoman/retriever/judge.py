"""Turn candidates into evidence: features, calibrated relevance, order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.core.values import Evidence, Passage
from dragoman.retriever.relevance import Terms, calibration_of, measure
from dragoman.retriever.search import PREFERENCE, Analyse, SourceSearch
from dragoman.text.reference import is_chinese


@dataclass(frozen=True, slots=True)
class Candidate:
    """Passage that a search returned, with its cosine, if computed, and its other scores."""

    passage: Passage
    cosine: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)


def to_evidence(
    search: SourceSearch, candidates: Sequence[Candidate], terms: Terms, analyse: Analyse
) -> list[tuple[float, Evidence]]:
    """Return each candidate as evidence with the log-odds that rank it, in the given order.

    Dependency "prefer" raises the log-odds of children of the given evidence, not their relevance.
    """
    chinese = is_chinese(search.query.turn)
    evidence_by_odds = []
    for candidate in candidates:
        features = measure(terms, analyse(candidate.passage.indexed), candidate.cosine)
        semantic = candidate.cosine is not None
        calibration = calibration_of(chinese=chinese, semantic=semantic, about=search.source.about)
        evidence = Evidence(candidate.passage, calibration.probability(features), {**candidate.scores, **features})
        liked = PREFERENCE if search.prefers(candidate.passage) else 0.0
        evidence_by_odds.append((calibration.log_odds(features) + liked, evidence))
    return evidence_by_odds


def by_log_odds(scored: Sequence[tuple[float, Evidence]]) -> list[Evidence]:
    """Sort evidence by log-odds, best first; ties keep the order of the search."""
    return [evidence for _, evidence in sorted(scored, key=lambda pair: -pair[0])]
