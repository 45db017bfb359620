"""Import of memories on the page: choose a file, see what would be kept, keep it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import events, ui

from dragoman.server.data import user_data
from dragoman.server.page.elements import Phrases, button, el, errors_shown, heading, notice
from dragoman.server.page.session import PageSession

MOST_BYTES = 32 << 20
_SHOWN = 100


class MemoryImport:
    """A dialog that imports facts from a file; calls `changed` when facts were kept."""

    def __init__(self, page_session: PageSession, words: Phrases, *, changed: Callable[[], Awaitable[object]]) -> None:
        self._page_session, self._words, self._changed = page_session, words, changed

    def build(self) -> None:
        words = self._words
        with ui.dialog() as self._dialog, el("div", classes="dialog", role="dialog", aria_label=words["import.title"]):
            heading(words["import.title"], level=2)
            el("p", words["import.about"], "muted")
            self._upload = (
                ui.upload(
                    auto_upload=True,
                    max_file_size=MOST_BYTES,
                    on_upload=self._preview,
                    on_rejected=lambda: notice(words["import.large"]),
                )
                .props("accept=.json,.md,.txt")
                .classes("unseen")
            )
            choose = el("button", words["import.choose"], "btn outline choose", type="button")
            choose.on("click", js_handler=f"() => getElement({self._upload.id}).$refs.qRef.pickFiles()")
            self._found = el("div", classes="facts imported", aria_live="polite")
            with el("div", classes="row end") as self._buttons:
                button(words["cancel"], self._dialog.close, "quiet")

    def open(self) -> None:
        """Open the dialog, empty."""
        self._upload.reset()
        self._found.clear()
        self._dialog.open()

    async def _preview(self, event: events.UploadEventArguments) -> None:
        """Show what the file would add."""
        words = self._words
        text = (await event.file.read()).decode("utf-8-sig", "replace")
        self._found.clear()
        with errors_shown(words):
            plan = await self._page_session.do(user_data.import_memory, text, dry_run=True)
            new = [row for row in plan["facts"] if row["fate"] != "known"]
            duplicates = len(plan["facts"]) - len(new)
            with self._found:
                el("p", words["import.found"].format(kept=len(new), known=duplicates, left=plan["left_out"]))
                for row in new[:_SHOWN]:
                    day = f" ({row['said_at'][:10]})" if row["said_at"] else ""
                    el("p", f"{row['text']}{day}", "card said")
                if new:
                    button(words["import.keep"].format(count=len(new)), partial(self._keep, text), "primary")

    async def _keep(self, text: str) -> None:
        with errors_shown(self._words):
            plan = await self._page_session.do(user_data.import_memory, text)
            count = sum(row["fate"] != "known" for row in plan["facts"])
            notice(self._words["import.done"].format(count=count))
            self._dialog.close()
        await self._changed()
