"""The sheet of keyboard shortcuts."""

from __future__ import annotations

from nicegui import ui

from dragoman.server.page.elements import Phrases, button, el, heading, icon_button

SHORTCUTS = {
    "Enter": "keys.send",
    "Shift + Enter": "keys.line",
    "Esc": "keys.stop",
    "/": "keys.slash",
    "Ctrl + K": "keys.search",
    "Ctrl + Shift + O": "keys.new",
    "?": "keys.sheet",
}


class ShortcutSheet:
    """A button and the dialog that it opens; `?` opens it too."""

    def __init__(self, words: Phrases) -> None:
        self._words = words

    def build(self) -> None:
        words = self._words
        with ui.dialog() as dialog, el("div", classes="dialog", role="dialog", aria_label=words["keys.title"]):
            heading(words["keys.title"], level=2)
            with el("dl", classes="shortcuts"):
                for keys, about in SHORTCUTS.items():
                    with el("dt"):
                        for key in keys.split(" + "):
                            el("kbd", key)
                    el("dd", words[about])
            with el("div", classes="row end"):
                button(words["close"], dialog.close, "quiet")
        icon_button("keyboard", words["keys.title"], dialog.open, "shortcuts-open")
