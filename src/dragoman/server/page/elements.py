"""Elements shared by the panels. Text is inserted as text nodes and attributes, never as markup."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import iscoroutine

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement
from nicegui.events import GenericEventArguments

from dragoman.core.errors import DragomanError
from dragoman.server.http.problems import CODES, problem_of
from dragoman.server.page.passage_html import passage_html
from dragoman.server.page.text_diff import Span
from dragoman.server.page.turn_view import Card, source_label

Phrases = Mapping[str, str]
_SHORT = 420
UNDO_SECONDS = 8.0
"""Seconds in which something deleted can be brought back."""


class Latest:
    """Tells the newest of several requests for one place: an earlier one may be answered after it."""

    def __init__(self) -> None:
        self._count = 0

    def begin(self) -> Callable[[], bool]:
        """Begin a request; the function says whether it is still the newest."""
        self._count += 1
        mine = self._count
        return lambda: mine == self._count


def el(tag: str, text: str = "", classes: str = "", **attributes: str | bool) -> TextElement:
    """An HTML element with text. Attributes are set one by one, so that no string is parsed."""
    element = TextElement(tag=tag, text=text)
    if classes:
        element.classes(classes)
    for name, value in attributes.items():
        element.props[name.rstrip("_").replace("_", "-")] = value
    return element


def set_hidden(element: ui.element, *, hidden: bool) -> None:
    """Hide an element, or show it again."""
    if hidden:
        element.props["hidden"] = True
    else:
        element.props.pop("hidden", None)


def on(element: ui.element, event: str, do: Callable[[], object]) -> None:
    """Register an event handler, which may delete the element itself.

    Only coroutines are awaited: a dialog that its own `close` returns could be awaited too, which would open it again.
    """

    async def settled(_: object) -> None:
        with element.client:
            outcome = do()
            if iscoroutine(outcome):
                await outcome

    element.on(event, settled, [])


def on_detail(element: ui.element, event: str, do: Callable[[GenericEventArguments], object]) -> None:
    """Register a handler of a custom browser event; its `args` are the event's detail."""
    element.on(event, do, js_handler="(event) => emit(event.detail)")


def button(text: str, do: Callable[[], object], classes: str = "", **attributes: str | bool) -> TextElement:
    """A text button."""
    element = el("button", text, f"btn {classes}", type="button", **attributes)
    on(element, "click", do)
    return element


def icon_button(icon: str, label: str, do: Callable[[], object], classes: str = "") -> TextElement:
    """An icon button with an accessible name and tooltip."""
    element = plain_icon_button(icon, label, classes)
    on(element, "click", do)
    return element


def plain_icon_button(icon: str, label: str, classes: str = "") -> TextElement:
    """An icon button without a handler."""
    element = el("button", "", f"btn icon {classes}", type="button", aria_label=label, title=label)
    set_icon(element, icon)
    return element


def set_icon(element: ui.element, icon: str) -> None:
    """Draw an icon before an element by its style alone: an element for each would make every change slower."""
    element.props["data-icon"] = icon


def heading(text: str, classes: str = "", level: int = 3) -> TextElement:
    return el(f"h{level}", text, f"heading {classes}")


def empty(icon: str, text: str, more: str = "") -> None:
    """Placeholder of an empty panel: what will be there, and what to do."""
    with el("div", classes="empty"):
        ui.icon(icon).props("aria-hidden=true")
        el("p", text)
        if more:
            el("p", more, "muted")


def loading(into: TextElement, words: Phrases) -> None:
    """Placeholder of a list until its content is loaded."""
    with into:
        el("p", words["loading"], "muted loading", role="status")


def meter(label: str, value: float | None) -> None:
    """A figure from 0 to 1 as a bar."""
    if value is None:
        return
    share = min(1.0, max(0.0, value))
    with el("div", classes="meter", role="img", aria_label=f"{label} {value:.2f}"):
        el("span", label, "muted")
        with el("div", classes="track"):
            el("div", classes="fill").style(f"width: {share * 100:.1f}%")
        el("span", f"{value:.2f}", "figure")


def evidence_card(card: Card, words: Phrases, *, scores: bool = True) -> TextElement:
    """Card of a piece of evidence: source, text with quoted spans marked, and, unless switched off, scores.

    Returns the element for its consistency, which may arrive later.
    """
    passage = card.evidence.passage
    with el("article", classes=f"card evidence {card.fate}{' rests' if card.quoted else ''}"):
        is_fact = "slot" in passage.meta  # the title of a fact only helps to find it
        with el("div", classes="row"):
            el("span", words["why.fact"] if is_fact else source_label(passage.source, words), "tag")
            page = passage.meta.get("page", "")
            el(
                "span",
                ", ".join(filter(None, (place_of(card), page and words["card.page"].format(page=page)))),
                "where",
            )
        heads = " › ".join(dict.fromkeys(part for part in (passage.title, *passage.headings) if part))
        if heads and not is_fact:
            el("div", heads, "heads")
        passage_text(passage.text, card.spans)
        if scores:
            meter(words["relevance"], card.evidence.relevance)
        with el("div", classes="slot") as slot:
            if scores:
                meter(words["consistency"], card.consistency)
        marks = [words[f"card.{card.fate}"]] if card.fate != "kept" else []
        marks += [words["card.quoted"]] if card.quoted else []
        if marks:
            el("div", " · ".join(marks), "fate")
    return slot


def passage_text(text: str, spans: Sequence[Span] = ()) -> ui.html:
    """The text of a passage, rows as a table."""
    # `passage_html` escapes every text.
    return ui.html(passage_html(text, spans), sanitize=False).classes("passage")


def place_of(card: Card) -> str:
    """The file name of a passage."""
    origin = card.evidence.passage.origin
    return origin.rpartition("/")[2] or origin


def phrase(words: Phrases, key: str, otherwise: str) -> str:
    """The label of a key, else `otherwise`: plugins may have names without labels."""
    return words.get(key, otherwise)


def notice(text: str) -> None:
    """Show a short notification."""
    ui.notify(text[:_SHORT], classes="notice", position="top", timeout=6000)


def undo_toast(text: str, label: str, undo: Callable[[], object], *, seconds: float) -> None:
    """Show a message with a button that takes something back; both go after some seconds, or for the next one."""
    client = ui.context.client
    for earlier in [child for child in client.layout if "toast" in child.classes]:
        earlier.delete()
    with client.layout, el("div", classes="toast", role="status") as toast:
        el("span", text[:_SHORT])

        async def take_back() -> None:
            toast.delete()
            outcome = undo()
            if iscoroutine(outcome):
                await outcome

        button(label, take_back, "link")

        def end() -> None:
            if not toast.is_deleted:
                toast.delete()

        ui.timer(seconds, end, once=True)


def show_error(error: DragomanError, words: Phrases) -> None:
    """Show a notification with an error and its remedy."""
    notice(f"{words['error']} {error_text(error)}")


def error_text(error: DragomanError) -> str:
    """An error and its remedy in words."""
    problem = problem_of(error)
    return f"{problem.detail or CODES[problem.code][1]} {problem.remedy}".strip()


@contextmanager
def errors_shown(words: Phrases) -> Iterator[None]:
    """Show DragomanErrors of the block as notifications; others propagate."""
    try:
        yield
    except DragomanError as error:
        show_error(error, words)
