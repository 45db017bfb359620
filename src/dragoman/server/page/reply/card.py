"""A reply on the page: text with citations, what was saved and used, and the buttons under it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import ui
from nicegui.elements.html import Html
from nicegui.elements.mixins.text_element import TextElement
from nicegui.events import GenericEventArguments

from dragoman.core.trace import Note, Reply
from dragoman.server.cost import price_text
from dragoman.server.data import learned_facts
from dragoman.server.page.elements import (
    Phrases,
    button,
    el,
    errors_shown,
    icon_button,
    on_detail,
)
from dragoman.server.page.plan_graph import seconds_text
from dragoman.server.page.reply.citations import Citation, citations, used_facts
from dragoman.server.page.reply.markdown import markdown_html
from dragoman.server.page.reply.read_more import ReadMore
from dragoman.server.page.reply.thumbs import Thumbs
from dragoman.server.page.session import PageSession
from dragoman.server.page.turn_view import TurnPicture, reply_picture, turn_picture

_MOST_CHIPS = 6


class ReplyCard:
    """A reply, streamed or finished. `place` is its turn in the dialogue once it is stored.

    `checked` holds the critic's consistencies for the Why panel; None until they are requested. A reply without a
    trace is `lost`: deleted, too old, or broken off before it was saved.
    """

    def __init__(
        self,
        page_session: PageSession,
        words: Phrases,
        *,
        text: str = "",
        reply: Reply | None = None,
        place: int | None = None,
    ) -> None:
        self._page_session, self._words = page_session, words
        self.notes: list[Note] = []
        self.text = text
        self.reply = reply
        self.place = place
        self.seconds: float | None = None
        self.liked: bool | None = None
        self.checked: dict[str, float] | None = None
        self.lost = False
        self.is_broken_off = False
        self.needed: bool | None = None
        self.question = ""
        self.search: Callable[[], Awaitable[None]] | None = None
        self.no_search: Callable[[], Awaitable[None]] | None = None
        self.retry: Callable[[], Awaitable[None]] | None = None
        self.edit: Callable[[], Awaitable[None]] | None = None
        self.explain: Callable[[], None] | None = None
        self.open_memory: Callable[[], None] | None = None
        self._citations: tuple[Citation, ...] = ()
        self._no_search: TextElement | None = None
        self._read_more = ReadMore(page_session, words)
        self.box: TextElement
        self.body: Html
        self.under: TextElement

    @property
    def picture(self) -> TurnPicture | None:
        """The view of the turn for the Why panel; None if its trace is not stored."""
        if self.lost:
            return None
        return turn_picture(self.notes, self.text) if self.reply is None else reply_picture(self.reply)

    def build(self, picked: Callable[[], None]) -> None:
        """Create the elements; without a text it is still being thought of."""
        with el("div", classes="turn agent") as self.box:
            self.box.on("click", lambda _: picked(), [])
            on_detail(self.box, "cite", self._open_citation)
            self.body = ui.html("", sanitize=False).classes("text")
            self.chips = el("div", classes="chips small")
            self.under = el("div", classes="under")
        if not self.text:
            self.wait(self._words["chat.thinking"])
            self.box.props["aria-busy"] = "true"  # read out when it is whole

    def wait(self, message: str) -> None:
        """Say what happens until there is text."""
        self.body.classes("waiting")
        self.body.set_content(markdown_html(message, words=self._words))

    def show_text(self) -> None:
        """Show the text so far."""
        self.body.classes(remove="waiting")
        self.body.set_content(markdown_html(self.text, self._citations, words=self._words))

    def finish(self) -> None:
        """Show the finished reply with its citations, chips and buttons."""
        self.box.props["aria-busy"] = "false"
        picture = self.picture
        private = self._page_session.private_sources
        if picture is not None:
            self._citations = citations(self.text, picture.cards, private=private)
        self.show_text()
        self.under.clear()
        self.chips.clear()
        if self.lost or picture is None:
            return
        with self.chips:
            self._chips(picture)
        with self.under:
            self._buttons(picture)

    def stopped(self) -> None:
        """Show that the reply was stopped."""
        self.lost = self.is_broken_off = True
        self.box.props["aria-busy"] = "false"
        self.show_text()
        with self.box, el("div", classes="row stopped", role="status"):
            el("span", self._words["chat.stopped"], "muted")
            self._once_more()

    def failed(self, message: str) -> None:
        """Show what went wrong."""
        self.lost = self.is_broken_off = True
        self.box.props["aria-busy"] = "false"
        self.show_text()
        with self.box, el("div", classes="failure", role="alert"):
            el("strong", self._words["error"])
            el("span", message)
            with el("div", classes="row"):
                self._once_more()

    def _once_more(self) -> None:
        """Buttons to send the message again, as it is or changed, where nothing of it was saved."""
        if self.retry is not None:
            button(self._words["chat.retry"], self.retry, "link")
        if self.edit is not None:
            button(self._words["chat.edit_message"], self.edit, "link")

    def _chips(self, picture: TurnPicture) -> None:
        words = self._words
        learned = picture.learned
        replaced = () if learned is None else learned.superseded
        for passage in () if learned is None else learned.added[:_MOST_CHIPS]:
            with el("span", classes="tag chip-saved") as chip:
                el("span", words["chip.saved"].format(fact=passage.text.rstrip(".")))
                ids = [row.id for row in replaced] if passage is (learned.added[-1] if learned else None) else []
                button(words["chip.undo"], partial(self._undo, chip, passage.id, ids), "link")
        for fact in used_facts(picture.cards, self._page_session.private_sources)[:_MOST_CHIPS]:
            text = words["chip.used"].format(fact=fact.rstrip("."))
            if self.open_memory is not None:
                button(text, self.open_memory, "tag chip-used")

    async def _undo(self, chip: TextElement, fact: str, replaced: list[str]) -> None:
        with errors_shown(self._words):
            await self._page_session.forgetting(learned_facts.retract, [fact], replaced)
            chip.clear()
            with chip:
                el("span", self._words["chip.undone"])

    def _buttons(self, picture: TurnPicture) -> None:
        words = self._words
        summary = self._summary(picture)
        if self.explain is not None:
            with button("", self.explain, "why", aria_label=f"{words['chat.why']}: {summary}"):
                el("span", words["chat.why_short"], "ask")
                el("span", summary)
        if picture.warnings:
            el("span", words["chat.trouble"], "trouble", title="\n".join(picture.warnings))
        el("span", classes="spread")
        if self._citations:
            icon_button("menu_book", words["chat.more"], self._open_more, "thumb-like read-more")
        copy = icon_button("content_copy", words["chat.copy"], lambda: None, "thumb-like copy-reply")
        copy.props["data-copy"] = self.text
        self._search_button(picture)
        if self.retry is not None:
            icon_button("refresh", words["chat.retry"], self.retry, "thumb-like")
        if self.place is not None:
            Thumbs(self._page_session, words, self.place, self.box, liked=self.liked).build()

    def _search_button(self, picture: TurnPicture) -> None:
        """A button to search after all, or to say that no search was needed."""
        words = self._words
        was_searched = picture.verdict is not None and picture.verdict.retrieve
        if not was_searched and self.search is not None:
            icon_button("search", words["chat.search"], self.search, "thumb-like search-after-all")
        elif was_searched and self.no_search is not None and self.place is not None:
            self._no_search = icon_button("search_off", words["chat.no_search"], self.no_search, "thumb")
            self.label(needed=self.needed)

    def label(self, *, needed: bool | None) -> None:
        """Show whether the user said that the reply needed a search."""
        self.needed = needed
        if self._no_search is not None:
            self._no_search.props["aria-pressed"] = str(needed is False).lower()

    def _summary(self, picture: TurnPicture) -> str:
        """One line: whether it is an answer, where it comes from, the time it took, and its price if known."""
        words = self._words
        took = seconds_text(self.seconds if self.seconds is not None else picture.seconds)
        if picture.price is not None:
            took = f"{took} · {price_text(picture.price)}"
        doubt = {"no answer": words["worth.no_answer"], "nearest": words["worth.nearest"]}.get(picture.worth, "")
        if picture.plan is None or picture.plan.is_null:
            return " · ".join((words["chat.direct"], took))
        private = self._page_session.private_sources
        rests = [card.evidence for card in picture.cards if card.quoted and not card.is_gone]
        places = dict.fromkeys(
            words["chat.you"] if piece.source in private else piece.passage.origin.rpartition("/")[2] or piece.source
            for piece in rests
        )
        where = words["chat.from"].format(places=", ".join(list(places)[:3])) if places else ""
        return " · ".join(part for part in (doubt, where, took) if part)

    async def _open_citation(self, event: GenericEventArguments) -> None:
        """Show the passage behind a number, with the quoted words marked."""
        cited = [one for one in self._citations if one.number == event.args]
        if cited:
            await self._read_more.open(cited, self.box, further=False)

    async def _open_more(self) -> None:
        """Show all that the reply cites, and what follows it in the documents."""
        await self._read_more.open(self._citations, self.box, further=True)
