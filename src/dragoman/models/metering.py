"""Meters of what models are asked: calls, tokens and prices of everything that runs inside a `metered()` block.

A meter follows the calling thread (a context variable); models that answer in worker threads pass the context on.
Models record every call, since `LanguageModel.choose` returns probabilities only and a draft may be thrown away.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

from dragoman.core.values import Draft, Usage

T = TypeVar("T")
_METERS: ContextVar[tuple[Meter, ...]] = ContextVar("dragoman_meters", default=())


class Meter:
    """The sum of calls, tokens and prices of a block; `turns` says for how many turns the block works.

    A model compares its budget for a turn with the outermost meter that has `turns`.
    """

    def __init__(self, *, turns: int = 0) -> None:
        self.turns = turns
        self._lock = threading.Lock()
        self._usage = Usage()
        self._price: float | None = None

    @property
    def usage(self) -> Usage:
        return self._usage

    @property
    def price(self) -> float | None:
        """The sum of the prices; None where no model that was asked has any."""
        return self._price

    def share(self, turns: int) -> tuple[Usage, float | None]:
        """Usage and price of one of the turns that the block worked for."""
        return self._usage.share(turns), None if self._price is None else self._price / max(1, turns)

    def add(self, usage: Usage, price: float | None) -> None:
        with self._lock:
            self._usage += usage
            if price is not None:
                self._price = (self._price or 0.0) + price


@contextmanager
def metered(*, turns: int = 0) -> Iterator[Meter]:
    """A meter for everything that is asked inside the block; with `turns`, for that many whole turns."""
    meter = Meter(turns=turns)
    token = _METERS.set((*_METERS.get(), meter))
    try:
        yield meter
    finally:
        _METERS.reset(token)


def turn_meter() -> Meter | None:
    """The outermost meter of whole turns, if any: an agent that is asked twice within a turn answers one turn."""
    return next((meter for meter in _METERS.get() if meter.turns), None)


def record(usage: Usage, price: float | None = None) -> None:
    """Add a call to every open meter."""
    for meter in _METERS.get():
        meter.add(usage, price)


def recorded(drafts: Sequence[Draft]) -> Sequence[Draft]:
    """The drafts, their usage added to every open meter."""
    for draft in drafts:
        record(draft.usage)
    return drafts


def metered_pieces(pieces: Iterator[T]) -> Generator[T, None, None]:
    """The pieces of one turn, made inside a meter of that turn.

    A generator runs in the context of its consumer, so each gets a context of its own: turns
    that one thread streams side by side do not share a meter, and nothing is left behind in the caller's context.
    """
    context = copy_context()
    context.run(_METERS.set, (*_METERS.get(), Meter(turns=1)))
    end = object()
    try:
        while (piece := context.run(next, pieces, end)) is not end:
            yield piece  # type: ignore[misc]  # only the sentinel is no piece
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            context.run(close)
