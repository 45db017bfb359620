"""A question of the user in the chat: its bubble, its other versions, and the field to edit it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from nicegui import ui
from nicegui.events import GenericEventArguments

from dragoman.server.page.button_row import ButtonRow
from dragoman.server.page.elements import Phrases, button, el

if TYPE_CHECKING:
    from dragoman.server.data.chat_versions import Variants


_KEYS = """(event) => {
    const sends = event.key === "Enter" && !event.shiftKey && !event.isComposing;
    if (!sends && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    emit(event.key);
}"""
"""Enter sends, as in the field of new messages, unless it ends a line or a word that an input method composes."""
_INTO_VIEW = "setTimeout(() => getHtmlElement(%d)?.scrollIntoView({block: 'nearest'}), 0)"


class QuestionBubble:
    """One question. It can be edited once its place in the chat is known: `branch` then asks it anew.

    `versions` gives the branches of the chat at a place, and `go` shows one of them, or the present one anew.
    """

    def __init__(
        self,
        text: str,
        words: Phrases,
        *,
        versions: Callable[[int], Variants | None],
        go: Callable[[str | None], Awaitable[None]],
        branch: Callable[[int, str], Awaitable[None]],
    ) -> None:
        self._text = text
        self._words = words
        self._versions_at = versions
        self._go = go
        self._branch = branch
        self.is_edited = False

    def build(self) -> None:
        """Create the elements."""
        with el("div", classes="turn user") as self._box:
            el("div", self._text, "bubble")
            self._tools = ButtonRow("tools")

    def delete(self) -> None:
        """Remove the question from the page."""
        self._box.delete()

    def make_editable(self, place: int) -> None:
        """Show the buttons under the question."""
        self._tools.clear()
        self._version_buttons(place)
        self._tools.icon("edit", self._words["chat.edit"], partial(self._edit, place))
        self._tools.draw()

    def _version_buttons(self, place: int) -> None:
        """Buttons that lead to the other versions of the question."""
        versions = self._versions_at(place)
        if versions is None or len(versions.names) < 2:
            return
        names, at = versions.names, versions.current
        for step, icon, label in ((-1, "chevron_left", "chat.before"), (1, "chevron_right", "chat.after")):
            if step > 0:
                self._tools.text(f"{at + 1}/{len(names)}", "muted figure")
            other = names[(at + step) % len(names)]
            self._tools.icon(icon, self._words[label], partial(self._go, other))

    def _edit(self, place: int) -> None:
        """Turn the question into a field; saving asks it anew in a branch."""
        words = self._words
        self.is_edited = True
        self._box.clear()
        with self._box, el("div", classes="editing"):
            field = ui.textarea(value=self._text).props("autogrow outlined dense autofocus")
            field.props["aria-label"] = words["chat.edit_message"]
            el("p", words["chat.edit_more"], "muted")

            async def save() -> None:
                await self._branch(place, str(field.value or ""))

            async def end(event: GenericEventArguments) -> None:
                with field.client:  # both remove the field
                    await (save() if event.args == "Enter" else self._go(None))

            field.on("keydown", end, js_handler=_KEYS)
            with el("div", classes="row end"):
                button(words["cancel"], partial(self._go, None), "quiet")
                button(words["chat.send"], save, "primary")
        self._box.client.run_javascript(_INTO_VIEW % self._box.id)
