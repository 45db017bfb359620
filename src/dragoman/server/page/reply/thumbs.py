"""Feedback on a reply: a thumb and a better answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.server.page.button_row import ButtonRow
from dragoman.server.page.elements import Phrases, button, el, errors_shown, notice
from dragoman.server.page.session import PageSession


class Thumbs:
    """Thumb buttons of a reply, and a field for a better answer inside `box`; `rated` draws the buttons anew."""

    def __init__(
        self,
        page_session: PageSession,
        words: Phrases,
        place: int,
        box: TextElement,
        *,
        liked: bool | None,
        rated: Callable[[], None],
    ) -> None:
        self._page_session, self._words, self._place, self._box = page_session, words, place, box
        self._liked, self._rated = liked, rated
        self._form: TextElement | None = None

    def add_to(self, row: ButtonRow) -> None:
        """Add the buttons to a row."""
        words = self._words
        row.icon("thumb_up", words["chat.up"], lambda: self._rate("up"), "thumb", pressed=self._liked is True)
        row.icon("thumb_down", words["chat.down"], self._ask, "thumb", pressed=self._liked is False)

    async def _ask(self) -> None:
        """Store a thumbs down at once; the better answer is optional."""
        await self._rate("down")
        if self._form is not None:
            return
        with self._box, el("div", classes="better") as self._form:
            better = ui.textarea(placeholder=self._words["chat.better"]).props(
                "autogrow outlined dense rows=2 autofocus"
            )
            better.props["aria-label"] = self._words["chat.better"]
            with el("div", classes="row end"):
                button(self._words["cancel"], self._close, "quiet")
                button(self._words["chat.sent"], lambda: self._rate("down", str(better.value or "")), "primary")

    def _close(self) -> None:
        if self._form is not None:
            self._form.delete()
            self._form = None

    async def _rate(self, thumb: Literal["up", "down"], better: str | None = None) -> None:
        with errors_shown(self._words):
            await self._page_session.rate(self._place, thumb, better=(better or "").strip() or None)
            self._liked = thumb == "up"
            self._rated()
            if thumb == "up" or better is not None:
                self._close()
                notice(self._words["chat.thanks"])
