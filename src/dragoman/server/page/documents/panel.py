"""The Sources panel: counts, uploads and a test search."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import islice
from tempfile import TemporaryFile
from time import perf_counter

from nicegui import events, ui
from nicegui.elements.mixins.text_element import TextElement
from nicegui.elements.upload_files import FileUpload

from dragoman.core.errors import DragomanError
from dragoman.core.values import Evidence, Passage, Source
from dragoman.server.data import source_search, uploads
from dragoman.server.data.uploads import MOST_BYTES, Upload
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.views import View
from dragoman.server.page.elements import (
    Phrases,
    button,
    el,
    error_text,
    errors_shown,
    evidence_card,
    heading,
    icon_button,
    loading,
    notice,
    on,
    on_detail,
    source_label,
)
from dragoman.server.page.session import PageSession
from dragoman.server.page.turn_view import Card
from dragoman.sources.files import readers
from dragoman.sources.ingest import IngestReport
from dragoman.sources.upload_folders import FOLDER

_FOUND = 5
_PREVIEWED = 30
_MOST_LINES = 500
_MOST_READING = 10
_LULL, _OFTEN = 0.5, 0.3
"""Seconds without another file after which an upload is over, and between two pictures of its progress."""
_MOST_FILES = 100
"""Files that are listed at first: every line makes the page slower."""
_WEAK = 0.1
"""Below this relevance, what is nearest is far."""
# NiceGUI keeps of a file's name what follows the last slash; this one it lets pass, and no keyboard types it.
_SLASH = "∕"
_KINDS = "|".join(sorted(suffix[1:] for suffix in readers() if suffix))
# A chosen folder gives every file its path. Hidden files and kinds that nobody reads are left out before they are sent.
_FILTER = f"""(files) => files.filter((file) => {{
    const path = file.webkitRelativePath || file.name;
    if (path.includes("/")) Object.defineProperty(file, "name", {{value: path.replaceAll("/", "{_SLASH}")}});
    const isHidden = path.split("/").some((part) => part.startsWith("."));
    const isRead = !isHidden && /\\.({_KINDS})$/i.test(path);
    if (!isRead && !isHidden) {{
        document.querySelector(".drop")?.dispatchEvent(new CustomEvent("skipped", {{detail: path}}));
    }}
    return isRead;
}})"""
_PICK = "() => dragoman.pick(%s)"
# What is dropped may be a folder: `page.js` gathers its files, each with its path, for the uploader.
_DROP = """(event) => {
    event.preventDefault();
    event.stopPropagation();
    event.currentTarget.classList.remove("over");
    dragoman.gather(event.dataTransfer).then(dragoman.add);
}"""
# Some files, however they were chosen. The next ones come when these are sent, or if none of these is. An uploader that
# was drawn just now does not know its whole address yet: it is told to find it first.
_FILES = """(event) => {
    const upload = getElement(%d);
    upload.compute_url();
    upload.$nextTick(() => {
        const uploader = upload.$refs.qRef;
        uploader.addFiles(event.detail);
        setTimeout(() => uploader.isUploading || dragoman.feed(), 200);
    });
}"""
_SENT = "() => { getElement(%d).$refs.qRef.reset(); dragoman.feed(); }"
# Files that the filter left out have a line already.
_REFUSED = """(entries) => {
    const names = entries.filter((entry) => entry.failedPropValidation !== "filter").map((entry) => entry.file.name);
    if (names.length) emit(names);
}"""
_NOT_SENT = "(info) => emit(info.files.map((file) => file.name))"
_OVER = """(event) => { event.preventDefault(); event.currentTarget.classList.add("over"); }"""
_AWAY = """(event) => {
    if (!event.currentTarget.contains(event.relatedTarget)) event.currentTarget.classList.remove("over");
}"""


class SourcesPanel:
    """The Sources panel. Calls `changed` when documents were added or deleted."""

    def __init__(self, page_session: PageSession, words: Phrases, *, changed: Callable[[], Awaitable[None]]) -> None:
        self._page_session, self._words, self._changed = page_session, words, changed
        self._target = ""
        self._came, self._files, self._passages, self._pending = 0, 0, 0, 0
        self._is_done, self._drawn = True, 0.0
        self._lines: dict[str, TextElement] = {}
        self._read: dict[str, str] = {}

    def build(self, into: TextElement) -> None:
        words = self._words
        with into:
            heading(words["sources.title"])
            self._list = el("div", classes="sources")
            loading(self._list, words)
            self._adding = el("div", classes="adding")
            heading(words["sources.search"])
            with el("div", classes="card add"):
                self._query = ui.input(placeholder=words["sources.query"]).props("borderless dense")
                self._query.props["aria-label"] = words["sources.query"]
                on(self._query, "keydown.enter", self._search)
                self._where = ui.select([], label=None).props("borderless dense options-dense")
                self._where.props["aria-label"] = words["sources.in"]
                icon_button("search", words["sources.go"], self._search)
            self._found = el("div", classes="found", aria_live="polite")

    async def refresh(self) -> None:
        """Reload the sources, with an upload area for writable ones."""
        words = self._words
        with errors_shown(words):
            rows = await self._page_session.do(source_search.sources)
            self._show(rows)
            names = [str(row["name"]) for row in rows]
            best = max(rows, key=lambda row: int(row["passages"]), default=None)
            where = self._where.value if self._where.value in names else best and str(best["name"])
            self._where.set_options({name: source_label(name) for name in names}, value=where)
            writable = [str(row["name"]) for row in rows if row["writable"]]
            if self._target not in writable:
                private = [str(row["name"]) for row in rows if row["writable"] and row["private"]]
                self._target = (private or writable or [""])[-1]  # a folder of one's own, unless there is none
                self._offer(writable)
            await self._refresh_files()

    def _show(self, rows: Sequence[View]) -> None:
        words = self._words
        self._list.clear()
        with self._list:
            for row in rows:
                with el("article", classes="card source"):
                    with el("div", classes="row"):
                        el("span", source_label(str(row["name"])), "name")
                        el("span", words["sources.private" if row["private"] else "sources.shared"], "tag")
                        el("span", classes="spread")
                        unit = "fact" if row["about"] == "user" and row["private"] else "passage"
                        el("span", _count(words, int(row["passages"]), unit), "figure")
                    if row["description"]:
                        el("p", str(row["description"]), "muted")
                    if row["needs"]:
                        el(
                            "p",
                            words["sources.needs"].format(names=", ".join(map(source_label, row["needs"]))),
                            "muted",
                        )

    def _offer(self, writable: list[str]) -> None:
        """The upload area."""
        words = self._words
        self._adding.clear()
        with self._adding:
            heading(words["sources.add"])
            if not writable:
                el("p", words["sources.none_writable"], "muted")
                return
            if len(writable) > 1:
                into = ui.select(
                    {name: source_label(name) for name in writable},
                    value=self._target,
                    label=words["sources.into"],
                    on_change=self._aim,
                )
                into.props("outlined dense options-dense")
            with el("div", classes="drop") as drop:
                ui.icon("o_upload_file").props("aria-hidden=true")
                el("p", words["sources.drop"])
                el("p", words["sources.kinds"], "muted")
                with el("div", classes="row middle"):
                    for label, folder in (("sources.choose_files", "false"), ("sources.choose_folder", "true")):
                        pick = el("button", words[label], "btn outline", type="button")
                        pick.on("click", js_handler=_PICK % folder)
                self._upload = ui.upload(
                    multiple=True,
                    auto_upload=True,
                    max_file_size=MOST_BYTES,
                    on_upload=self._take,
                ).props("flat bordered=false hide-upload-btn")
                self._upload.props[":filter"] = _FILTER
                self._upload.on("rejected", self._refused, js_handler=_REFUSED)
                # What was sent is in the list of files below; only what is still on its way stays here.
                self._upload.on("finish", js_handler=_SENT % self._upload.id)
                self._upload.on("failed", self._not_sent, js_handler=_NOT_SENT)
            drop.on("drop", js_handler=_DROP)
            drop.on("files", js_handler=_FILES % self._upload.id)
            on_detail(drop, "skipped", lambda event: self._line(str(event.args), words["file.skipped"], "failed"))
            drop.on("dragover", js_handler=_OVER)
            drop.on("dragleave", js_handler=_AWAY)
            self._bar = el("progress", classes="bar", max="1", value="0", aria_label=words["sources.add"])
            self._state = el("p", "", "muted state", role="status")
            self._report = el("div", classes="files report", aria_live="polite")
            self._uploaded = el("div", classes="files")

    def _refused(self, event: events.GenericEventArguments) -> None:
        """Files that the browser does not send because they are too large."""
        for name in event.args or ():
            self._line(str(name), self._words["file.large"], "failed")

    def _not_sent(self, event: events.GenericEventArguments) -> None:
        """Files that did not reach the server."""
        for name in event.args or ():
            self._line(str(name).replace(_SLASH, "/"), self._words["file.not_sent"], "failed")

    async def _aim(self, event: events.ValueChangeEventArguments[str]) -> None:
        self._target = str(event.value)
        await self._refresh_files()

    async def _take(self, event: events.UploadEventArguments) -> None:
        """Ingest one uploaded file."""
        words = self._words
        name = event.file.name.replace(_SLASH, "/")
        if self._is_done:
            self._is_done = False
            self._came, self._files, self._passages = 0, 0, 0
        if self._came < _MOST_READING:
            self._line(name, words["file.reading"])
        self._came += 1
        self._pending += 1
        self._progress()
        try:
            uploads.check_size(event.file.size())
            # A folder comes as many files at once; they are read one after the other, and only then taken into hand.
            report = await self._page_session.read_in(self._target, put, name, event.file)
            self._files += report.files
            self._passages += report.added + report.changed
            self._tell(name, report)
        except DragomanError as error:
            self._line(name, words["file.failed"].format(reason=error_text(error)), "failed")
        self._pending -= 1
        self._progress()
        came = self._came
        if not self._pending:
            await asyncio.sleep(_LULL)  # more may be on their way
        if not self._pending and came == self._came and not self._is_done:
            self._is_done = True
            self._progress()
            await self.refresh()
            self._where.set_value(self._target)
            await self._changed()

    def _tell(self, name: str, report: IngestReport) -> None:
        """What became of a file: it goes to the list of files, or its line says why it was not taken."""
        words = self._words
        if report.failed:
            self._line(name, words["file.failed"].format(reason=report.failed[0].reason), "failed")
            return
        self._drop_line(name)
        self._read[name] = words["file.read" if report.added + report.changed else "file.unchanged"]

    def _line(self, name: str, state: str, kind: str = "") -> None:
        """Show what became of a file."""
        line = self._lines.get(name)
        if line is None or line.is_deleted:
            if len(self._lines) >= _MOST_LINES:
                return
            with self._report:
                line = self._lines[name] = el("div", classes="row file")
        line.clear()
        line.classes(remove="read failed", add=kind)
        with line:
            el("span", name, "grow")
            el("span", state, "muted state-of")
            if kind == "failed":
                label = self._words["file.dismiss"].format(name=name)
                icon_button("close", label, partial(self._drop_line, name), "small")

    def _drop_line(self, name: str) -> None:
        line = self._lines.pop(name, None)
        if line is not None and not line.is_deleted:
            line.delete()

    def _progress(self) -> None:
        """Progress of ingestion as a bar and text; indeterminate before the first file is read."""
        if not self._is_done and perf_counter() - self._drawn < _OFTEN:
            return
        self._drawn = perf_counter()
        done = self._came - self._pending
        self._bar.props["max"] = str(self._came)
        self._bar.props.pop("value", None)
        if done:
            self._bar.props["value"] = str(done)
        self._bar.classes(add="" if self._is_done else "on", remove="on" if self._is_done else "")
        key, files = ("sources.done", self._files) if self._is_done else ("sources.reading", done)
        counts = {"files": files, "all": self._came, "passages": f"{self._passages:,}"}
        self._state.set_text(self._words[key].format(**counts))

    async def _refresh_files(self, *, whole: bool = False) -> None:
        """List the files of the chosen source: the first ones, or the `whole` list."""
        if not self._target:
            return
        words = self._words
        files = await self._page_session.do(_files, self._target)
        shown = files if whole else files[:_MOST_FILES]
        self._uploaded.clear()
        with self._uploaded:
            if not files:
                el("p", words["file.none"], "muted")
            for file in shown:
                name = str(file["name"])
                with el("div", classes="row file read" if name in self._read else "row file"):
                    label = words["sources.preview"].format(name=name)
                    button(name, partial(self._preview, name), "link grow", aria_label=label)
                    count = _count(words, int(file["passages"]))
                    state = f"{self._read[name]} · {count}" if name in self._read else count
                    el("span", state, "muted state-of")
                    icon_button(
                        "close",
                        words["sources.remove"].format(name=name),
                        partial(self._remove, name),
                        "small",
                    )
            if len(shown) < len(files):
                label = words["file.all"].format(count=len(files))
                button(label, partial(self._refresh_files, whole=True), "outline")

    async def _preview(self, name: str) -> None:
        """Show the passages of a file, as the agent reads them."""
        words = self._words
        with errors_shown(words):
            texts = await self._page_session.do(_passages, self._target, name)
            with (
                self._list.client,
                ui.dialog() as dialog,
                el("div", classes="dialog cited", role="dialog", aria_label=name),
            ):
                heading(name, level=2)
                with el("div", classes="preview"):
                    for text in texts:
                        el("p", text, "passage card")
                    if not texts:
                        el("p", words["why.nothing"], "muted")
                with el("div", classes="row end"):
                    button(words["close"], dialog.close, "quiet")
            dialog.on("hide", dialog.delete)
            dialog.open()

    async def _remove(self, name: str) -> None:
        with errors_shown(self._words):
            await self._page_session.read_in(self._target, uploads.remove, name)
            self._drop_line(name)
            self._read.pop(name, None)
            notice(self._words["sources.removed"].format(name=name))
        await self.refresh()
        await self._changed()

    async def _search(self) -> None:
        query, source = str(self._query.value or "").strip(), str(self._where.value or "")
        if not query or not source:
            return
        words = self._words
        with errors_shown(words):
            await self._page_session.service.admit(await self._page_session.caller())
            hits = await self._page_session.do(source_search.search, source, query, _FOUND)
            self._found.clear()
            with self._found:
                if not hits:
                    el("p", words["why.nothing"], "muted")
                elif max(float(row["relevance"]) for row in hits) < _WEAK:
                    el("p", words["sources.weak"], "muted note weak")
                for row in hits:
                    evidence_card(Card(_evidence(row)), words)


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


def put(seat: Seat, source: Source, name: str, file: FileUpload) -> IngestReport:
    """Runs in a thread when the file's turn has come, so that waiting files are not loaded into memory."""

    async def copy() -> None:
        async for piece in file.iterate():
            content.write(piece)

    with TemporaryFile() as content:
        asyncio.run(copy())
        content.seek(0)
        return uploads.put(seat, source, [Upload(name, content)])


def _passages(seat: Seat, source: str, name: str) -> list[str]:
    """The first passages of an uploaded file."""
    declared = seat.source(source)
    rows = seat.assistant.store.passages(declared.scope(seat.scope), declared.name, origin=f"{FOLDER}/{name}")
    return [row.text for row in islice(rows, _PREVIEWED)]


def _files(seat: Seat, source: str) -> list[View]:
    return uploads.files(seat, seat.source(source))
