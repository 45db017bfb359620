"""A reply on the page: text with citations, what was saved and used, and the buttons under it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import ui
from nicegui.elements.html import Html
from nicegui.elements.mixins.text_element import TextElement
from nicegui.events import GenericEventArguments

from dragoman.core.trace import Note, Reply
from dragoman.server.data import learned_facts
from dragoman.server.page.button_row import ButtonRow
from dragoman.server.page.elements import (
    Phrases,
    button,
    el,
    errors_shown,
    on_detail,
)
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
    trace is `lost`: deleted, too old, or broken off before it was saved. The text of one that is withheld is deleted.
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
        self.lost = self.is_withheld = False
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
        self._thumbs: Thumbs | None = None
        self._chips: TextElement | None = None
        self._read_more = ReadMore(page_session, words)
        self.box: TextElement
        self.body: Html

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
            self._buttons = ButtonRow()
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
        if self.lost or picture is None:
            if not self.is_withheld:
                self._buttons.space()
                self._draw_copy_and_retry()
            return
        self._draw_chips(picture)
        self._draw_buttons(picture)

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

    def _draw_chips(self, picture: TurnPicture) -> None:
        """What was saved, with undo, and what of memory was used."""
        words = self._words
        added = () if picture.learned is None else picture.learned.added
        replaced = () if picture.learned is None else picture.learned.superseded
        used = used_facts(picture.cards, self._page_session.private_sources) if self.open_memory is not None else ()
        if self._chips is not None:
            self._chips.delete()
            self._chips = None
        if not added and not used:
            return
        with self.box, el("div", classes="chips small") as self._chips:
            for passage in added[:_MOST_CHIPS]:
                with el("span", classes="tag chip-saved") as chip:
                    el("span", words["chip.saved"].format(fact=passage.text.rstrip(".")))
                    ids = [row.id for row in replaced] if passage is added[-1] else []
                    button(words["chip.undo"], partial(self._undo, chip, passage.id, ids), "link")
            for fact in used[:_MOST_CHIPS]:
                if self.open_memory is not None:
                    button(words["chip.used"].format(fact=fact.rstrip(".")), self.open_memory, "tag chip-used")
        self._chips.move(self.box, 1)  # below the text

    async def _undo(self, chip: TextElement, fact: str, replaced: list[str]) -> None:
        with errors_shown(self._words):
            await self._page_session.forgetting(learned_facts.retract, [fact], replaced)
            chip.clear()
            with chip:
                el("span", self._words["chip.undone"])

    def _draw_buttons(self, picture: TurnPicture) -> None:
        """Why, copy, search after all, try again, and the thumbs."""
        words, row = self._words, self._buttons
        summary = self._summary(picture)
        row.clear()
        if self.explain is not None:
            label = ": ".join(filter(None, (words["chat.why"], summary)))
            row.words(words["chat.why_short"], summary, label, self.explain, "why")
        if picture.warnings:
            row.text(words["chat.trouble"], "trouble", "\n".join(picture.warnings))
        row.space()
        if self._citations:
            row.icon("menu_book", words["chat.more"], self._open_more, "thumb-like read-more")
        self._add_copy()
        was_searched = picture.verdict is not None and picture.verdict.retrieve
        if not was_searched and self.search is not None:
            row.icon("search", words["chat.search"], self.search, "thumb-like search-after-all")
        elif was_searched and self.no_search is not None and self.place is not None:
            row.icon(
                "search_off", words["chat.no_search"], self.no_search, "thumb no-search", pressed=self.needed is False
            )
        self._add_retry()
        if self.place is not None:
            if self._thumbs is None:
                self._thumbs = Thumbs(
                    self._page_session,
                    words,
                    self.place,
                    self.box,
                    liked=self.liked,
                    rated=partial(self._draw_buttons, picture),
                )
            self._thumbs.add_to(row)
        row.draw()

    def _draw_copy_and_retry(self) -> None:
        """What a stored reply without a trace still offers."""
        self._add_copy()
        self._add_retry()
        self._buttons.draw()

    def _add_copy(self) -> None:
        self._buttons.icon("content_copy", self._words["chat.copy"], None, "thumb-like copy-reply", copied=self.text)

    def _add_retry(self) -> None:
        if self.retry is not None:
            self._buttons.icon("refresh", self._words["chat.retry"], self.retry)

    def label(self, *, needed: bool | None) -> None:
        """Show whether the user said that the reply needed a search."""
        self.needed = needed
        if self.picture is not None:
            self._draw_buttons(self.picture)

    def _summary(self, picture: TurnPicture) -> str:
        """One line: whether it is an answer, and where it comes from. Time and cost are details of the Why panel."""
        words = self._words
        doubt = {"no answer": words["worth.no_answer"], "nearest": words["worth.nearest"]}.get(picture.worth, "")
        if picture.plan is None or picture.plan.is_null:
            return words["chat.direct"]
        private = self._page_session.private_sources
        rests = [card.evidence for card in picture.cards if card.quoted and not card.is_gone]
        places = dict.fromkeys(
            words["chat.you"] if piece.source in private else piece.passage.origin.rpartition("/")[2] or piece.source
            for piece in rests
        )
        where = words["chat.from"].format(places=words["chat.and"].join(list(places)[:3])) if places else ""
        return " · ".join(part for part in (doubt, where) if part)

    async def _open_citation(self, event: GenericEventArguments) -> None:
        """Show the passage behind a number, with the quoted words marked."""
        cited = [one for one in self._citations if one.number == event.args]
        if cited:
            await self._read_more.open(cited, self.box, further=False)

    async def _open_more(self) -> None:
        """Show all that the reply cites, and what follows it in the documents."""
        await self._read_more.open(self._citations, self.box, further=True)
