"""Pace JSON bodies: parsing blocks the event loop, so costly bodies are parsed one at a time."""

from __future__ import annotations

import asyncio
from collections import deque

MOST_VALUES = 20_000
"""How many values a JSON body may hold: parsing and checking so many takes 10 to 60 ms."""
_SECONDS_A_VALUE = 3e-6
_SECONDS_A_BYTE = 1e-8
MESSAGE_SECONDS = 3e-4
"""What any message of a socket costs."""
_CHEAP = 0.001
"""Seconds of parsing that nobody need wait for."""
_REST = 3.0
"""How many times the seconds of a costly body pass before the next: the loop is free for others in between."""
MOST_WAITING = 64
"""How many costly bodies of one caller may wait."""


def values_in(body: bytes) -> int:
    """Estimate the values in a JSON text (at least half) by the separators and brackets outside of strings.

    It holds up to the first JSON error, where a parser stops. Texts in UTF-16 or UTF-32 count their
    strings too.
    """
    if _marks(body) <= MOST_VALUES or b"\0" in body:
        return _marks(body)
    plain = without_escapes(body)
    strings = plain.count(b'"') // 2
    if strings > 2 * MOST_VALUES:  # each string is a value or a key
        return strings
    return _marks(outside_strings(plain))


def without_escapes(body: bytes) -> bytes:
    """Remove escapes from a JSON text, so that every quotation mark opens or closes a string."""
    return body.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in body else body


def outside_strings(plain: bytes) -> bytes:
    """The parts of a JSON text outside of its strings; the text has no escapes."""
    return b"".join(plain.split(b'"')[::2])


def _marks(text: bytes) -> int:
    return text.count(b",") + text.count(b"{") + text.count(b"[")


def parsing_seconds(size: int, values: int) -> float:
    """Estimate how long parsing a body of this size blocks the event loop."""
    return size * _SECONDS_A_BYTE + values * _SECONDS_A_VALUE


class BodyPace:
    """Admits costly bodies one at a time, with a pause after each, and callers in turn."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, deque[tuple[asyncio.Future[None], float]]] = {}
        self._resting = False

    def is_full(self, whose: bytes) -> bool:
        """Whether a caller has no room for another waiting costly body."""
        return len(self._waiting.get(whose, ())) >= MOST_WAITING

    async def turn(self, whose: bytes, seconds: float) -> None:
        """Wait until a body with this parsing time may be parsed; returns at once for a cheap one."""
        if seconds <= _CHEAP:
            return
        if not self._resting:
            self._rest(seconds)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(whose, deque()).append((turn, seconds))
        await turn

    def _rest(self, seconds: float) -> None:
        self._resting = True
        asyncio.get_running_loop().call_later(_REST * seconds, self._next)

    def _next(self) -> None:
        """Let the next body through, of the caller who has waited longest for a turn."""
        self._resting = False
        while self._waiting and not self._resting:
            whose = next(iter(self._waiting))
            line = self._waiting.pop(whose)
            turn, seconds = line.popleft()
            if line:
                self._waiting[whose] = line  # behind all others
            if not turn.done():  # its client may have left
                turn.set_result(None)
                self._rest(seconds)
