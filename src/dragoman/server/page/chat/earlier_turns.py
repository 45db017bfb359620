"""The beginning of a long chat, shown on demand: every element on the page makes each change of it slower."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.server.page.elements import Phrases, button, el
from dragoman.server.page.reply.markdown import marks_of
from dragoman.server.page.session import PageTurn

FIRST, MORE = 24, 40
"""Turns that are shown at first, and with each click; fewer where their texts have many marks to parse."""
_MOST_MARKS = 2500
_STEP, _PAUSE = 6, 0.03
"""Turns that are drawn at once, and seconds between: a browser that draws many stands still meanwhile."""


class EarlierTurns:
    """Shows the last turns of a chat, and a button for those before them."""

    def __init__(self, words: Phrases, draw: Callable[[Sequence[PageTurn], int, ui.element], None]) -> None:
        """`draw` shows turns, the first of which has the given place, inside an element."""
        self._words = words
        self._draw = draw
        self._start = 0

    def begin(self, turns: Sequence[PageTurn], log: ui.element) -> int:
        """Take the turns of a chat; returns the place of the first one to show now."""
        self._turns, self._log = turns, log
        self._start = self._before(len(turns), FIRST)
        if self._start:
            with log:
                self._button: TextElement = button(self._words["chat.earlier"], self._show, "btn outline earlier")
        return self._start

    def fold(self, turns: Sequence[PageTurn], start: int) -> None:
        """Take over the turns before `start`, which were shown until now."""
        had_button = bool(self._start)
        self._turns, self._start = turns, start
        if not had_button:
            with self._log:
                self._button = button(self._words["chat.earlier"], self._show, "btn outline earlier")
            self._button.move(self._log, 0)

    def _before(self, end: int, count: int) -> int:
        """A place some turns before `end` at which the user speaks, so that no reply stands without its question."""
        start, marks = end, 0
        while start > max(0, end - count) and marks <= _MOST_MARKS:
            start -= 1
            marks += marks_of(self._turns[start].turn.text)
        while start and self._turns[start].turn.speaker != "user":
            start -= 1
        return start

    async def _show(self) -> None:
        turns, end = self._turns, self._start
        first = self._start = self._before(end, MORE)
        while end > first and turns is self._turns:
            start = max(first, end - _STEP)
            while start > first and turns[start].turn.speaker != "user":
                start -= 1
            with self._log:
                part = el("div", classes="log-part")
            part.move(self._log, 1)  # below the button
            self._draw(turns[start:end], start, part)
            end = start
            await asyncio.sleep(_PAUSE)
        if turns is self._turns and not first and not self._button.is_deleted:
            self._button.delete()
