"""Training trees of turns: segments, positions with a loss, and candidates that are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.core.values import SourceName
from dragoman.models.unified.model import Order
from dragoman.models.unified.order_tree import OrderTree
from dragoman.models.unified.token_tree import Segment

Kind: TypeAlias = Literal["plan", "similarity", "response", "check"]
KINDS: tuple[Kind, ...] = ("plan", "similarity", "response", "check")


@dataclass(frozen=True, slots=True)
class DrawOptions:
    """Options of the random draws for each turn and epoch.

    `most_candidates` are judged at a time, the right ones always; up to `distractors` wrong ones stand among the
    evidence that a response is learned from, with a similarity that is off by up to `noise` tenths. `closed` leaves
    out places of a plan where only one token is legal; without `answer` no response is learned. Of a turn outside of
    `share` the plan alone is learned, which costs little. Another `run` draws other things to learn from, and the same
    to measure on.
    """

    seed: int = 1
    most_candidates: int = 24
    distractors: int = 2
    noise: int = 2
    check: bool = True
    closed: bool = False
    answer: bool = True
    share: float = 1.0
    run: int = 0


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """Position with a loss: after token `offset` of `segment` comes `target`, or a similarity of `value` in [0, 1].

    `options` are the legal tokens there; none: any.
    """

    segment: int
    offset: int
    kind: Kind
    target: int | None = None
    value: float | None = None
    weight: float = 1.0
    options: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateGroup:
    """Candidates of one source, by index among a tree's positions, and which of them are right."""

    source: SourceName
    places: tuple[int, ...]
    gold: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class TrainingTree:
    """Training tree of a turn: segments, positions with a loss, lists of compared candidates."""

    id: str
    segments: tuple[Segment, ...]
    places: tuple[TargetPlace, ...]
    groups: tuple[CandidateGroup, ...] = ()

    @property
    def size(self) -> int:
        return sum(len(segment.tokens) for segment in self.segments)


@dataclass(frozen=True, slots=True)
class Examined:
    """Dev turn with everything that one pass evaluates.

    `plan` and `check` are the trees of orders, and where they begin among the segments; `candidates` are the judged
    segments, each with its source and whether it is right; `places` are those of a loss on the response.
    """

    id: str
    segments: tuple[Segment, ...]
    gold: Order | None
    plan: tuple[int, OrderTree[Order]]
    check: tuple[int, OrderTree[Order]] | None = None
    candidates: tuple[tuple[int, SourceName, bool], ...] = ()
    places: tuple[TargetPlace, ...] = ()

    @property
    def size(self) -> int:
        return sum(len(segment.tokens) for segment in self.segments)
