"""A prefix tree (trie) of the orders of sources: common beginnings are read once, with a choice at every fork.

The probability of an order is that of `models/choice.walk`: at every fork the model's probabilities are normalised over
the tokens that continue an order. A tree is built once for a set of orders, and read for every turn.
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
    """A choice after the last token of `segment`; each token leads to another fork, or to one sequence."""

    segment: int
    leads: tuple[tuple[int, int | None, K | None], ...]

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(token for token, _, _ in self.leads)


@dataclass(frozen=True, slots=True)
class OrderTree(Generic[K]):
    """Trie of token sequences. The first segment is their common beginning, the first fork the first choice.

    Segments hold only tokens that precede a choice, not the ends of sequences.
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

    def probabilities(self, answers: Sequence[Mapping[int, float]]) -> dict[K, float]:
        """The probability of each sequence; `answers` are the logits by token of each fork."""
        by_order: dict[K, float] = {}
        shares = [1.0] * len(self.forks)
        for place, fork in enumerate(self.forks):  # a fork stands before those that it leads to
            chances = normalise({token: answers[place].get(token, -math.inf) for token in fork.tokens})
            for token, further, key in fork.leads:
                chance = shares[place] * chances[token]
                if further is not None:
                    shares[further] = chance
                else:
                    by_order[key] = chance  # type: ignore[index]  # a lead without a fork ends in a sequence
        if not self.forks:
            return dict.fromkeys(self.sequences, 1.0)
        total = math.fsum(by_order.values())
        return {key: by_order[key] / total for key in self.sequences}


def order_tree(sequences: Mapping[K, Sequence[int]]) -> OrderTree[K]:
    """Build the tree of token sequences; they differ, and none is a prefix of another."""
    if not sequences:
        raise InputError("There is no order to choose from.", remedy="Give at least one; () asks no source.")
    segments: list[Segment] = []
    forks: list[Fork[K]] = []

    def grow(keys: list[K], start: int, parent: int | None) -> int:
        """Add the common tokens from `start` on and the fork after them; return the fork's number."""
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
