"""Turns that run on the page, apart from the browser that asked: a reload, or a second tab, finds them again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.core.errors import DragomanError
from dragoman.core.trace import Note
from dragoman.server.turns.events import Decided, Text, TurnDone

if TYPE_CHECKING:
    from dragoman.server.access.caller import Caller
    from dragoman.server.service import Service
    from dragoman.server.turns.turn_queue import RunningTurn
    from dragoman.server.turns.turn_runner import CallerTurn

State: TypeAlias = Literal["running", "done", "stopped", "failed"]
_ALONE = 60.0
"""Seconds that a turn goes on while no page watches it."""


class LiveTurn:
    """One turn: what is decided and written so far. Watchers are called after every change."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.notes: list[Note] = []
        self.text = ""
        self.done: TurnDone | None = None
        self.error: DragomanError | None = None
        self.state: State = "running"
        self.began = perf_counter()
        self._run: RunningTurn | None = None
        self._watchers: list[Callable[[], None]] = []
        self._leaving: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[None] | None = None

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after every change; returns a function that ends this."""
        self._watchers.append(changed)
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

        def leave() -> None:
            if changed in self._watchers:
                self._watchers.remove(changed)
            if not self._watchers and self.state == "running" and self._leaving is None:
                self._leaving = asyncio.get_running_loop().call_later(_ALONE, self.stop)

        return leave

    def stop(self) -> None:
        """End the turn for everybody who watches, at once; its thread follows at its next piece of text."""
        if self.state == "running":
            self.state = "stopped"
            if self._run is not None:
                self._run.cancel()
            if self.task is not None:
                self.task.cancel()
            self._changed()

    async def follow(self, service: Service, caller: Caller, ask: CallerTurn) -> None:
        """Run the turn to its end."""
        try:
            self._run = await service.begin(caller, ask)
            async for event in self._run:
                match event:
                    case Text(text):
                        self.text += text
                    case Decided(note=note):
                        self.notes.append(note)
                    case TurnDone():
                        self.done = event
                        self.text = event.reply.text
                if self.state == "running":
                    self._changed()
            self._end("done" if self.done is not None else "stopped")
        except DragomanError as error:
            self.error = error
            self._end("failed")

    def _end(self, state: State) -> None:
        if self.state == "running":
            self.state = state
            self._changed()

    def _changed(self) -> None:
        for watcher in list(self._watchers):
            watcher()


class LiveTurns:
    """The running turns of all pages, by user and chat."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, str, str, str], LiveTurn] = {}

    def find(self, caller: Caller, agent: str, dialogue: str) -> LiveTurn | None:
        """The running turn of a chat."""
        return self._turns.get((agent, caller.tenant, caller.user, dialogue))

    def start(self, service: Service, caller: Caller, ask: CallerTurn) -> LiveTurn:
        """Begin a turn; it is found here until it ends."""
        key = (ask.agent, caller.tenant, caller.user, ask.dialogue)
        turn = self._turns[key] = LiveTurn(ask.text)
        turn.task = asyncio.create_task(turn.follow(service, caller, ask))

        def ended(_: object) -> None:
            if self._turns.get(key) is turn:
                del self._turns[key]

        turn.task.add_done_callback(ended)
        return turn
