"""The input field under a chat. What is typed lives in the browser (`page.js`), so that no character is lost.

Messages that are sent while a reply is written wait in the browser and are sent one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from nicegui.events import GenericEventArguments

from dragoman.core.control import RetrieveMode
from dragoman.server.page.chat.turn_controls import TurnControls
from dragoman.server.page.elements import Phrases, el, on_detail, plain_icon_button

COMMANDS = ("new", "private", "search", "nosearch", "why", "memory", "documents", "export", "help")
"""Slash commands; `help` opens the sheet of shortcuts in the browser."""
_SEARCHES: dict[str, RetrieveMode] = {"/search": "always", "/nosearch": "never"}
_FOCUS = "if (matchMedia('(pointer: fine)').matches) document.querySelector('.composer textarea')?.focus()"


def parse_search(text: str) -> tuple[str, RetrieveMode | None]:
    """A message without the command before it, and what the command says: `/search when does it open?`."""
    command, _, rest = text.strip().partition(" ")
    if rest.strip() and command.lower() in _SEARCHES:
        return rest.strip(), _SEARCHES[command.lower()]
    return text.strip(), None


class Composer:
    """The field with its queue, menu of commands, controls of the chat, and the buttons to send and to stop."""

    def __init__(
        self,
        words: Phrases,
        *,
        ask: Callable[[str], Awaitable[None]],
        stop: Callable[[], None],
        command: Callable[[str], Awaitable[None]],
        look: Callable[[], Awaitable[None]],
        controls: TurnControls,
    ) -> None:
        self._words, self._ask, self._stop, self._command, self._look = words, ask, stop, command, look
        self._controls = controls
        self._heard = ""

    def build(self) -> None:
        words = self._words
        labels = {name: words[f"chat.{name}"] for name in ("queued", "unqueue", "unsent", "stopping")}
        commands = [(name, words[f"command.{name}"]) for name in COMMANDS]
        with el(
            "div", classes="composer", data_words=json.dumps(labels), data_commands=json.dumps(commands)
        ) as self._box:
            self._controls.build_chips()
            el("div", classes="unsent", role="status")
            el("div", classes="stopping muted", role="status")
            el("div", classes="queue", aria_live="polite")
            el("div", classes="slash card", role="listbox", aria_label=words["chat.commands"], hidden=True)
            with el("div", classes="field"):
                self._controls.build_menu()
                plain_icon_button("attach_file", words["chat.attach"], "attach")  # `page.js` listens
                area = el(
                    "textarea", "", "write", rows="1", placeholder=words["chat.hint"], aria_label=words["chat.field"]
                )
                on_detail(area, "ask", self._on_ask)
                on_detail(area, "halt", self._halted)
                on_detail(area, "command", self._commanded)
                on_detail(area, "look", self._looked)
                for icon, label, kind in (("stop", "chat.stop", "halt"), ("arrow_upward", "chat.send", "send")):
                    plain_icon_button(icon, words[label], kind)
            el("div", words["chat.keys"], "hint muted")

    async def _on_ask(self, event: GenericEventArguments) -> None:
        """Send a message, once: the browser says it again until it hears of it."""
        message = event.args if isinstance(event.args, dict) else {"text": event.args}
        number = str(message.get("id") or "")
        if not number or number != self._heard:
            self._heard = number
            await self._ask(str(message.get("text") or ""))

    def _halted(self, _: GenericEventArguments) -> None:
        self._stop()

    async def _looked(self, _: GenericEventArguments) -> None:
        await self._look()

    async def _commanded(self, event: GenericEventArguments) -> None:
        if event.args in COMMANDS:
            await self._command(str(event.args))

    def show(self, chat: str, *, busy: bool, last: str = "") -> None:
        """Tell the browser which chat is shown, whether it is being answered, and which message arrived last."""
        arguments = ", ".join(json.dumps(value) for value in (chat, busy, last))
        self._box.client.run_javascript(f"dragoman.state({arguments})")

    def queue(self, text: str) -> None:
        """Let a message wait in the browser until the chat is answered."""
        self._box.client.run_javascript(f"dragoman.later({json.dumps(text)})")

    def take_back(self, text: str) -> None:
        """Put a message into the field, after what is there, to be changed and sent again."""
        self._box.client.run_javascript(f"dragoman.takeBack({json.dumps(text)})")

    def focus(self) -> None:
        """Focus the field, except on touch screens, where the keyboard would cover half of the page."""
        self._box.client.run_javascript(_FOCUS)
