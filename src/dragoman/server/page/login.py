"""The sign-in form of a server with keys."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from dragoman.core.errors import DragomanError
from dragoman.server.http.problems import problem_of
from dragoman.server.page.elements import button, el, heading, on
from dragoman.server.page.layout import MARK
from dragoman.server.page.texts import Language, words
from dragoman.server.service import Service


def build_login(service: Service, language: Language, entered: Callable[[str], str]) -> None:
    """Build the form; `entered` is called with a valid key and returns the address to open."""
    labels = words(language)

    async def enter() -> None:
        key = str(field.value or "").strip()
        try:
            await service.caller(key)
        except DragomanError as error:
            problem = problem_of(error)
            wrong.set_text(labels["key.wrong"] if problem.code == "unauthorized" else problem.detail)
            return
        ui.navigate.to(entered(key))

    with el("section", classes="entrance"), el("div", classes="card"):
        ui.html(MARK, sanitize=False)
        heading(labels["key.title"], level=1)
        el("p", labels["key.about"], "muted")
        field = ui.input(label=labels["key.field"], password=True).props("outlined dense autofocus autocomplete=off")
        field.props["aria-label"] = labels["key.field"]
        on(field, "keydown.enter", enter)
        wrong = el("p", "", "wrong", role="alert")
        button(labels["key.enter"], enter, "primary")
