"""Which dialogue some messages continue: what a client that repeats the history goes on with."""

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
    """Ends of dialogues that several servers know; see `stores/postgres/dialogue_ends`. Calls go over a network."""

    def claim(self, digest: bytes) -> str | None: ...

    def note(self, digest: bytes, dialogue: str, whose: bytes) -> None: ...

    def drop(self, dialogue: str, whose: bytes) -> None: ...

    def clear(self, whose: bytes) -> None: ...


class LocalDialogueEnds:
    """Ends of dialogues that this process knows, the latest of them."""

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
        """Digests alone are kept here, and go with the process."""


class DialogueMatch:
    """The dialogue that a client means by repeating it, by a digest of its messages.

    Once a dialogue has gone on, its earlier end is forgotten: an answer asked for again begins a dialogue of its own.
    Where an agent's store is a server, what is noted on one server can be claimed on any.
    """

    def __init__(self, far: Mapping[str, DialogueEnds] | None = None) -> None:
        self._near = LocalDialogueEnds()
        self._far = dict(far or {})

    def is_near(self, agent: str) -> bool:
        """Whether `claim` takes no time."""
        return agent not in self._far

    def claim(self, whose: Sequence[str], turns: Sequence[Turn]) -> str | None:
        """The dialogue that these turns are the whole of; nobody else can claim it until it ends anew."""
        return self._of(whose[0]).claim(_digest(whose, turns)) if turns else None

    def note(self, whose: Sequence[str], turns: Sequence[Turn], dialogue: str) -> None:
        """Remember how a dialogue ends now. Where that cannot be, the next request begins another with its history."""
        _trying(lambda: self._of(whose[0]).note(_digest(whose, turns), dialogue, _digest(whose[1:], ())))

    def drop(self, whose: Sequence[str], dialogue: str) -> None:
        """Forget how a dialogue ends: it is no more, and whoever repeats its history begins anew with it."""
        _trying(lambda: self._of(whose[0]).drop(dialogue, _digest(whose[1:], ())))

    def clear(self, agent: str, tenant: str, user: str) -> None:
        """Forget how all dialogues of a user end."""
        self._of(agent).clear(_digest((tenant, user), ()))

    def _of(self, agent: str) -> DialogueEnds:
        return self._far.get(agent, self._near)


def _trying(function: Callable[[], None]) -> None:
    try:
        function()
    except StoreError as error:
        _log.warning("the end of a dialogue was not noted: %s", type(error).__name__)


def _digest(whose: Sequence[str], turns: Sequence[Turn]) -> bytes:
    told = [[turn.speaker, turn.text.strip()] for turn in turns]
    return hashlib.blake2b(json.dumps([list(whose), told]).encode(), digest_size=16).digest()
