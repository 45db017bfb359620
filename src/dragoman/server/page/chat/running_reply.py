"""The reply that is being written: drawn as it comes, stopped, or left to go on without this page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter

from dragoman.core.values import Plan
from dragoman.server.page.chat.live_turns import LiveTurn
from dragoman.server.page.elements import Phrases
from dragoman.server.page.reply.card import ReplyCard
from dragoman.server.page.turn_view import source_label

_OFTEN = 0.05
"""Seconds between two pictures of a text that is being written: the whole of it is sent each time."""


class RunningReply:
    """Follows the turn of a reply. Calls `decided` after each decision, and `ended` when it is over."""

    def __init__(
        self,
        words: Phrases,
        *,
        decided: Callable[[ReplyCard], None],
        ended: Callable[[ReplyCard, LiveTurn], None],
    ) -> None:
        self._words, self._decided, self._ended = words, decided, ended
        self._live: LiveTurn | None = None
        self._leave: Callable[[], None] | None = None
        self._starting: ReplyCard | None = None
        self._is_halted = False
        self._drawn = 0.0

    @property
    def is_on(self) -> bool:
        """Whether a turn runs, or is about to."""
        return self._live is not None or self._starting is not None

    async def start(self, answer: ReplyCard, starting: Awaitable[LiveTurn]) -> None:
        """Begin a turn and follow it; it may be stopped, or left, before it has begun."""
        self._starting, self._is_halted = answer, False
        try:
            live = await starting
        finally:
            is_left = self._starting is not answer
            if not is_left:
                self._starting = None
        if not is_left:
            self.attach(answer, live)
            if self._is_halted:
                live.stop()

    def attach(self, answer: ReplyCard, live: LiveTurn) -> None:
        """Follow a turn that runs."""
        self._live = live
        self._leave = live.watch(partial(self._progress, answer, live))
        self._progress(answer, live)

    def stop(self) -> bool:
        """Stop the turn for everybody who watches it; whether there is one."""
        was_on, self._is_halted = self.is_on, True
        if self._live is not None:
            self._live.stop()
        return was_on

    def leave(self) -> None:
        """Watch the turn no longer; it goes on for a while, so that a reload finds it."""
        if self._leave is not None:
            self._leave()
        self._leave = self._live = self._starting = None

    def _progress(self, answer: ReplyCard, live: LiveTurn) -> None:
        """Show what the turn has come to."""
        if answer.box.is_deleted or self._live is not live:
            return
        is_noted = len(answer.notes) != len(live.notes)
        answer.notes, answer.text = list(live.notes), live.text
        if live.state != "running":
            self.leave()
            self._ended(answer, live)
            return
        self._draw(answer)
        if is_noted:
            self._decided(answer)

    def _draw(self, answer: ReplyCard) -> None:
        if answer.text:
            if perf_counter() - self._drawn > _OFTEN:
                self._drawn = perf_counter()
                answer.show_text()
            return
        plans = [note.value for note in answer.notes if isinstance(note.value, Plan) and note.value.steps]
        if plans:
            names = ", ".join(source_label(name, self._words) for name in plans[-1].sources)
            answer.wait(self._words["chat.looking"].format(sources=names))
