"""The list of dialogues: continue, start or delete one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.agent.turns import WITHHELD
from dragoman.server.data import user_data
from dragoman.server.page.elements import Phrases, button, el, errors_shown, heading, icon_button, notice
from dragoman.server.page.session import PageSession

_AT_ONCE = 30


class DialoguePanel:
    """The list at the left edge, behind a menu button on narrow screens."""

    def __init__(
        self,
        page_session: PageSession,
        words: Phrases,
        *,
        choose: Callable[[str], Awaitable[None]],
        begin: Callable[[], Awaitable[None]],
    ) -> None:
        self._page_session, self._words = page_session, words
        self._choose, self._begin = choose, begin
        self._shown = _AT_ONCE
        self._asked = ""

    def build(self, into: TextElement) -> None:
        with into:
            with button("", self._begin, "outline new", aria_label=self._words["dialogues.new"]):
                ui.icon("add").props("aria-hidden=true")
                el("span", self._words["dialogues.new"])
            heading(self._words["dialogues"])
            with (
                ui.dialog() as self._sure,
                el("div", classes="dialog", role="alertdialog", aria_label=self._words["dialogues.sure"]),
            ):
                heading(self._words["dialogues.sure"], level=2)
                self._which = el("p", "", "which")
                el("p", self._words["dialogues.sure_more"], "muted")
                with el("div", classes="row end"):
                    button(self._words["cancel"], self._sure.close, "quiet")
                    button(self._words["dialogues.delete"], self._delete, "danger filled")
            self._list = el("div", classes="list")

    async def refresh(self) -> None:
        """Reload the list of dialogues."""
        with errors_shown(self._words):
            rows, more = await self._page_session.do(user_data.dialogues, limit=self._shown)
            self._list.clear()
            with self._list:
                if not rows:
                    el("p", self._words["dialogues.none"], "muted")
                for row in rows:
                    name = str(row["id"])
                    chosen = "true" if name == self._page_session.dialogue else "false"
                    text = str(row["begins"]) or self._words["dialogues.unnamed"]
                    if text == WITHHELD:
                        text = self._words["chat.forgotten"]
                    with el("div", classes="entry"):
                        button(text, partial(self._choose, name), "item", aria_current=chosen)
                        label = f"{self._words['dialogues.delete']}: {text}"
                        icon_button("o_delete", label, partial(self._ask, name, text), "small")
                if more:
                    button(self._words["dialogues.more"], self._more, "link")

    def _ask(self, name: str, text: str) -> None:
        self._asked = name
        self._which.set_text(text)
        self._sure.open()

    async def _delete(self) -> None:
        self._sure.close()
        with errors_shown(self._words):
            await self._page_session.forget_dialogue(self._asked)
            notice(self._words["dialogues.deleted"])
        if self._asked == self._page_session.dialogue:
            await self._begin()
        else:
            await self.refresh()

    async def _more(self) -> None:
        self._shown += _AT_ONCE
        await self.refresh()
