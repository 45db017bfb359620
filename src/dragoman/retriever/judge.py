"""From candidates to evidence: features, calibrated relevance, order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.core.values import Evidence, Passage
from dragoman.retriever.relevance import Terms, calibration_of, measure
from dragoman.retriever.search import PREFERENCE, Analyse, SourceSearch
from dragoman.text.reference import is_chinese


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that a search brought up, with its cosine where it is known and its other scores."""

    passage: Passage
    cosine: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)


def judged(
    search: SourceSearch, candidates: Sequence[Candidate], terms: Terms, analyse: Analyse
) -> list[tuple[float, Evidence]]:
    """Each candidate as evidence, in the order given, with the log-odds by which it may be ranked.

    Being a child of the given evidence raises the log-odds where dependency prefers; the relevance itself stays.
    """
    chinese = is_chinese(search.query.turn)
    found = []
    for candidate in candidates:
        features = measure(terms, analyse(candidate.passage.indexed), candidate.cosine)
        semantic = candidate.cosine is not None
        calibration = calibration_of(chinese=chinese, semantic=semantic, about=search.source.about)
        evidence = Evidence(candidate.passage, calibration.probability(features), {**candidate.scores, **features})
        liked = PREFERENCE if search.prefers(candidate.passage) else 0.0
        found.append((calibration.log_odds(features) + liked, evidence))
    return found


def by_log_odds(found: Sequence[tuple[float, Evidence]]) -> list[Evidence]:
    """The evidence, best first; a tie keeps the order of the search."""
    return [evidence for _, evidence in sorted(found, key=lambda pair: -pair[0])]
