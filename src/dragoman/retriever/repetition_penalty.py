"""What a passage loses where the agent has said as much already.

People go on to the next thing: in a set of dialogues where they do, a passage that an earlier reply has told is rarely
the one that is asked for, though nothing in the dialogue is nearer to it. How much that counts is learned from labels,
a source at a time, since a persona may be spoken of again and again. An untrained retriever knows nothing of it: who
asks twice is answered twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dragoman.core.values import Context, SourceName
from dragoman.retriever.judge import Candidate
from dragoman.retriever.search import Ask, SourceSearch, find

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder

REMEMBERED = 8
"""How many replies back a passage counts as said."""


@dataclass(frozen=True, slots=True)
class RepetitionPenalty:
    """A cosine falls by `slope` for each unit by which the nearest reply is nearer to the passage than `beyond`.

    A slope below zero raises it: what was spoken of is likely to be meant again.
    """

    slope: float
    beyond: float

    def lost(self, nearness: float) -> float:
        return self.slope * max(0.0, nearness - self.beyond)


def replies(context: Context) -> tuple[str, ...]:
    """What the agent has said before the turn that is to be answered, each once, newest first."""
    told = [" ".join(turn.text.split()) for turn in reversed(context.history) if turn.speaker == "agent"]
    return tuple(dict.fromkeys(text for text in told if text))[:REMEMBERED]


def losses(
    encoder: Encoder,
    nearest: Ask,
    asked: Sequence[SourceSearch],
    learned: Mapping[SourceName, RepetitionPenalty],
    *,
    pool: int,
) -> list[dict[str, float]]:
    """What passages lose of their cosines, for each search by their ids; what is not named loses nothing.

    The store is asked for what is nearest to each reply: nothing is encoded but the replies.
    """
    found: list[dict[str, float]] = [{} for _ in asked]
    wanted = [nth for nth, search in enumerate(asked) if search.source.name in learned]
    spoken = [(nth, reply) for nth in wanted for reply in replies(asked[nth].request.context)]
    if not spoken:
        return found
    texts = list(dict.fromkeys(reply for _, reply in spoken))
    vectors = dict(zip(texts, encoder.encode(texts), strict=True))
    again = [asked[nth] for nth, _ in spoken]
    queries = [replace(asked[nth].ask(pool), vector=vectors[reply]) for nth, reply in spoken]
    for (nth, _), hits in zip(spoken, find(nearest, again, queries), strict=True):
        said = learned[asked[nth].source.name]
        for hit in hits:
            lost = said.lost(hit.score)
            if lost:
                known = found[nth].get(hit.passage.id)
                found[nth][hit.passage.id] = lost if known is None or abs(lost) > abs(known) else known
    return found


def less_what_was_said(candidate: Candidate, lost: Mapping[str, float]) -> Candidate:
    """A candidate with what its cosine lost taken off, and told among its scores."""
    less = lost.get(candidate.passage.id)
    if not less or candidate.cosine is None:
        return candidate
    return replace(candidate, cosine=candidate.cosine - less, scores={**candidate.scores, "said": -less})
