"""The row of small buttons under a message: one element, since each one on the page makes every change of it slower."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from inspect import iscoroutine

from nicegui import ui
from nicegui.elements.html import Html
from nicegui.events import GenericEventArguments

_CLICKED = """(event) => {
    const button = event.target.closest("[data-do]");
    if (button) emit(Number(button.dataset.do));
}"""
# A row that is drawn anew takes the keyboard's place along.
_FOCUS = """
const row = getHtmlElement(%d);
if (!document.activeElement || document.activeElement === document.body) row?.querySelector('[data-do="%d"]')?.focus();
"""


class ButtonRow:
    """Buttons and words in a row. They are added one by one, and `draw` shows them."""

    def __init__(self, classes: str = "") -> None:
        self._html: Html = ui.html("", sanitize=False).classes(f"under {classes}")
        self._html.on("click", self._clicked, js_handler=_CLICKED)
        self.clear()

    def clear(self) -> None:
        """Remove everything; `draw` shows it."""
        self._actions: list[Callable[[], object] | None] = []
        self._parts: list[str] = []

    def icon(
        self,
        icon: str,
        label: str,
        do: Callable[[], object] | None,
        classes: str = "thumb-like",
        *,
        pressed: bool | None = None,
        copied: str = "",
    ) -> None:
        """Add an icon with an accessible name and tooltip; without `do`, the browser copies the text `copied`."""
        more = {"data-icon": icon, "title": label, "data-copy": copied}
        if pressed is not None:
            more["aria-pressed"] = str(pressed).lower()
        self._button("", label, do, f"icon {classes}", more)

    def words(self, ask: str, text: str, label: str, do: Callable[[], object], classes: str) -> None:
        """Add a button with an underlined word and a text beside it."""
        inside = f'<span class="ask">{escape(ask)}</span><span>{escape(text)}</span>'
        self._button(inside, label, do, classes, {})

    def text(self, text: str, classes: str, title: str = "") -> None:
        """Add words that are no button."""
        self._parts.append(f'<span class="{classes}" title="{escape(title)}">{escape(text)}</span>')

    def space(self) -> None:
        """Move what follows to the other end of the row."""
        self._parts.append('<span class="spread"></span>')

    def draw(self) -> None:
        """Show what was added."""
        self._html.set_content("".join(self._parts))

    def _button(
        self, inside: str, label: str, do: Callable[[], object] | None, classes: str, more: dict[str, str]
    ) -> None:
        attributes = {"class": f"btn {classes}", "aria-label": label, "data-do": str(len(self._actions)), **more}
        written = " ".join(f'{name}="{escape(value)}"' for name, value in attributes.items() if value)
        self._parts.append(f'<button type="button" {written}>{inside}</button>')
        self._actions.append(do)

    async def _clicked(self, event: GenericEventArguments) -> None:
        place = event.args
        do = self._actions[place] if isinstance(place, int) and 0 <= place < len(self._actions) else None
        if do is None:
            return
        with self._html.client:
            outcome = do()
            if iscoroutine(outcome):
                await outcome
            if not self._html.is_deleted:
                self._html.client.run_javascript(_FOCUS % (self._html.id, place))
