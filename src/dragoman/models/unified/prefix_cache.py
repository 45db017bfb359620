"""The keys and values of texts that were read: a dialogue that is planned, judged and answered is read once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any, TypeAlias

Tokens: TypeAlias = tuple[int, ...]
Layers: TypeAlias = Sequence[tuple[Any, Any]]
"""The keys and values of each layer, (1, heads, tokens, width)."""


class Prefixes:
    """The last read texts by their tokens, at most `most` tokens in all; one that goes on another takes its place.

    What stands first in two texts is the same for both, so the longest common beginning is found, not only whole texts.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Tokens, Layers] = OrderedDict()
        self._lock = Lock()

    @property
    def tokens(self) -> int:
        """How many are kept."""
        return sum(map(len, self._kept))

    def find(self, tokens: Tokens) -> tuple[int, Layers]:
        """How many of the first tokens are known, and the layers whose first so many are theirs."""
        with self._lock:
            best, found = 0, None
            for known in self._kept:
                size = _common(known, tokens, best)
                if size > best:
                    best, found = size, known
            if found is None:
                return 0, ()
            self._kept.move_to_end(found)
            return best, self._kept[found]

    def has_room(self, tokens: int) -> bool:
        return tokens <= self._most

    def keep(self, tokens: Tokens, layers: Layers) -> None:
        """Keep what was read of these tokens; the oldest make room, and what is longer than all room is not kept."""
        if not self.has_room(len(tokens)):
            return
        with self._lock:
            for known in [known for known in self._kept if tokens[: len(known)] == known]:
                del self._kept[known]
            self._kept[tokens] = layers
            while self.tokens > self._most:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()


def _common(known: Tokens, tokens: Tokens, least: int) -> int:
    """The length of the common beginning, where it is longer than `least`."""
    if known[:least] != tokens[:least]:
        return 0
    shortest = min(len(known), len(tokens))
    if known[:shortest] == tokens[:shortest]:
        return shortest
    return next(place for place in range(least, shortest) if known[place] != tokens[place])
