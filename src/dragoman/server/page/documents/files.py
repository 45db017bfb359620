"""The files of a source on the page: added, listed, previewed, replaced, read again and deleted."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import PurePath
from tempfile import TemporaryFile
from time import perf_counter
from typing import BinaryIO

from nicegui import events, ui
from nicegui.elements.mixins.text_element import TextElement
from nicegui.elements.upload_files import FileUpload

from dragoman.core.errors import DragomanError
from dragoman.core.values import Source
from dragoman.server.data import uploads
from dragoman.server.data.source_search import first_passages
from dragoman.server.data.uploads import MOST_BYTES, Upload
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.views import View
from dragoman.server.page.documents.contents import passage_list
from dragoman.server.page.elements import (
    UNDO_SECONDS,
    Latest,
    Phrases,
    button,
    el,
    error_text,
    errors_shown,
    heading,
    icon_button,
    on_detail,
    undo_toast,
)
from dragoman.server.page.session import PageSession
from dragoman.sources.files import readers, why_refused
from dragoman.sources.ingest import IngestReport
from dragoman.sources.upload_folders import FOLDER

_MOST_LINES = 500
_MOST_READING = 10
_LULL, _OFTEN = 0.5, 0.3
"""Seconds without another file after which an upload is over, and between two pictures of its progress."""
_MOST_FILES = 100
"""Files that are listed at first: every line makes the page slower."""
# NiceGUI keeps of a file's name what follows the last slash; this one it lets pass, and no keyboard types it.
_SLASH = "∕"
# Between the name of a file and that of the one which replaces it: both come with the upload, so that none overtakes.
_REPLACED_BY = "␟"
_KINDS = "|".join(sorted(suffix[1:] for suffix in readers() if suffix))
# A chosen folder gives every file its path. Hidden files and kinds that nobody reads are left out before they are sent.
_FILTER = f"""(files) => files.filter((file) => {{
    const path = file.webkitRelativePath || file.name;
    if (path !== file.name) Object.defineProperty(file, "name", {{value: path.replaceAll("/", "{_SLASH}")}});
    const isHidden = path.split("/").some((part) => part.startsWith("."));
    const isRead = !isHidden && /\\.({_KINDS})$/i.test(path);
    if (!isRead && !isHidden) {{
        const detail = path.split("{_REPLACED_BY}").pop();
        document.querySelector(".drop")?.dispatchEvent(new CustomEvent("skipped", {{ detail }}));
    }}
    return isRead;
}})"""
_PICK = "() => dragoman.pick(%s)"
_REPLACE = f'() => {{ dragoman.pick(false, %s + "{_REPLACED_BY}"); emit(); }}'
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


class DocumentFiles:
    """The place where files are dropped, and the list of those that are there.

    Calls `changed` when documents were added or deleted.
    """

    def __init__(
        self,
        page_session: PageSession,
        words: Phrases,
        *,
        changed: Callable[[], Awaitable[None]],
    ) -> None:
        self._page_session, self._words, self._changed = page_session, words, changed
        self.target = ""
        """The source whose files are shown."""
        self._into = ""
        self._came, self._files, self._passages, self._pending = 0, 0, 0, 0
        self._is_done, self._drawn = True, 0.0
        self._lines: dict[str, TextElement] = {}
        self._read: dict[str, str] = {}
        self._latest = Latest()

    def build(self) -> None:
        """Create the elements."""
        words = self._words
        with el("div", classes="drop") as drop:
            ui.icon("upload_file").props("aria-hidden=true")
            el("p", words["sources.drop"], "by-mouse")
            el("p", words["sources.kinds"], "muted")
            with el("div", classes="row middle"):
                for label, folder in (("sources.choose_files", "false"), ("sources.choose_folder", "true")):
                    kind = "btn outline by-mouse" if folder == "true" else "btn outline"  # telephones have no folders
                    pick = el("button", words[label], kind, type="button")
                    pick.on("click", js_handler=_PICK % folder)
            upload = ui.upload(
                multiple=True,
                auto_upload=True,
                max_file_size=MOST_BYTES,
                on_upload=self._take,
            ).props("flat bordered=false hide-upload-btn")
            upload.props[":filter"] = _FILTER
            upload.on("rejected", self._refused, js_handler=_REFUSED)
            # What was sent is in the list of files below; only what is still on its way stays here.
            upload.on("finish", js_handler=_SENT % upload.id)
            upload.on("failed", self._not_sent, js_handler=_NOT_SENT)
        drop.on("drop", js_handler=_DROP)
        drop.on("files", js_handler=_FILES % upload.id)
        on_detail(drop, "skipped", lambda event: self._skipped(str(event.args)))
        drop.on("dragover", js_handler=_OVER)
        drop.on("dragleave", js_handler=_AWAY)
        self._bar = el("progress", classes="bar", max="1", value="0", aria_label=words["sources.add"])
        self._state = el("p", "", "muted state", role="status")
        self._report = el("div", classes="files report", aria_live="polite")
        self._list = el("div", classes="files")

    async def refresh(self, *, whole: bool = False) -> None:
        """List the files of the chosen source: the first ones, or the `whole` list."""
        if not self.target:
            return
        words = self._words
        is_latest = self._latest.begin()
        files = await self._page_session.do(_files, self.target)
        if not is_latest() or self._list.is_deleted:
            return
        visible = files if whole else files[:_MOST_FILES]
        self._list.clear()
        with self._list:
            if not files:
                el("p", words["file.none"], "muted")
            for file in visible:
                self._row(str(file["name"]), _count(words, int(file["passages"])))
            if len(visible) < len(files):
                label = words["file.all"].format(count=len(files))
                button(label, partial(self.refresh, whole=True), "outline")

    def _row(self, name: str, count: str) -> None:
        words = self._words
        with el("div", classes="row file read" if name in self._read else "row file"):
            label = words["sources.preview"].format(name=name)
            button(name, partial(self._preview, name), "link grow", aria_label=label)
            el("span", f"{self._read[name]} · {count}" if name in self._read else count, "muted state-of")
            icon_button("delete", words["sources.remove"].format(name=name), partial(self._remove, name), "small")

    # Files that come

    def _skipped(self, name: str) -> None:
        """A file of a kind that is not read, with what to do where there is something."""
        remedy = why_refused(PurePath(name).suffix.lower())
        self._line(name, ": ".join(filter(None, (self._words["file.skipped"], remedy))), "failed")

    def _refused(self, event: events.GenericEventArguments) -> None:
        """Files that the browser does not send because they are too large."""
        for name in event.args or ():
            self._line(_names(name)[0], self._words["file.large"], "failed")

    def _not_sent(self, event: events.GenericEventArguments) -> None:
        """Files that did not reach the server."""
        for name in event.args or ():
            self._line(_names(name)[0], self._words["file.not_sent"], "failed")

    async def _take(self, event: events.UploadEventArguments) -> None:
        """Ingest one uploaded file."""
        name, replaced = _names(event.file.name)
        if self._is_done:
            self._is_done = False
            self._came, self._files, self._passages = 0, 0, 0
            self._into = self.target  # of all that come together, whatever is chosen meanwhile
        if self._came < _MOST_READING:
            self._line(name, self._words["file.reading"])
        self._came += 1
        self._pending += 1
        self._progress()
        try:
            uploads.check_size(event.file.size())
            # A folder comes as many files at once: read them one after the other.
            report = await self._page_session.read_in(self._into, put, name, event.file)
            if replaced and replaced != name and not report.failed:
                await self._page_session.read_in(self._into, uploads.remove, replaced)
            self._files += report.files
            self._passages += report.added + report.changed
            self._tell(name, report)
        except DragomanError as error:
            self._line(name, self._words["file.failed"].format(reason=error_text(error)), "failed")
        finally:
            self._pending -= 1
        self._progress()
        came = self._came
        if not self._pending:
            await asyncio.sleep(_LULL)  # more may be on their way
        if not self._pending and came == self._came and not self._is_done:
            self._is_done = True
            self._progress()
            await self._changed()

    def _tell(self, name: str, report: IngestReport) -> None:
        """Show the result of an upload: the file joins the list, or its line says why it was refused."""
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
        finished = self._came - self._pending
        self._bar.props["max"] = str(self._came)
        self._bar.props.pop("value", None)
        if finished:
            self._bar.props["value"] = str(finished)
        self._bar.classes(add="" if self._is_done else "on", remove="on" if self._is_done else "")
        key, files = ("sources.done", self._files) if self._is_done else ("sources.reading", finished)
        counts = {"files": files, "all": self._came, "passages": f"{self._passages:,}"}
        text = self._words[key].format(**counts)
        if self._is_done and self._lines:
            text = self._words["sources.unread"].format(done=text, count=len(self._lines))
        self._state.set_text(text)

    # Files that are there

    async def _preview(self, name: str) -> None:
        """Show the passages of a file, as the agent reads them, and what can be done with it."""
        words, source = self._words, self.target
        with errors_shown(words):
            rows = await self._page_session.do(first_passages, source, f"{FOLDER}/{name}")
            with (
                self._list.client,
                ui.dialog() as dialog,
                el("div", classes="dialog cited", role="dialog", aria_label=name),
            ):
                heading(name, level=2)
                with el("div", classes="preview"):
                    passage_list(rows, words)
                with el("div", classes="row end"):
                    replace = el("button", words["file.replace"], "btn outline", type="button")
                    replace.on("click", dialog.close, js_handler=_REPLACE % json.dumps(name))
                    button(words["file.again"], partial(self._read_again, dialog, source, name), "outline")
                    button(words["close"], dialog.close, "quiet")
            dialog.on("hide", dialog.delete)
            dialog.open()

    async def _read_again(self, dialog: ui.dialog, source: str, name: str) -> None:
        """Read a stored file anew: its reader, or what it needs, may have changed."""
        words = self._words
        dialog.close()
        self._line(name, words["file.reading"])
        try:
            self._tell(name, await self._page_session.read_in(source, uploads.read_again, name))
        except DragomanError as error:
            self._line(name, words["file.failed"].format(reason=error_text(error)), "failed")
        else:
            if name in self._read:
                self._read[name] = words["file.read_again"]
        await self._changed()

    async def _remove(self, name: str) -> None:
        """Delete a file at once; for a few seconds it can be brought back."""
        words, source = self._words, self.target
        with errors_shown(words):
            content = await self._page_session.read_in(source, _take_out, name)
            self._drop_line(name)
            self._read.pop(name, None)
            text = words["sources.removed"].format(name=name)
            undo_toast(text, words["undo"], partial(self._put_back, source, name, content), seconds=UNDO_SECONDS)
        await self._changed()

    async def _put_back(self, source: str, name: str, content: BinaryIO) -> None:
        with errors_shown(self._words):
            await self._page_session.read_in(source, uploads.put, [Upload(name, content)])
        await self._changed()


def _take_out(seat: Seat, source: Source, name: str) -> BinaryIO:
    """Delete a file; returns what was in it."""
    content = TemporaryFile()  # noqa: SIM115  # open as long as it can be brought back
    with uploads.open_upload(seat, source, name) as stored:
        shutil.copyfileobj(stored, content)
    uploads.remove(seat, source, name)
    content.seek(0)
    return content


def _names(sent: object) -> tuple[str, str]:
    """The name of a file that was sent, and that of the one which it replaces, or ""."""
    replaced, _, name = str(sent).replace(_SLASH, "/").rpartition(_REPLACED_BY)
    return name, replaced


def _count(words: Phrases, count: int) -> str:
    return words["sources.passage" if count == 1 else "sources.passages"].format(count=f"{count:,}")


def put(seat: Seat, source: Source, name: str, file: FileUpload) -> IngestReport:
    """Runs in a thread when the file's turn has come, so that waiting files are not loaded into memory."""

    async def copy() -> None:
        async for piece in file.iterate():
            content.write(piece)

    with TemporaryFile() as content:
        asyncio.run(copy())
        content.seek(0)
        return uploads.put(seat, source, [Upload(name, content)])


def _files(seat: Seat, source: str) -> list[View]:
    return uploads.files(seat, seat.source(source))
