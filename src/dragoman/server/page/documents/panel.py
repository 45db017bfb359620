"""The Sources panel: counts, uploads and a test search."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from nicegui import events, ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.core.values import Evidence, Passage
from dragoman.server.data import source_search
from dragoman.server.http.views import View
from dragoman.server.page.documents.contents import SourceContents
from dragoman.server.page.documents.files import DocumentFiles
from dragoman.server.page.elements import (
    Latest,
    Phrases,
    button,
    el,
    errors_shown,
    evidence_card,
    heading,
    icon_button,
    loading,
    on,
)
from dragoman.server.page.session import PageSession
from dragoman.server.page.turn_view import Card, source_label

_FOUND = 5
_WEAK = 0.1
"""Below this relevance, what is nearest is far."""


class SourcesPanel:
    """The Sources panel. Calls `changed` when documents were added or deleted."""

    def __init__(self, page_session: PageSession, words: Phrases, *, changed: Callable[[], Awaitable[None]]) -> None:
        self._page_session, self._words, self._changed = page_session, words, changed
        self._files = DocumentFiles(page_session, words, changed=self._files_changed)
        self._contents = SourceContents(page_session, words)
        self._latest, self._latest_search = Latest(), Latest()
        self._shown: dict[str, int] = {}

    def build(self, into: TextElement) -> None:
        words = self._words
        with into:
            self._adding = el("div", classes="adding")
            heading(words["sources.title"])
            self._list = el("div", classes="sources")
            loading(self._list, words)
            heading(words["sources.search"])
            with el("div", classes="card add"):
                self._query = ui.input(placeholder=words["sources.query"]).props("borderless dense")
                self._query.props["aria-label"] = words["sources.query"]
                on(self._query, "keydown.enter", self._search)
                self._where = ui.select([], label=None).props("borderless dense options-dense")
                self._where.props["aria-label"] = words["sources.in"]
                icon_button("search", words["sources.go"], self._search)
            self._found = el("div", classes="found", aria_live="polite")

    async def refresh(self) -> bool:
        """Reload the sources, with an upload area for writable ones; whether they are shown."""
        words = self._words
        is_latest = self._latest.begin()
        with errors_shown(words):
            rows = await self._page_session.do(source_search.sources)
            if not is_latest():
                return True
            self._show(rows)
            names = [str(row["name"]) for row in rows]
            best = max(rows, key=lambda row: int(row["passages"]), default=None)
            where = self._where.value if self._where.value in names else best and str(best["name"])
            self._where.set_options({name: source_label(name, words) for name in names}, value=where)
            writable = [str(row["name"]) for row in rows if row["writable"]]
            if not self._files.target or self._files.target not in writable:
                private = [str(row["name"]) for row in rows if row["writable"] and row["private"]]
                self._files.target = (private or writable or [""])[-1]  # a folder of one's own, unless there is none
                self._offer(writable)
            await self._files.refresh()
            return True
        return False

    async def recount(self) -> None:
        """Show the sources anew if one of them has grown or shrunk, as memory does in a chat."""
        with errors_shown(self._words):
            rows = await self._page_session.do(source_search.sources)
            if _counts(rows) != self._shown:
                self._show(rows)

    def _show(self, rows: Sequence[View]) -> None:
        words = self._words
        self._shown = _counts(rows)
        self._list.clear()
        with self._list:
            for row in rows:
                with el("article", classes="card source"):
                    with el("div", classes="row"):
                        self._name(row)
                        el("span", words["sources.private" if row["private"] else "sources.shared"], "tag")
                        el("span", classes="spread")
                        unit = "fact" if _is_memory(row) else "passage"
                        el("span", _count(words, int(row["passages"]), unit), "figure")
                    if about := _about(row, words):
                        el("p", about, "muted")

    def _name(self, row: View) -> None:
        """The name of a source; a button where documents are in it. Facts have a panel of their own."""
        label = source_label(str(row["name"]), self._words)
        if _is_memory(row) or not row["passages"]:
            el("span", label, "name")
            return
        about = self._words["sources.contents"].format(name=label)
        button(label, partial(self._contents.open, str(row["name"]), self._list), "link name", aria_label=about)

    def _offer(self, writable: list[str]) -> None:
        """The upload area."""
        words = self._words
        self._adding.clear()
        with self._adding:
            heading(words["sources.add"])
            if not writable:
                el("p", words["sources.none_writable"], "muted no-drop")
                return
            if len(writable) > 1:
                into = ui.select(
                    {name: source_label(name, words) for name in writable},
                    value=self._files.target,
                    label=words["sources.into"],
                    on_change=self._aim,
                )
                into.props("outlined dense options-dense")
            self._files.build()

    async def _aim(self, event: events.ValueChangeEventArguments[str]) -> None:
        self._files.target = str(event.value)
        with errors_shown(self._words):
            await self._files.refresh()

    async def _files_changed(self) -> None:
        await self.refresh()
        self._where.set_value(self._files.target)
        await self._changed()

    async def _search(self) -> None:
        query, source = str(self._query.value or "").strip(), str(self._where.value or "")
        if not query or not source:
            return
        words = self._words
        with errors_shown(words):
            is_latest = self._latest_search.begin()
            await self._page_session.service.admit(await self._page_session.caller())
            hits = await self._page_session.do(source_search.search, source, query, _FOUND)
            if not is_latest():
                return
            self._found.clear()
            with self._found:
                if not hits:
                    el("p", words["why.nothing"], "muted")
                elif max(float(row["relevance"]) for row in hits) < _WEAK:
                    el("p", words["sources.weak"], "muted note weak")
                for row in hits:
                    evidence_card(Card(_evidence(row)), words)


def _is_memory(row: View) -> bool:
    return bool(row["about"] == "user" and row["private"])


def _about(row: View, words: Phrases) -> str:
    """What a source is about; descriptions for the planner speak of the user, who reads this."""
    if _is_memory(row):
        return words["sources.memory"]
    return words["sources.uploads"] if row["private"] and row["name"] == "UPLOADS" else _sentence(row["description"])


def _sentence(description: object) -> str:
    """A description with a capital: agents write them for the planner."""
    return str(description)[:1].upper() + str(description)[1:]


def _counts(rows: Sequence[View]) -> dict[str, int]:
    return {str(row["name"]): int(row["passages"]) for row in rows}


def _count(words: Phrases, count: int, unit: str = "passage") -> str:
    return words[f"sources.{unit}{'' if count == 1 else 's'}"].format(count=f"{count:,}")


def _evidence(row: View) -> Evidence:
    passage = Passage(
        id=str(row["id"]),
        source=str(row["source"]),
        text=str(row["text"]),
        title=str(row["title"]),
        headings=tuple(row["headings"]),
        origin=str(row["origin"]),
    )
    return Evidence(passage, float(row["relevance"]))
