"""The contents of a source: its documents, and the passages of each that the agent reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.server.data.source_search import ReadPassage, documents, first_passages
from dragoman.server.page.elements import Phrases, button, el, errors_shown, heading, passage_text
from dragoman.server.page.passage_html import row_cells
from dragoman.server.page.session import PageSession
from dragoman.server.page.turn_view import source_label


class SourceContents:
    """A dialog with the documents of a source; a click on one shows its passages."""

    def __init__(self, page_session: PageSession, words: Phrases) -> None:
        self._page_session, self._words = page_session, words

    async def open(self, source: str, client: ui.element) -> None:
        """Show the documents of a source."""
        label = source_label(source, self._words)
        with (
            client.client,
            ui.dialog() as dialog,
            el("div", classes="dialog cited", role="dialog", aria_label=label),
        ):
            heading(label, level=2)
            content = el("div", classes="preview")
            with el("div", classes="row end"):
                button(self._words["close"], dialog.close, "quiet")
        dialog.on("hide", dialog.delete)
        dialog.open()
        await self._list(source, content)

    async def _list(self, source: str, content: TextElement) -> None:
        words = self._words
        with errors_shown(words):
            rows, more = await self._page_session.do(documents, source)
            content.clear()
            with content:
                for row in rows:
                    count = words["sources.passage" if row.passages == 1 else "sources.passages"]
                    with el("div", classes="row file"):
                        button(row.name, partial(self._show, source, row.origin, content), "link grow")
                        el("span", count.format(count=f"{row.passages:,}"), "muted")
                if more:
                    el("p", words["sources.first"], "muted")

    async def _show(self, source: str, origin: str, content: TextElement) -> None:
        with errors_shown(self._words):
            rows = await self._page_session.do(first_passages, source, origin)
            content.clear()
            with content:
                with el("div", classes="row"):
                    button(self._words["sources.back"], partial(self._list, source, content), "outline")
                    el("span", origin.rpartition("/")[2], "heads")
                passage_list(rows, self._words)


def passage_list(rows: Sequence[ReadPassage], words: Phrases) -> None:
    """Passages of a document, each with its page and heading; rows of a table beside each other are one table."""
    for (page, heads, is_row), group in groupby(
        rows, key=lambda row: (row.page, row.heading, bool(row_cells(row.text)))
    ):
        texts = [row.text for row in group]
        for text in ["\n".join(texts)] if is_row else texts:
            with el("div", classes="card"):
                if page:
                    el("div", words["card.page"].format(page=page), "where")
                if heads:
                    el("div", heads, "heads")
                passage_text(text)
    if not rows:
        el("p", words["why.nothing"], "muted")
