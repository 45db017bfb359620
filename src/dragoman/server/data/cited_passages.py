"""Context of a cited passage: the passages that follow it, and its PDF page. Functions for `Service.do`."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest
from typing import BinaryIO

from dragoman.core.values import Passage
from dragoman.server.data.uploads import open_upload
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.problems import absent
from dragoman.sources.pdf_marks import marked
from dragoman.sources.upload_folders import FOLDER

_UPLOADED = f"{FOLDER}/"


def following(seat: Seat, passage: Passage, count: int) -> list[Passage]:
    """The next passages of the same file; none for a passage that is not from a file."""
    if not passage.origin or "slot" in passage.meta:
        return []
    source = seat.source(passage.source)
    rows = seat.assistant.store.passages(source.scope(seat.scope), source.name, origin=passage.origin)
    after = (row for row in rows if row.position > passage.position)
    return nsmallest(count, after, key=lambda row: row.position)


def pdf_page(passage: Passage) -> int | None:
    """The page of a passage of a PDF; None for others."""
    page = passage.meta.get("page", "")
    return int(page) if passage.origin.lower().endswith(".pdf") and page.isdigit() else None


def marked_pdf(seat: Seat, source: str, id: str, spans: Sequence[tuple[int, int]]) -> bytes:
    """The PDF of a passage, with some spans of the passage marked on its page."""
    declared = seat.source(source)
    (passage,) = seat.assistant.store.get(declared.scope(seat.scope), [id])
    if passage is None or passage.source != source:
        raise absent("passage")
    page = pdf_page(passage)
    if page is None:
        raise absent("page")
    with _file(seat, passage) as file:
        content = file.read()
    return marked(content, page, [passage.text[start:end] for start, end in spans])


def _file(seat: Seat, passage: Passage) -> BinaryIO:
    """The file of a passage: an upload, or one of the folder that agent.toml declares for its source."""
    if passage.origin.startswith(_UPLOADED):
        return open_upload(seat, seat.source(passage.source), passage.origin.removeprefix(_UPLOADED))
    folder = seat.assistant.folder
    entries = [entry for entry in seat.assistant.config.get("sources", ()) if entry.get("name") == passage.source]
    path = entries[0].get("path") if entries else None
    if folder is not None and path:
        file, declared = (folder / passage.origin).resolve(), (folder / path).resolve()
        if file.is_relative_to(declared) and file.is_file():
            return file.open("rb")
    raise absent("file")
