"""Assignment of dialogues to slots of the embedded server, so that a slot's cached prompt is reused."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

_SHARED = 0.5
"""A slot is reused where the common prefix is at least this share of the shorter of the two prompts."""


class Slots:
    """Slots with the prompt that each read last; a prompt without a match goes to the least recently used slot."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._read: OrderedDict[int, tuple[int, ...]] = OrderedDict()
        self.clear()

    def take(self, tokens: Sequence[int]) -> int:
        """The slot for a prompt."""
        prompt = tuple(tokens)
        with self._lock:
            common = {slot: _common(read, prompt) for slot, read in self._read.items()}
            slot = max(reversed(self._read), key=lambda one: common[one])  # of those alike, the one used last
            if not common[slot] or common[slot] < _SHARED * min(len(prompt), len(self._read[slot])):
                slot = next(iter(self._read))
            self._read[slot] = prompt
            self._read.move_to_end(slot)
            return slot

    def clear(self) -> None:
        """Forget all prompts."""
        with self._lock:
            self._read = OrderedDict((slot, ()) for slot in range(self._count))


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """The length of the common prefix of two prompts, in tokens."""
    size = min(len(one), len(other))
    for place in range(size):
        if one[place] != other[place]:
            return place
    return size
