"""Layout of the page: header, dialogues, chat and panels; on phones the panels are tabs at the bottom."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import Literal, TypeAlias
from urllib.parse import quote

from nicegui import background_tasks, ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.core.errors import DragomanError
from dragoman.server.data import chats, source_search
from dragoman.server.page.chat.panel import ChatPanel
from dragoman.server.page.chat_list import ChatList
from dragoman.server.page.documents.panel import SourcesPanel
from dragoman.server.page.elements import el, errors_shown, icon_button, notice, on, set_icon
from dragoman.server.page.memory import MemoryPanel
from dragoman.server.page.reply.card import ReplyCard
from dragoman.server.page.session import PageSession, consistency, makeup
from dragoman.server.page.shortcuts import ShortcutSheet
from dragoman.server.page.stored_runs.panel import RunsPanel
from dragoman.server.page.texts import LANGUAGES, WORDS_COOKIE, Language, words
from dragoman.server.page.why import WhyPanel

Look: TypeAlias = Literal["auto", "light", "dark"]
LOOKS: dict[Look, bool | None] = {"auto": None, "light": False, "dark": True}
_ICONS: dict[Look, str] = {"auto": "brightness_auto", "light": "light_mode", "dark": "dark_mode"}
TABS = {"chat": "chat", "why": "route", "memory": "person", "sources": "folder", "runs": "science"}
LOOK_COOKIE = "dragoman_look"
_KEPT = "path=/; max-age=31536000; samesite=lax"
_NARROW = "matchMedia('(max-width: 760px)').matches"
# Arrow keys move between tabs, as readers of screens expect of a tab list.
_ARROWS = """(event) => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (!step) return;
    const tabs = [...event.currentTarget.querySelectorAll("[role=tab]")].filter((tab) => tab.offsetParent);
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    event.preventDefault();
    next.focus();
    next.click();
}"""


class PageLayout:
    """One open page."""

    def __init__(self, page_session: PageSession, look: Look, *, can_leave: bool, has_runs: bool) -> None:
        self.page_session = page_session
        self._words = words(page_session.language)
        self._look: Look = look
        self._can_leave = can_leave
        self._tab_names = [name for name in TABS if name != "runs" or has_runs]
        self._tab = "chat"
        self._is_wide = False
        self._fresh: set[str] = set()
        self.chat = ChatPanel(
            page_session, self._words, select=self._selected, command=self._command, look=self._look_again
        )
        self.shortcuts = ShortcutSheet(self._words)
        self.why = WhyPanel(self._words)
        self.memory = MemoryPanel(page_session, self._words, forgotten=self._reload, emptied=self.begin)
        self.sources = SourcesPanel(page_session, self._words, changed=self._more_to_look_in)
        self.runs = RunsPanel(page_session, self._words)
        self.dialogues = ChatList(
            page_session, self._words, choose=self.choose, begin=self.begin, begin_private=self.begin_private
        )
        self.chat.changed = self._turned
        self.chat.open_sources = partial(self._open, "sources")
        self.chat.open_why = partial(self._open, "why")
        self.chat.open_memory = partial(self._open, "memory")
        self.chat.addressed = self._addressed
        self.chat.begin_anew = self.begin

    def build(self) -> None:
        """Create the elements; `fill` loads the content."""
        labels = self._words
        self._dark = ui.dark_mode(LOOKS[self._look])
        with el("div", classes="page at-chat") as self._root:
            on(self._root, "keydown.esc", self._escape)
            el("a", labels["skip"], "skip", href="#chat")
            with el("header", classes="top"):
                icon_button("menu", labels["dialogues"], self._toggle_dialogues, "menu")
                with el("div", classes="brand"):
                    ui.html(MARK, sanitize=False)
                    el("span", "Dragoman")
                self._agents()
                el("span", classes="spread")
                other: Language = "zh" if self.page_session.language == "en" else "en"
                language = LANGUAGES[other]
                change = el("button", language, "btn quiet", type="button", lang=other, aria_label=language)
                change.on("click", js_handler=_cookie(WORDS_COOKIE, other, reload=True))
                self._look_button = icon_button(_ICONS[self._look], labels["look"], self._change_look)
                self.shortcuts.build()
                if self._can_leave:
                    leave = el("a", labels["key.leave"], "btn quiet", href="leave")
                    leave.props["role"] = "button"
                    leave.on("click", js_handler="() => dragoman.clear()")
            on(el("div", classes="behind", aria_hidden="true"), "click", self._close_dialogues)
            with el("nav", classes="dialogues", aria_label=labels["dialogues"]) as side:
                self.dialogues.build(side)
            with el("section", classes="talk", id="chat", aria_label=labels["tab.chat"]):
                self.chat.build()
            with el("aside", classes="side"):
                self._build_tabs()
                self._panels = {
                    name: el("section", classes=f"panel {name}", role="tabpanel", aria_label=labels[f"tab.{name}"])
                    for name in self._tab_names
                    if name != "chat"
                }
            with el("div", classes="no-connection", role="status"):
                el("strong", labels["offline"])
                el("span", labels["offline.more"])
            with el("div", classes="drop-all", aria_hidden="true"):
                el("p", labels["sources.drop_all"])
        self.why.build(self._panels["why"])
        self.memory.build(self._panels["memory"])
        self.sources.build(self._panels["sources"])
        if "runs" in self._panels:
            self.runs.build(self._panels["runs"])
        self._mark()

    async def fill(self, dialogue: str | None) -> None:
        """Show a dialogue, or start a new one."""
        background_tasks.create(self._look_beside())
        with errors_shown(self._words):
            self.why.makeup = await self.page_session.do(makeup)
            if dialogue is None:
                self.chat.begin(await self.page_session.do(source_search.describe))
            elif not await self.chat.show(dialogue):
                self.chat.show_missing()
        self.chat.focus()
        await self.dialogues.refresh()

    async def _look_beside(self) -> None:
        """Find out whether the Why panel fits beside the chat; a rotated phone keeps showing the chat."""
        with suppress(TimeoutError), self._root.client:
            self._is_wide = not await ui.run_javascript(_NARROW, timeout=60.0)
            self._check(self.chat.selected)

    async def choose(self, dialogue: str) -> None:
        """Continue an earlier dialogue."""
        with errors_shown(self._words):
            if not await self.chat.show(dialogue):
                self.chat.show_missing()
        self._root.classes(remove="private")
        self._addressed(dialogue)
        self._root.classes(remove="listing")
        self.chat.focus()
        await self.dialogues.refresh()

    async def begin_private(self) -> None:
        """Start a private chat, of which nothing is stored."""
        await self.begin(private=True)

    async def begin(self, *, private: bool = False) -> None:
        """Start a new dialogue."""
        with errors_shown(self._words):
            agent = await self.page_session.do(source_search.describe)
            name = chats.private_chat() if private else chats.new_chat()
            self.chat.begin(agent, dialogue=name, private=private)
        self._root.classes(add="private" if private else "", remove="" if private else "private")
        self._addressed(None)
        self._root.classes(remove="listing")
        self.chat.focus()
        await self.dialogues.refresh()

    # What happens

    def _selected(self, answer: ReplyCard | None) -> None:
        if hasattr(self, "_panels"):
            self.why.show(answer)
            self._check(answer)

    def _check(self, answer: ReplyCard | None) -> None:
        """Have the critic score the evidence of the selected reply while the Why panel is open."""
        is_seen = self._tab == "why" or (self._tab == "chat" and self._is_wide)
        if answer is None or answer.reply is None or answer.checked is not None or not is_seen:
            return
        pieces = self.why.unread(answer)
        answer.checked = {}
        if not pieces:
            return

        async def check() -> None:
            with suppress(DragomanError):  # the panel is complete without it
                answer.checked = await self.page_session.do(consistency, pieces, answer.text)
                if not self._root.is_deleted and self.chat.selected is answer:
                    self.why.complete(answer)

        background_tasks.create(check())

    async def _turned(self) -> None:
        self._addressed(None if self.page_session.is_private else self.page_session.dialogue)
        self._fresh.discard("memory")
        if self._tab == "memory":
            await self._refresh("memory")
        elif "sources" in self._fresh:
            await self.sources.recount()
        await self.dialogues.refresh()

    async def _look_again(self) -> None:
        """The tab is visible again: show what other tabs have changed meanwhile."""
        await self.chat.catch_up()
        await self.dialogues.refresh()

    async def _reload(self) -> None:
        """Reload the dialogue after a fact was deleted, which may blank turns; a private one is not stored."""
        if self.page_session.is_private:
            return
        with errors_shown(self._words):
            if not await self.chat.show(self.page_session.dialogue):
                self.chat.begin(await self.page_session.do(source_search.describe))
        await self.dialogues.refresh()

    async def _more_to_look_in(self) -> None:
        self.why.makeup = await self.page_session.do(makeup)

    async def _command(self, name: str) -> None:
        """Carry out a slash command."""
        match name:
            case "new":
                await self.begin()
            case "private":
                await self.begin(private=not self.page_session.is_private)
            case "search" | "nosearch":
                await self._search_command(name)
            case "why" | "memory":
                await self._open_tab(name)
            case "documents":
                await self._open_tab("sources")
            case "export":
                await self.dialogues.export(self.page_session.dialogue, "markdown")

    async def _search_command(self, name: str) -> None:
        """Search for the last question after all, or say that the last reply needed no search."""
        answer = self.chat.last_reply
        if answer is None or answer.reply is None:
            notice(self._words["command.first"])
        elif name == "search" and not answer.reply.verdict.retrieve:
            await self.chat.search_after_all(answer)
        elif name == "nosearch" and answer.reply.verdict.retrieve:
            await self.chat.search_not_needed(answer)
        else:
            notice(self._words["command.searched" if name == "search" else "command.unsearched"])

    def _escape(self) -> None:
        if self.chat.is_running:
            self.chat.stop()
        self._close_dialogues()

    # Around it

    def _agents(self) -> None:
        names = list(self.page_session.service.agents)
        if len(names) > 1:
            with el("div", role="group", aria_label=self._words["agent"], title=self._words["agent"]):
                select = ui.select(
                    names, value=self.page_session.agent, on_change=lambda event: self._go_to(str(event.value))
                )
                select.props("borderless dense options-dense").classes("agents")
        else:
            el("span", self.page_session.agent, "muted")

    def _go_to(self, agent: str) -> None:
        ui.run_javascript(f"location.search = {json.dumps('?agent=' + quote(agent))}")

    def _build_tabs(self) -> None:
        tabs = el("div", classes="tabs", role="tablist", aria_label=self._words["tabs"])
        tabs.on("keydown", js_handler=_ARROWS)
        self._tabs: dict[str, TextElement] = {}
        with tabs:
            for name in self._tab_names:
                icon = TABS[name]
                tab = el("button", "", f"tab {name}", type="button", role="tab")
                with tab:
                    ui.icon(icon).props("aria-hidden=true")
                    el("span", self._words[f"tab.{name}"])
                on(tab, "click", partial(self._open_tab, name))
                self._tabs[name] = tab

    def _open(self, name: str) -> None:
        self._tab = name
        self._mark()
        self._check(self.chat.selected)
        if name in ("memory", "sources", "runs"):
            ui.timer(0, lambda: self._refresh(name), once=True)

    async def _open_tab(self, name: str) -> None:
        self._tab = name
        self._mark()
        self._check(self.chat.selected)
        await self._refresh(name)

    async def _refresh(self, name: str) -> None:
        panels: dict[str, MemoryPanel | SourcesPanel | RunsPanel] = {
            "memory": self.memory,
            "sources": self.sources,
            "runs": self.runs,
        }
        panel = panels.get(name)
        if panel is not None and (name == "memory" or name not in self._fresh) and await panel.refresh():
            self._fresh.add(name)

    def _mark(self) -> None:
        """Mark the open panel; on wide screens the chat is always visible and has no tab."""
        self._root.classes(remove=" ".join(f"at-{name}" for name in TABS), add=f"at-{self._tab}")
        for name, tab in self._tabs.items():
            tab.props["aria-selected"] = "true" if name == self._tab else "false"
            tab.props["tabindex"] = "0" if name == self._tab or (self._tab == "chat" and name == "why") else "-1"

    def _toggle_dialogues(self) -> None:
        self._root.classes(toggle="listing")

    def _close_dialogues(self) -> None:
        self._root.classes(remove="listing")

    def _change_look(self) -> None:
        order = list(LOOKS)
        self._look = order[(order.index(self._look) + 1) % len(order)]
        self._dark.set_value(LOOKS[self._look])
        label = f"{self._words['look']}: {self._words[f'look.{self._look}']}"
        self._look_button.props["aria-label"] = self._look_button.props["title"] = label
        set_icon(self._look_button, _ICONS[self._look])
        ui.run_javascript(f"({_cookie(LOOK_COOKIE, self._look)})()")

    def _addressed(self, dialogue: str | None) -> None:
        """Put the dialogue into the address, so that a reload continues it."""
        query = f"?agent={quote(self.page_session.agent)}" + (f"&dialogue={quote(dialogue)}" if dialogue else "")
        ui.run_javascript(f"history.replaceState(null, '', {json.dumps(query)})")


MARK = (
    '<svg class="mark" viewBox="0 0 24 24" aria-hidden="true">'
    '<path d="M4 6.5A2.5 2.5 0 0 1 6.5 4h7A2.5 2.5 0 0 1 16 6.5v3A2.5 2.5 0 0 1 13.5 12H9l-5 4z" fill="currentColor"/>'
    '<path d="M18.5 9A1.5 1.5 0 0 1 20 10.5V20l-4-3h-5.5A1.5 1.5 0 0 1 9 15.5V15l1.2-1H15a3 3 0 0 0 3-3z" '
    'fill="currentColor" opacity=".55"/></svg>'
)
"""Two bubbles, for one who stands between two who speak."""


def _cookie(name: str, value: str, *, reload: bool = False) -> str:
    return f"() => {{ document.cookie = '{name}={value}; {_KEPT}';{' location.reload();' if reload else ''} }}"
