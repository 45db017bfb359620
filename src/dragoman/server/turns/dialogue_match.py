"""Find the dialogue that a client continues by repeating its messages."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Protocol

from dragoman.core.errors import StoreError
from dragoman.core.values import Turn

_log = logging.getLogger("dragoman.server")
_REMEMBERED = 20_000


class DialogueEnds(Protocol):
    """Ends of dialogues shared by several servers; see `stores/postgres/dialogue_ends`. Calls use the network."""

    def claim(self, digest: bytes) -> str | None: ...

    def note(self, digest: bytes, dialogue: str, whose: bytes) -> None: ...

    def drop(self, dialogue: str, whose: bytes) -> None: ...

    def clear(self, whose: bytes) -> None: ...


class LocalDialogueEnds:
    """The latest ends of dialogues in this process."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._ends: OrderedDict[bytes, tuple[str, bytes]] = OrderedDict()
        self._most = most
        self._lock = Lock()

    def claim(self, digest: bytes) -> str | None:
        dialogue, _ = self._ends.pop(digest, (None, b""))
        return dialogue

    def note(self, digest: bytes, dialogue: str, whose: bytes) -> None:
        with self._lock:
            self._ends[digest] = dialogue, whose
            if len(self._ends) > self._most:
                self._ends.popitem(last=False)

    def drop(self, dialogue: str, whose: bytes) -> None:
        with self._lock:
            for digest in [digest for digest, end in self._ends.items() if end == (dialogue, whose)]:
                del self._ends[digest]

    def clear(self, whose: bytes) -> None:
        """Does nothing: only digests are stored, in memory."""


class DialogueMatch:
    """Finds the dialogue that a client repeats, by a digest of its messages.

    When a dialogue continues, its earlier end is dropped, so that a regenerated answer starts a new dialogue. With
    PostgreSQL, an end noted on one server can be claimed on any.
    """

    def __init__(self, far: Mapping[str, DialogueEnds] | None = None) -> None:
        self._near = LocalDialogueEnds()
        self._far = dict(far or {})

    def is_near(self, agent: str) -> bool:
        """Whether `claim` is fast enough for the event loop."""
        return agent not in self._far

    def claim(self, whose: Sequence[str], turns: Sequence[Turn]) -> str | None:
        """Return the dialogue that consists of these turns; it cannot be claimed again until its next end is noted."""
        return self._of(whose[0]).claim(_digest(whose, turns)) if turns else None

    def note(self, whose: Sequence[str], turns: Sequence[Turn], dialogue: str) -> None:
        """Note the end of a dialogue. If that fails, the next request starts a new one with its history."""
        _trying(lambda: self._of(whose[0]).note(_digest(whose, turns), dialogue, _digest(whose[1:], ())))

    def drop(self, whose: Sequence[str], dialogue: str) -> None:
        """Drop the end of a deleted dialogue: repeating its history starts a new one."""
        _trying(lambda: self._of(whose[0]).drop(dialogue, _digest(whose[1:], ())))

    def clear(self, agent: str, tenant: str, user: str) -> None:
        """Drop the ends of all dialogues of a user."""
        self._of(agent).clear(_digest((tenant, user), ()))

    def _of(self, agent: str) -> DialogueEnds:
        return self._far.get(agent, self._near)


def _trying(function: Callable[[], None]) -> None:
    try:
        function()
    except StoreError as error:
        _log.warning("the end of a dialogue was not noted: %s", type(error).__name__)


def _digest(whose: Sequence[str], turns: Sequence[Turn]) -> bytes:
    lines = [[turn.speaker, turn.text.strip()] for turn in turns]
    return hashlib.blake2b(json.dumps([list(whose), lines]).encode(), digest_size=16).digest()
