"""Learned penalty for passages that the agent's earlier replies already used.

In many dialogues a passage that an earlier reply used is rarely needed again, although it is the nearest to the
dialogue. The penalty is learned from labels for each source, since a persona may recur. An untrained retriever has
no penalty: a repeated question gets the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dragoman.core.values import Context, SourceName
from dragoman.retriever.judge import Candidate
from dragoman.retriever.search import SourceSearch, StoreSearch, find

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder

REMEMBERED = 8
"""Number of last replies that are compared with passages."""


@dataclass(frozen=True, slots=True)
class RepetitionPenalty:
    """Penalty of `slope` per unit by which the cosine of passage and nearest reply exceeds `beyond`.

    A negative slope is a bonus: passages that were used are likely to be needed again.
    """

    slope: float
    beyond: float

    def lost(self, nearness: float) -> float:
        return self.slope * max(0.0, nearness - self.beyond)


def replies(context: Context) -> tuple[str, ...]:
    """Return the agent's distinct replies before the current turn, newest first."""
    texts = [" ".join(turn.text.split()) for turn in reversed(context.history) if turn.speaker == "agent"]
    return tuple(dict.fromkeys(text for text in texts if text))[:REMEMBERED]


def losses(
    encoder: Encoder,
    nearest: StoreSearch,
    source_searches: Sequence[SourceSearch],
    learned: Mapping[SourceName, RepetitionPenalty],
    *,
    pool: int,
) -> list[dict[str, float]]:
    """Return the penalties of each search by passage id; other passages have none.

    The store searches for the passages nearest to each reply, so that only replies are encoded.
    """
    penalties: list[dict[str, float]] = [{} for _ in source_searches]
    penalised = [nth for nth, search in enumerate(source_searches) if search.source.name in learned]
    nth_replies = [(nth, reply) for nth in penalised for reply in replies(source_searches[nth].request.context)]
    if not nth_replies:
        return penalties
    texts = list(dict.fromkeys(reply for _, reply in nth_replies))
    vectors = dict(zip(texts, encoder.encode(texts), strict=True))
    repeated = [source_searches[nth] for nth, _ in nth_replies]
    queries = [replace(source_searches[nth].ask(pool), vector=vectors[reply]) for nth, reply in nth_replies]
    for (nth, _), hits in zip(nth_replies, find(nearest, repeated, queries), strict=True):
        penalty = learned[source_searches[nth].source.name]
        for hit in hits:
            loss = penalty.lost(hit.score)
            if loss:
                previous = penalties[nth].get(hit.passage.id)
                penalties[nth][hit.passage.id] = loss if previous is None or abs(loss) > abs(previous) else previous
    return penalties


def penalised(candidate: Candidate, lost: Mapping[str, float]) -> Candidate:
    """Subtract the penalty from a candidate's cosine and record it in its scores."""
    less = lost.get(candidate.passage.id)
    if not less or candidate.cosine is None:
        return candidate
    return replace(candidate, cosine=candidate.cosine - less, scores={**candidate.scores, "said": -less})
