"""The passages behind a reply: each with its quoted words marked, the passages after it, and its page of a PDF."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from urllib.parse import urlencode

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.core.values import Passage
from dragoman.server.data.cited_passages import following, pdf_page
from dragoman.server.page.elements import Phrases, button, el, errors_shown, evidence_card, passage_text, place_of
from dragoman.server.page.reply.citations import Citation
from dragoman.server.page.session import PageSession
from dragoman.server.page.turn_view import Card

_AT_ONCE = 3


class ReadMore:
    """A dialog with the passages of some citations; each can be read on."""

    def __init__(self, page_session: PageSession, words: Phrases) -> None:
        self._page_session, self._words = page_session, words

    async def open(self, citations: Sequence[Citation], client: ui.element, *, further: bool) -> None:
        """Show the passages, with `further` those after them too."""
        words = self._words
        label = words["chat.more" if further else "chat.cited"]
        with (
            client.client,
            ui.dialog() as dialog,
            el("div", classes="dialog cited", role="dialog", aria_label=label),
        ):
            with el("div", classes="preview"):
                parts = [(citation, self._passage(citation.card)) for citation in citations]
            with el("div", classes="row end"):
                button(words["close"], dialog.close, "quiet")
        dialog.on("hide", dialog.delete)
        dialog.open()
        if further:
            for citation, part in parts:
                await self._read_on(part, citation.card.evidence.passage)

    def _passage(self, card: Card) -> TextElement:
        """A cited passage, and the place for those after it."""
        passage = card.evidence.passage
        with el("section", classes="read-on"):
            evidence_card(card, self._words, scores=False)
            page = pdf_page(passage)
            if page is not None:
                text = self._words["card.open_page"].format(file=place_of(card), page=page)
                el("a", text, "btn link open-page", href=self._address(card, page), target="_blank", rel="noopener")
            after = el("div", classes="after")
            with after:
                button(self._words["chat.read_on"], partial(self._read_on, after, passage), "link")
        return after

    async def _read_on(self, after: TextElement, passage: Passage) -> None:
        """Show the next passages in place of the button that asks for them."""
        words = self._words
        with errors_shown(words):
            rows = await self._page_session.do(following, passage, _AT_ONCE + 1)
            if after.is_deleted:
                return
            list(after)[-1].delete()
            with after:
                for row in rows[:_AT_ONCE]:
                    heads = row.headings[-1] if row.headings and row.headings != passage.headings else ""
                    if heads:
                        el("div", heads, "heads")
                    passage_text(row.text).classes("card")
                if len(rows) > _AT_ONCE:
                    button(words["chat.read_on"], partial(self._read_on, after, rows[_AT_ONCE - 1]), "link")
                else:
                    el("p", words["chat.read_end"], "muted")

    def _address(self, card: Card, page: int) -> str:
        """The address that shows the page of a PDF with the quoted words marked."""
        spans = ",".join(f"{start}-{end}" for start, end in card.spans)
        passage = card.evidence.passage
        query = {"agent": self._page_session.agent, "source": passage.source, "passage": passage.id, "spans": spans}
        return f"document?{urlencode(query)}#page={page}"
