"""Feedback on a reply: a thumb and a better answer."""

from __future__ import annotations

from typing import Literal

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.server.data import user_data
from dragoman.server.page.elements import Phrases, button, el, errors_shown, icon_button, notice
from dragoman.server.page.session import PageSession


class Thumbs:
    """Thumb buttons of a reply, and a field for a better answer."""

    def __init__(
        self, page_session: PageSession, words: Phrases, place: int, box: TextElement, *, liked: bool | None = None
    ) -> None:
        self._page_session, self._words, self._place, self._box = page_session, words, place, box
        self._liked = liked
        self._form: TextElement | None = None

    def build(self) -> None:
        words = self._words
        self._up = icon_button("thumb_up", words["chat.up"], lambda: self._rate("up"), "thumb")
        self._down = icon_button("thumb_down", words["chat.down"], self._ask, "thumb")
        self._press()

    def _press(self) -> None:
        self._up.props["aria-pressed"] = str(self._liked is True).lower()
        self._down.props["aria-pressed"] = str(self._liked is False).lower()

    async def _ask(self) -> None:
        """Store a thumbs down at once; the better answer is optional."""
        await self._rate("down")
        if self._form is not None:
            return
        with self._box, el("div", classes="better") as self._form:
            better = ui.textarea(placeholder=self._words["chat.better"]).props("autogrow outlined dense rows=2")
            better.props["aria-label"] = self._words["chat.better"]
            with el("div", classes="row end"):
                button(self._words["cancel"], self._close, "quiet")
                button(self._words["chat.sent"], lambda: self._rate("down", str(better.value or "")), "primary")

    def _close(self) -> None:
        if self._form is not None:
            self._form.delete()
            self._form = None

    async def _rate(self, thumb: Literal["up", "down"], better: str | None = None) -> None:
        page_session = self._page_session
        with errors_shown(self._words):
            caller = await page_session.caller()
            async with page_session.service.alone(
                page_session.service.hosted(page_session.agent).name, caller.tenant, caller.user
            ):
                await page_session.do(
                    user_data.rate,
                    page_session.dialogue,
                    thumb,
                    turn=self._place,
                    better=(better or "").strip() or None,
                )
            self._liked = thumb == "up"
            self._press()
            if thumb == "up" or better is not None:
                self._close()
                notice(self._words["chat.thanks"])
