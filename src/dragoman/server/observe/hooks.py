"""Hooks of metrics and spans into turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dragoman.core.trace import Note
    from dragoman.server.turns.events import TurnDone


class Observer(Protocol):
    """Hook for metrics: called for every finished turn, in the thread that ran it."""

    def turn_ended(self, agent: str, done: TurnDone | None, error: BaseException | None, seconds: float) -> None: ...


class Watch(Protocol):
    """Hook for spans: follows one turn in the thread that runs it."""

    def noted(self, note: Note) -> None:
        """Called after each note of a role."""
        ...

    def ended(self, done: TurnDone | None, error: BaseException | None) -> None: ...
