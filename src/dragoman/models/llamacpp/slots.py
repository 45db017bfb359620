"""Which slot of the embedded server reads which dialogue, so that what a slot has read is read on there."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

_SHARED = 0.5
"""The share of the shorter of two prompts that both must begin with for one slot to read them."""


class Slots:
    """Slots by what they read last; the one that was used longest ago takes what no other has begun."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._read: OrderedDict[int, tuple[int, ...]] = OrderedDict()
        self.clear()

    def take(self, tokens: Sequence[int]) -> int:
        """The slot for a prompt."""
        wanted = tuple(tokens)
        with self._lock:
            common = {slot: _common(read, wanted) for slot, read in self._read.items()}
            slot = max(reversed(self._read), key=lambda one: common[one])  # of those alike, the one used last
            if not common[slot] or common[slot] < _SHARED * min(len(wanted), len(self._read[slot])):
                slot = next(iter(self._read))
            self._read[slot] = wanted
            self._read.move_to_end(slot)
            return slot

    def clear(self) -> None:
        """Forget what was read."""
        with self._lock:
            self._read = OrderedDict((slot, ()) for slot in range(self._count))


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two prompts begin with alike."""
    size = min(len(one), len(other))
    for place in range(size):
        if one[place] != other[place]:
            return place
    return size
