"""Orders of sources as a tree of tokens: what they have in common is read once, and chosen where they part.

The probability of an order is `models/choice.walk`'s: the model is held to the orders at every token, and what it says
is normalised over the tokens that lead on. A tree is made once for a set of orders, and read for every turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from dragoman.core.errors import InputError
from dragoman.models.choice import normalise
from dragoman.models.unified.token_tree import Segment

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Fork(Generic[K]):
    """Where sequences part: after the last token of `segment`; each token leads to another fork, or to one sequence."""

    segment: int
    leads: tuple[tuple[int, int | None, K | None], ...]

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(token for token, _, _ in self.leads)


@dataclass(frozen=True, slots=True)
class OrderTree(Generic[K]):
    """`segments` hang on one another; the first is what all sequences begin with. The first fork is the first choice.

    Only what is read before a choice is in the segments: the ends of sequences are not.
    """

    segments: tuple[Segment, ...]
    forks: tuple[Fork[K], ...]
    sequences: tuple[K, ...]

    def planted(self, on: int, first: int, sees: tuple[int, ...] = ()) -> tuple[Segment, ...]:
        """The segments as branches of a tree that has `first` segments already, on segment `on`."""
        return tuple(
            replace(segment, parent=on, sees=sees)
            if segment.parent is None
            else replace(segment, parent=segment.parent + first)
            for segment in self.segments
        )

    def probabilities(self, told: Sequence[Mapping[int, float]]) -> dict[K, float]:
        """The probability of each sequence; `told` are the logits of the tokens of each fork."""
        found: dict[K, float] = {}
        shares = [1.0] * len(self.forks)
        for place, fork in enumerate(self.forks):  # a fork stands before those that it leads to
            chances = normalise({token: told[place].get(token, -math.inf) for token in fork.tokens})
            for token, further, key in fork.leads:
                chance = shares[place] * chances[token]
                if further is not None:
                    shares[further] = chance
                else:
                    found[key] = chance  # type: ignore[index]  # a lead without a fork ends in a sequence
        if not self.forks:
            return dict.fromkeys(self.sequences, 1.0)
        total = math.fsum(found.values())
        return {key: found[key] / total for key in self.sequences}


def order_tree(sequences: Mapping[K, Sequence[int]]) -> OrderTree[K]:
    """The tree of token sequences, none of which is another, or the beginning of another."""
    if not sequences:
        raise InputError("There is no order to choose from.", remedy="Give at least one; () asks no source.")
    segments: list[Segment] = []
    forks: list[Fork[K]] = []

    def grow(keys: list[K], start: int, parent: int | None) -> int:
        """Read on from `start` until the sequences part; the number of the fork there."""
        end = start
        while len({sequences[key][end : end + 1] for key in keys}) == 1:
            end += 1
        segment = len(segments)
        segments.append(Segment(tuple(sequences[keys[0]][start:end]), parent))
        place = len(forks)
        forks.append(Fork(segment, ()))
        groups: dict[int, list[K]] = {}
        for key in keys:
            if end >= len(sequences[key]):
                raise InputError(
                    f"The order {key!r} is the beginning of another one in tokens.",
                    remedy="Spell the tokens in another way.",
                )
            groups.setdefault(sequences[key][end], []).append(key)
        leads: list[tuple[int, int | None, K | None]] = []
        for token, group in groups.items():
            if len(group) == 1:
                leads.append((token, None, group[0]))
            else:
                leads.append((token, grow(group, end, segment), None))
        forks[place] = Fork(segment, tuple(leads))
        return place

    keys = list(sequences)
    if len({tuple(tokens) for tokens in sequences.values()}) < len(keys):
        raise InputError("Two orders are spelt alike.", remedy="Name each order once.")
    sequences = {key: tuple(tokens) for key, tokens in sequences.items()}
    if len(keys) > 1:
        grow(keys, 0, None)
    return OrderTree(tuple(segments), tuple(forks), tuple(keys))
