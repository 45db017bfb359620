"""The empty chat: the agent's greeting, or a message that there is no such chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from dragoman.server.http.views import View
from dragoman.server.page.elements import Phrases, button, el, empty

WELCOME = "welcome"
"""Class of the elements that go away with the first message."""


def welcome(
    agent: View,
    words: Phrases,
    *,
    private: bool,
    ask: Callable[[str], Awaitable[None]],
    open_sources: Callable[[], None] | None,
) -> None:
    """Greeting, example questions, and a link to the sources where the user can upload files."""
    with el("div", classes=WELCOME):
        el("div", str(agent["title"]), "agent-name")
        if private:
            with el("div", classes="card private-note", role="note"):
                el("strong", words["private.title"])
                el("span", words["private.about"])
        if agent["greeting"]:
            el("p", str(agent["greeting"]), "greeting")
        el("p", words["chat.what"], "muted what")
        examples = [str(text) for text in agent["examples"]]
        el("p", words["chat.try"] if examples else words["chat.ask"], "muted")
        with el("div", classes="chips"):
            for text in examples:
                button(text, partial(ask, text), "chip")
        if any(source["writable"] for source in agent["sources"]) and open_sources is not None:
            with el("p", classes="muted also"):
                el("span", words["chat.folder"])
                button(words["chat.open_sources"], open_sources, "link")


def missing_chat(words: Phrases, *, begin_anew: Callable[[], Awaitable[None]] | None) -> None:
    """Say that the address names no chat of this user."""
    with el("div", classes=f"{WELCOME} missing"):
        empty("search_off", words["chat.missing"], words["chat.missing_more"])
        if begin_anew is not None:
            button(words["dialogues.new"], begin_anew, "outline")
