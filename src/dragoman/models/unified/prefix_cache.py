"""Cache of keys and values by token prefix: a dialogue that is planned, judged and answered is read once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any, TypeAlias

Tokens: TypeAlias = tuple[int, ...]
Layers: TypeAlias = Sequence[tuple[Any, Any]]
"""The keys and values of each layer, (1, heads, tokens, width)."""


class Prefixes:
    """Recently read texts, at most `most` tokens in all; a text replaces its own prefixes.

    `find` returns the longest common beginning with any of them, not only whole texts.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Tokens, Layers] = OrderedDict()
        self._lock = Lock()

    @property
    def tokens(self) -> int:
        """The number of cached texts."""
        return sum(map(len, self._kept))

    def find(self, tokens: Tokens) -> tuple[int, Layers]:
        """The number of leading tokens that are cached, and the layers whose first keys and values are theirs."""
        with self._lock:
            best, nearest = 0, None
            for prefix in self._kept:
                size = _common(prefix, tokens, best)
                if size > best:
                    best, nearest = size, prefix
            if nearest is None:
                return 0, ()
            self._kept.move_to_end(nearest)
            return best, self._kept[nearest]

    def has_room(self, tokens: int) -> bool:
        return tokens <= self._most

    def keep(self, tokens: Tokens, layers: Layers) -> None:
        """Cache the keys and values of these tokens and drop the oldest texts; one larger than the cache is ignored."""
        if not self.has_room(len(tokens)):
            return
        with self._lock:
            for shorter in [shorter for shorter in self._kept if tokens[: len(shorter)] == shorter]:
                del self._kept[shorter]
            self._kept[tokens] = layers
            while self.tokens > self._most:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()


def _common(cached: Tokens, tokens: Tokens, least: int) -> int:
    """The length of the common prefix, if it is longer than `least`."""
    if cached[:least] != tokens[:least]:
        return 0
    shortest = min(len(cached), len(tokens))
    if cached[:shortest] == tokens[:shortest]:
        return shortest
    return next(place for place in range(least, shortest) if cached[place] != tokens[place])
