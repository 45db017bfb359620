"""The Memory panel: see, add, edit, delete and export facts about the user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import date
from functools import partial

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.server.data import learned_facts, user_data
from dragoman.server.data.fact_groups import USER, ListedFact, grouped_facts
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.views import json_pieces
from dragoman.server.page.elements import (
    Latest,
    Phrases,
    button,
    el,
    empty,
    errors_shown,
    heading,
    icon_button,
    loading,
    notice,
    on,
    undo_toast,
)
from dragoman.server.page.memory_import import MemoryImport
from dragoman.server.page.session import PageSession

_UNDO_SECONDS = 20.0
_ZONE = "Intl.DateTimeFormat().resolvedOptions().timeZone"


class MemoryPanel:
    """The Memory panel. Calls `forgotten` when a fact was deleted and `emptied` when everything was."""

    def __init__(
        self,
        page_session: PageSession,
        words: Phrases,
        *,
        forgotten: Callable[[], Awaitable[None]],
        emptied: Callable[[], Awaitable[None]],
    ) -> None:
        self._page_session, self._words = page_session, words
        self._forgotten, self._emptied = forgotten, emptied
        self._latest = Latest()
        self._edited: TextElement | None = None

    def build(self, into: TextElement) -> None:
        words = self._words
        with into:
            heading(words["memory.title"])
            self._list = el("div", classes="facts")
            loading(self._list, words)
            with el("div", classes="card add"):
                self._new = ui.input(placeholder=words["memory.hint"]).props("borderless dense")
                self._new.props["aria-label"] = words["memory.add"]
                on(self._new, "keydown.enter", self._add)
                icon_button("add", words["memory.add"], self._add)
            with el("div", classes="row wrap"):
                button(words["memory.export"], self._export, "outline")
                self._import = MemoryImport(self._page_session, words, changed=self.refresh)
                button(words["import.title"], self._import.open, "outline")
                button(words["memory.everything"], self._ask, "outline danger")
            self._import.build()
            with el("p", classes="muted note zone"):
                self._zone = el("span")
                button(words["memory.zone"], self._use_zone, "link")
            with (
                ui.dialog() as self._sure,
                el("div", classes="dialog", role="alertdialog", aria_label=words["memory.sure"]),
            ):
                heading(words["memory.sure"], level=2)
                self._erasure = el("p", "")
                with el("div", classes="row end"):
                    button(words["cancel"], self._sure.close, "quiet")
                    button(words["memory.sure_yes"], self._everything, "danger filled")

    async def refresh(self) -> bool:
        """Reload the facts, unless one is being edited; whether they are shown."""
        is_latest = self._latest.begin()
        with errors_shown(self._words):
            groups = await self._page_session.do(grouped_facts)
            wishes = await self._page_session.do(user_data.wishes)
            zone = await self._page_session.do(user_data.time_zone)
            if not is_latest() or (self._edited is not None and not self._edited.is_deleted):
                return True
            self._zone.set_text(self._words["memory.zone_is"].format(zone=zone or self._words["memory.zone_unset"]))
            self._list.clear()
            with self._list:
                if not groups and not wishes:
                    empty("person_outline", self._words["memory.empty"], self._words["memory.empty_more"])
                elif groups:
                    el("p", self._words["memory.about"], "muted note")
                for group in groups:
                    if len(groups) > 1 or group.subject != USER:
                        heading(self._words["memory.you"] if group.subject == USER else group.title)
                    for fact in group.facts:
                        self._fact(fact)
                if wishes:
                    heading(self._words["memory.wishes"])
                    el("p", self._words["memory.wishes_about"], "muted note")
                for wish in wishes:
                    with el("article", classes="card fact"), el("div", classes="row"):
                        el("p", str(wish["text"]), "grow")
                        label = self._words["memory.end_wish"].format(wish=wish["text"])
                        icon_button("delete", label, partial(self._end_wish, str(wish["id"])))
            return True
        return False

    def _fact(self, fact: ListedFact) -> None:
        words = self._words
        with el("article", classes="card fact") as card:
            with el("div", classes="row"):
                el("p", fact.text, "grow")
                icon_button("edit", words["memory.correct"], lambda: self._edit(card, fact))
                icon_button("delete", words["memory.forget"], lambda: self._forget(fact.id))
            day = _day_text(fact.said_on, words) if fact.said_on else ""
            sentence = "" if fact.said.strip() == fact.text.strip() else fact.said
            if sentence or day:
                with el("p", classes="muted said"):
                    if sentence:
                        el("span", words["memory.said"].format(day=day) if day else words["memory.said_undated"])
                        el("q", sentence)
                    else:
                        el("span", day)
            for earlier in fact.earlier:
                el("p", words["memory.earlier"].format(fact=earlier), "muted said")

    def _edit(self, card: TextElement, fact: ListedFact) -> None:
        """Turn a fact into a text field; Enter saves, Esc cancels."""
        words = self._words
        self._edited = card
        card.clear()
        with card:
            field = ui.input(value=fact.text).props("outlined dense autofocus")
            field.props["aria-label"] = words["memory.correct"]

            async def save() -> None:
                self._edited = None
                await self._correct(fact.id, str(field.value or ""), fact.text)

            async def cancel() -> None:
                self._edited = None
                await self.refresh()

            on(field, "keydown.enter", save)
            on(field, "keydown.esc", cancel)
            with el("div", classes="row end"):
                button(words["cancel"], cancel, "quiet")
                button(words["save"], save, "primary")

    async def _correct(self, id: str, text: str, before: str) -> None:
        text = text.strip()
        if text and text != before:
            with errors_shown(self._words):
                changed = await self._page_session.forgetting(user_data.correct, id, text)
                undo = partial(self._take_back, [str(row["id"]) for row in changed.get("added", ())], before)
                undo_toast(self._words["memory.corrected"], self._words["undo"], undo, seconds=_UNDO_SECONDS)
        await self.refresh()

    async def _take_back(self, added: list[str], before: str) -> None:
        """Undo a correction: delete the new fact, and add the earlier one again where it was deleted."""
        with errors_shown(self._words):
            await self._page_session.forgetting(restore_correction, added, before)
            notice(self._words["memory.back"])
        await self.refresh()

    async def _forget(self, id: str) -> None:
        with errors_shown(self._words):
            await self._page_session.forgetting(user_data.forget, id)
            undo_toast(self._words["memory.forgot"], self._words["undo"], self._undo, seconds=_UNDO_SECONDS)
        await self.refresh()
        await self._forgotten()

    async def _end_wish(self, id: str) -> None:
        with errors_shown(self._words):
            await self._page_session.do(user_data.end_wish, id)
            notice(self._words["memory.wish_ended"])
        await self.refresh()

    async def _use_zone(self) -> None:
        """Take the time zone of the browser for the user's days."""
        with errors_shown(self._words):
            zone = str(await ui.run_javascript(_ZONE, timeout=60.0))
            await self._page_session.do(user_data.set_time_zone, zone)
            notice(self._words["memory.zone_is"].format(zone=zone))
        await self.refresh()

    async def _undo(self) -> None:
        with errors_shown(self._words):
            if await self._page_session.forgetting(_restore):
                notice(self._words["memory.back"])
        await self.refresh()

    async def _add(self) -> None:
        text = str(self._new.value or "").strip()
        if not text:
            return
        with errors_shown(self._words):
            learned = await self._page_session.do(user_data.remember, text)
            self._new.set_value("")
            is_new = learned.get("added") or learned.get("wishes")
            message = "memory.remembered" if is_new else "memory.known"
            notice(self._words[message])
        await self.refresh()

    async def _export(self) -> None:
        with errors_shown(self._words):
            everything = await self._page_session.do(export_file)
            ui.download.content(everything, "dragoman-memory.json", "application/json")

    async def _ask(self) -> None:
        """Ask for confirmation to delete everything, with counts."""
        with errors_shown(self._words):
            erasure = await self._page_session.do(user_data.erasure)
            counts = {"facts": erasure.facts, "chats": erasure.chats, "files": erasure.files}
            named = {
                name: self._words[f"memory.{name.removesuffix('s') if count == 1 else name}"].format(count=f"{count:,}")
                for name, count in counts.items()
            }
            self._erasure.set_text(self._words["memory.sure_more"].format(**named))
            self._sure.open()

    async def _everything(self) -> None:
        self._sure.close()
        with errors_shown(self._words):
            await self._page_session.forget_everything()
            notice(self._words["memory.all_gone"])
        await self.refresh()
        await self._emptied()


def _day_text(day: date, words: Phrases) -> str:
    month = words["memory.months"].split()[day.month - 1]
    return words["memory.day"].format(day=day.day, month=month, year=day.year)


def restore_correction(seat: Seat, added: Sequence[str], before: str) -> None:
    """Remove the facts that a correction added, and keep the earlier one again."""
    learned_facts.retract(seat, added)
    if before not in {row.text for row in seat.assistant.recall(user=seat.user)}:
        seat.assistant.remember(before, user=seat.user)


def export_file(seat: Seat) -> bytes:
    """Everything stored about the user, as JSON."""
    return b"".join(json_pieces(user_data.export(seat)))


def _restore(seat: Seat) -> bool:
    """Restore the fact that was deleted last; whether there was one."""
    return bool(seat.assistant.undo_forget(user=seat.user))
