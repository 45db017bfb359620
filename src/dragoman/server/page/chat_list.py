"""The list of chats: search, groups by date, rename, pin, export, and delete with undo."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Literal

from nicegui import background_tasks, ui
from nicegui.elements.mixins.text_element import TextElement
from nicegui.events import GenericEventArguments

from dragoman.core.errors import DragomanError
from dragoman.server.data import chats
from dragoman.server.data.chats import ChatRow
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.views import json_pieces
from dragoman.server.page.elements import (
    UNDO_SECONDS,
    Latest,
    Phrases,
    button,
    el,
    errors_shown,
    heading,
    icon_button,
    notice,
    on,
    set_hidden,
    undo_toast,
)
from dragoman.server.page.reply.shared_file import shared_html
from dragoman.server.page.session import PageSession

_AT_ONCE = 40
# The list hears the clicks on its entries: an entry that is drawn anew while it is clicked would not.
_CLICKED = """(event) => {
    const entry = event.target.closest("[data-chat]");
    if (entry) emit(entry.dataset.chat);
}"""
GROUPS = ("pinned", "today", "yesterday", "week", "older", "programs")


def group_of(row: ChatRow, now: datetime) -> str:
    """The group of a chat: pinned, by the day it began, or that of other programs."""
    if row.pinned:
        return "pinned"
    if row.origin != "page":
        return "programs"
    if row.began is None:
        return "older"
    days = (now.date() - row.began.astimezone(now.tzinfo).date()).days
    return "today" if days <= 0 else "yesterday" if days == 1 else "week" if days <= 7 else "older"


class ChatEntry:
    """One chat of the list, with its menu."""

    def __init__(self, words: Phrases, chat_list: ChatList) -> None:
        self._words, self._chat_list = words, chat_list
        self._row: ChatRow
        self.box: TextElement
        self.is_edited = False
        self._shown: tuple[ChatRow, bool] | None = None

    def build(self, row: ChatRow) -> None:
        """Create the elements; `show` fills them."""
        self._row = row
        with el("div", classes="entry") as self.box:
            self._build_inside()

    def _build_inside(self) -> None:
        with el("button", "", "btn item", type="button", data_chat=self._row.id) as self._item:
            self._title = el("span", "", "title")
        self._snippet: TextElement | None = None
        name, chat_list = self._row.id, self._chat_list
        self._menu_button = icon_button("more_horiz", "", lambda: None, "small")
        with self._menu_button, ui.menu().props("auto-close"):
            self._item_of("dialogues.rename", self._rename)
            self._pin = self._item_of("dialogues.pin", lambda: chat_list.pin(name, pinned=not self._row.pinned))
            self._item_of("dialogues.share", partial(chat_list.share, name))
            self._item_of("dialogues.markdown", partial(chat_list.export, name, "markdown"))
            self._item_of("dialogues.json", partial(chat_list.export, name, "json"))
            self._item_of("dialogues.delete", lambda: chat_list.delete(self._row))

    def _item_of(self, key: str, action: Callable[[], object]) -> TextElement:
        with ui.menu_item(on_click=action).props("role=menuitem"):
            return el("span", self._words[key])

    def show(self, row: ChatRow, *, is_open: bool) -> None:
        """Show what is known of the chat now; `is_open` marks the one beside the list."""
        self._row = row
        if self.is_edited or self._shown == (row, is_open):
            return
        self._shown = row, is_open
        title = self._words["chat.forgotten"] if row.is_blank else row.title
        label = self._words["dialogues.menu"].format(title=title)
        self._title.set_text(title)
        if self._snippet is not None:
            self._snippet.delete()
            self._snippet = None
        if row.snippet:
            with self._item:
                self._snippet = el("span", row.snippet, "snippet muted")
        self._pin.set_text(self._words["dialogues.unpin" if row.pinned else "dialogues.pin"])
        self._item.props["title"] = title
        self._item.props["aria-current"] = str(is_open).lower()
        self._menu_button.props["aria-label"] = self._menu_button.props["title"] = label

    def _rename(self) -> None:
        """Turn the entry into a field; Enter saves, Esc cancels."""
        self.is_edited = True
        title = self._title.text
        self.box.clear()
        with self.box:
            field = ui.input(value=title).props("outlined dense autofocus")
            field.props["aria-label"] = self._words["dialogues.rename"]

            async def save() -> None:
                await self._chat_list.rename(self._row.id, str(field.value or ""))
                await end()

            async def end() -> None:
                self.is_edited, self._shown = False, None
                self.box.clear()
                with self.box:
                    self._build_inside()
                await self._chat_list.refresh()

            on(field, "keydown.enter", save)
            on(field, "keydown.esc", end)


class ChatList:
    """The list at the left edge, behind a menu button on narrow screens.

    Entries change in place: a menu that is open, or a title that is being typed, stays.
    """

    def __init__(
        self,
        page_session: PageSession,
        words: Phrases,
        *,
        choose: Callable[[str], Awaitable[None]],
        begin: Callable[[], Awaitable[None]],
        begin_private: Callable[[], Awaitable[None]],
    ) -> None:
        self._page_session, self._words = page_session, words
        self._choose, self._begin, self._begin_private = choose, begin, begin_private
        self._shown = _AT_ONCE
        self._deleting: set[str] = set()
        self._entries: dict[str, ChatEntry] = {}
        self._latest = Latest()
        self._tab_name = "Dragoman"

    def build(self, into: TextElement) -> None:
        words = self._words
        with into:
            with el("div", classes="row begin"):
                with button("", self._begin, "outline new", aria_label=words["dialogues.new"]):
                    ui.icon("add").props("aria-hidden=true")
                    el("span", words["dialogues.new"])
                icon_button("visibility_off", words["private.new"], self._begin_private, "outline begin-private")
            self._query = ui.input(placeholder=words["dialogues.search"]).props("borderless dense clearable")
            self._query.classes("chat-search").props["aria-label"] = words["dialogues.search"]
            self._query.on("update:model-value", lambda _: self.refresh(), throttle=0.25, leading_events=False)
            self._list = el("div", classes="list")
            with self._list:
                self._note = el("p", words["loading"], "muted", role="status")
                self._groups = {name: self._group(name) for name in GROUPS}
                self._more_button = button(words["dialogues.more"], self._more, "link")
                set_hidden(self._more_button, hidden=True)
            self._list.on("click", self._clicked, js_handler=_CLICKED)

    def _group(self, name: str) -> tuple[TextElement, TextElement]:
        """The section of a group, hidden while it is empty, and the element that holds its entries."""
        if name == "programs":
            with el("details", classes="more programs", hidden=True) as section:
                self._summary = el("summary", "")
                return section, el("div")
        with el("div", hidden=True) as section:
            heading(self._words[f"dialogues.{name}"])
            return section, el("div")

    async def refresh(self) -> None:
        """Reload the list."""
        words, query = self._words, str(self._query.value or "").strip()
        is_latest = self._latest.begin()
        with errors_shown(words):
            rows, more = await self._page_session.do(chats.chats, query=query, limit=self._shown)
            if not is_latest() or self._list.is_deleted:
                return
            visible = [row for row in rows if self._deleting.isdisjoint(row.versions)]
            self._note.set_text("" if visible else words["dialogues.unmatched" if query else "dialogues.none"])
            set_hidden(self._more_button, hidden=not more)
            self._arrange(visible, searching=bool(query))
            self._name_tab(visible)

    def _name_tab(self, rows: list[ChatRow]) -> None:
        """Show the title of the open chat on the browser's tab: several may be open."""
        titles = [row.title for row in rows if self._page_session.dialogue in row.versions and row.title]
        name = " · ".join([*titles[:1], "Dragoman"])
        if name != self._tab_name:
            self._tab_name = name
            self._list.client.run_javascript(f"document.title = {json.dumps(name)}")

    def _arrange(self, rows: list[ChatRow], *, searching: bool) -> None:
        """Show rows in their groups; entries that are there already stay as they are."""
        for name in self._entries.keys() - {row.id for row in rows}:
            if not self._entries[name].is_edited:
                self._entries.pop(name).box.delete()
        now = datetime.now(UTC).astimezone()
        grouped: dict[str, list[ChatRow]] = {name: [] for name in GROUPS}
        for row in rows:
            grouped[group_of(row, now)].append(row)
        for name, members in grouped.items():
            section, box = self._groups[name]
            set_hidden(section, hidden=not members)
            for place, row in enumerate(members):
                if row.id not in self._entries:
                    self._entries[row.id] = ChatEntry(self._words, self)
                    with box:
                        self._entries[row.id].build(row)
                self._entries[row.id].show(row, is_open=self._page_session.dialogue in row.versions)
                entry = self._entries[row.id].box
                if place >= len(box.default_slot.children) or box.default_slot.children[place] is not entry:
                    entry.move(box, place)
        programs = grouped["programs"]
        self._summary.set_text(f"{self._words['dialogues.programs']} ({len(programs)})")
        if searching or any(self._page_session.dialogue in row.versions for row in programs):
            self._groups["programs"][0].props["open"] = True

    async def pin(self, name: str, *, pinned: bool) -> None:
        """Pin a chat, or unpin it."""
        with errors_shown(self._words):
            await self._page_session.do(chats.pin, name, pinned=pinned)
        await self.refresh()

    async def rename(self, name: str, title: str) -> None:
        """Give a chat a title; an empty one brings its first words back."""
        with errors_shown(self._words):
            await self._page_session.do(chats.rename, name, title)

    async def share(self, name: str) -> None:
        """Download a chat as a file that others can read in any browser."""
        with errors_shown(self._words):
            lang = "zh-CN" if self._page_session.language == "zh" else "en"
            text = await self._page_session.do(shared_html, name, self._words, lang=lang)
            ui.download.content(text.encode(), "chat.html", "text/html")

    async def export(self, name: str, form: Literal["markdown", "json"]) -> None:
        """Download a chat as a file."""
        with errors_shown(self._words):
            if form == "markdown":
                words = self._words
                text = await self._page_session.do(
                    chats.export_markdown, name, you=words["share.you"], fact=words["why.fact"]
                )
                ui.download.content(text.encode(), "chat.md", "text/markdown")
            else:
                export = await self._page_session.do(chat_file, name)
                ui.download.content(export, "chat.json", "application/json")

    async def delete(self, row: ChatRow) -> None:
        """Hide a chat, and delete it with all its versions unless the user undoes it within a few seconds."""
        words, shown = self._words, self._page_session.dialogue
        is_shown = shown in row.versions
        undo = partial(self._undo, row, shown if is_shown else "")
        undo_toast(words["dialogues.deleted"], words["undo"], undo, seconds=UNDO_SECONDS)
        self._deleting.update(row.versions)
        background_tasks.create(self._delete_soon(row))
        if is_shown:
            await self._begin()
        else:
            await self.refresh()

    async def _delete_soon(self, row: ChatRow) -> None:
        """Delete a chat when its time to undo is over, whether or not the page is still open."""
        await asyncio.sleep(UNDO_SECONDS)
        if row.id not in self._deleting:
            return
        for name in row.versions:
            try:
                await self._page_session.forget_dialogue(name)
            except DragomanError as error:
                if not self._list.is_deleted:
                    with self._list.client:
                        notice(f"{self._words['error']} {error.message}")
        self._deleting.difference_update(row.versions)

    async def _undo(self, row: ChatRow, shown: str) -> None:
        """Keep a chat after all, and show it again if it was shown."""
        if row.id not in self._deleting:
            return
        self._deleting.difference_update(row.versions)
        if shown:
            await self._choose(shown)
        else:
            await self.refresh()

    async def _clicked(self, event: GenericEventArguments) -> None:
        with self._list.client:
            await self._choose(str(event.args))

    async def _more(self) -> None:
        self._shown += _AT_ONCE
        await self.refresh()


def chat_file(seat: Seat, name: str) -> bytes:
    """A chat with its explanations, as JSON."""
    return b"".join(json_pieces(chats.export_json(seat, name)))
