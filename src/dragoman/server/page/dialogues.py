"""The list of dialogues: go on with an old one, or begin anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui.elements.mixins.text_element import TextElement

from dragoman.agent.turns import WITHHELD
from dragoman.server import person
from dragoman.server.page.pieces import Phrases, button, el, heading, icon_button, telling_errors
from dragoman.server.page.visit import Visit

_AT_ONCE = 30


class Dialogues:
    """The list at the left edge, behind a button where there is little room."""

    def __init__(
        self,
        visit: Visit,
        words: Phrases,
        *,
        choose: Callable[[str], Awaitable[None]],
        begin: Callable[[], Awaitable[None]],
    ) -> None:
        self._visit, self._words = visit, words
        self._choose, self._begin = choose, begin
        self._shown = _AT_ONCE

    def build(self, into: TextElement) -> None:
        with into:
            with el("div", classes="row"):
                heading(self._words["dialogues"], "grow")
                icon_button("add", self._words["dialogues.new"], self._begin, "new")
            self._list = el("div", classes="list")

    async def refresh(self) -> None:
        """Read anew which dialogues there are."""
        with telling_errors(self._words):
            rows, more = await self._visit.do(person.dialogues, limit=self._shown)
            self._list.clear()
            with self._list:
                if not rows:
                    el("p", self._words["dialogues.none"], "muted")
                for row in rows:
                    name = str(row["id"])
                    chosen = "true" if name == self._visit.dialogue else "false"
                    text = str(row["begins"]) or self._words["dialogues.unnamed"]
                    if text == WITHHELD:
                        text = self._words["chat.forgotten"]
                    button(text, partial(self._choose, name), "item", aria_current=chosen)
                if more:
                    button(self._words["dialogues.more"], self._more, "link")

    async def _more(self) -> None:
        self._shown += _AT_ONCE
        await self.refresh()
