"""Controls of a chat on the page: a menu in the composer, and a chip for each setting that differs from the default."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.core.control import MEMORY_MODES, RETRIEVE_MODES, TurnControl, sources_with_needs
from dragoman.core.values import Source
from dragoman.server.page.elements import Phrases, button, el, icon_button
from dragoman.server.page.turn_view import source_label

# The menu is drawn anew, which leaves the focus nowhere, unless it has gone elsewhere meanwhile.
_FOCUS = """setTimeout(() => {
    if (document.activeElement === document.body) document.querySelector('.controls [data-place="%s"]')?.focus();
}, 50)"""


def with_source(control: TurnControl, name: str, declared: Sequence[Source], *, allowed: bool) -> TurnControl:
    """The control with a source allowed, and those it needs, or excluded, and those that need it.

    Facts about the user have a setting of their own and stay allowed. All sources together are no limit.
    """
    names = set(_names(declared) if control.sources is None else control.sources)
    names |= {source.name for source in declared if _is_memory(source)}
    if allowed:
        names |= set(sources_with_needs([name], declared))
    else:
        names = {one for one in names if name not in sources_with_needs([one], declared)}
    kept = tuple(one for one in _names(declared) if one in names)
    return replace(control, sources=None if len(kept) == len(declared) else kept)


def choosable(declared: Sequence[Source]) -> list[Source]:
    """The sources that a user can switch on and off; facts about the user have the setting for memory."""
    return [source for source in declared if not _is_memory(source)]


def _names(declared: Sequence[Source]) -> list[str]:
    return [source.name for source in declared]


def _is_memory(source: Source) -> bool:
    return source.about == "user" and source.private


class TurnControls:
    """The menu and the chips. Calls `changed` with a new control, `choose_model` with a language model, "" for the
    agent's own, and `leave` where a private chat ends.
    """

    def __init__(
        self,
        words: Phrases,
        *,
        changed: Callable[[TurnControl], Awaitable[None]],
        choose_model: Callable[[str], Awaitable[None]],
        leave: Callable[[], Awaitable[None]],
    ) -> None:
        self._words, self._changed, self._choose_model, self._leave = words, changed, choose_model, leave
        self._control = TurnControl()
        self._sources: Sequence[Source] = ()
        self._models: Sequence[str] = ()
        self._places = count()
        self._model = ""

    def build_menu(self) -> None:
        """The button that opens the menu, inside the composer."""
        label = self._words["control.open"]
        with icon_button("tune", label, lambda: None, "controls-open"), ui.menu():
            self._menu = el("div", classes="controls", role="group", aria_label=label)

    def build_chips(self) -> None:
        """The place of the chips, above the field."""
        self._chips = el("div", classes="chips small set", aria_live="polite")

    def show(
        self, control: TurnControl, sources: Sequence[Source], models: Sequence[str] = (), model: str = ""
    ) -> None:
        """Show a chat's control and model, and the sources and models that there are."""
        self._control, self._sources, self._models, self._model = control, sources, models, model
        self._chips.clear()
        with self._chips:
            self._draw_chips()
        self._places = count()
        self._menu.clear()
        with self._menu:
            self._draw_menu()

    def _draw_chips(self) -> None:
        words, control = self._words, self._control
        if not control.keep:
            with el("span", classes="tag chip-private"):
                el("span", words["private.chip"])
                button(words["private.leave"], self._leave, "link")
        if control.retrieve != "auto":
            without = replace(control, retrieve="auto")
            self._chip(words[f"control.chip_{control.retrieve}"], partial(self._changed, without))
        if control.memory != "on":
            without = replace(control, memory="on")
            self._chip(words[f"control.memory_{control.memory}_chip"], partial(self._changed, without))
        if control.sources is not None:
            allowed = [source for source in choosable(self._sources) if control.allows(source)]
            names = [source_label(source.name, words) for source in allowed]
            text = words["control.only"].format(names=", ".join(names)) if names else words["control.no_sources"]
            self._chip(text, partial(self._changed, replace(control, sources=None)))
        if self._model:
            self._chip(words["control.model_chip"].format(model=self._model), partial(self._choose_model, ""))

    def _chip(self, text: str, reset: Callable[[], Awaitable[None]]) -> None:
        with el("span", classes="tag chip-set"):
            el("span", text)
            button("×", reset, "link", aria_label=self._words["control.reset"].format(what=text))

    def _draw_menu(self) -> None:
        words, control = self._words, self._control
        retrieve = [(words[f"control.{mode}"], replace(control, retrieve=mode)) for mode in RETRIEVE_MODES]
        self._choices(words["control.search"], retrieve)
        # A private chat changes no memory, so that reading it is the most it can do.
        effective = control if control.keep or control.memory != "on" else replace(control, memory="read")
        modes = MEMORY_MODES if control.keep else MEMORY_MODES[1:]
        memory = [(words[f"control.memory_{mode}"], replace(control, memory=mode)) for mode in modes]
        self._choices(words["control.memory"], memory, current=effective)
        if not control.keep:
            el("p", words["control.memory_private"], "muted note")
        sources = choosable(self._sources)
        if sources:
            el("div", words["control.sources"], "heading")
        for source in sources:
            is_allowed = control.allows(source)
            changed = with_source(control, source.name, self._sources, allowed=not is_allowed)
            icon = "check_box" if is_allowed else "check_box_outline_blank"
            label, change = source_label(source.name, words), partial(self._changed, changed)
            box = self._option(label, change, "checkbox", checked=is_allowed, icon=icon)
            box.props["title"] = source.description
        if self._models:
            self._draw_models()

    def _draw_models(self) -> None:
        """The agent's own language model, and those that the server allows instead."""
        words = self._words
        el("div", words["control.model"], "heading")
        with el("div", role="radiogroup", aria_label=words["control.model"]):
            for model in ("", *self._models):
                checked = model == self._model
                icon = "radio_button_checked" if checked else "radio_button_unchecked"
                label, change = model or words["control.own_model"], partial(self._choose_model, model)
                self._option(label, change, "radio", checked=checked, icon=icon)

    def _choices(
        self, label: str, choices: Sequence[tuple[str, TurnControl]], *, current: TurnControl | None = None
    ) -> None:
        shown = self._control if current is None else current
        el("div", label, "heading")
        with el("div", classes="segments", role="radiogroup", aria_label=label):
            for text, control in choices:
                self._option(text, partial(self._changed, control), "radio", checked=control == shown)

    def _option(
        self, text: str, change: Callable[[], Awaitable[None]], role: str, *, checked: bool, icon: str = ""
    ) -> TextElement:
        """An option of the menu. Choosing it draws the menu anew; the keyboard stays where it was."""
        place = str(next(self._places))

        async def pick() -> None:
            await change()
            self._menu.client.run_javascript(_FOCUS % place)

        kind = "check" if icon else "segment"
        box = button("" if icon else text, pick, kind, role=role, aria_checked=str(checked).lower(), data_place=place)
        if icon:
            with box:
                ui.icon(icon).props("aria-hidden=true")
                el("span", text)
        return box
