"""OpenDocument texts (.odt): headings, paragraphs, lists, tables and notes, with the pages that the writer recorded."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.core.errors import InputError
from dragoman.sources.allowance import Allowance
from dragoman.sources.document import Document, DocumentBlock, Outline, clean, humanise, unwrap, whole_number
from dragoman.sources.formats.archive import Archive
from dragoman.sources.formats.table import MOST_CELLS, TableRows
from dragoman.sources.formats.xml_events import Attributes, End, Event, Start, events, member_title, skip

_SKIPPED = frozenset({"tracked-changes", "annotation", "note-citation", "forms", "sequence-decls"})
_DEEPEST_LIST = 20


def read(content: bytes, name: str) -> Document:
    """The document in an OpenDocument text."""
    archive = Archive(content, name)
    _check_manifest(archive)
    outline = Outline(Allowance(content, name))
    walk = _Walk(outline)
    walk.run(events(archive, "content.xml"))
    sections = outline.sections()
    return Document(walk.title or outline.title or member_title(archive, "meta.xml") or humanise(name), sections)


def _check_manifest(archive: Archive) -> None:
    """Refuse encrypted files and files with macros; the manifest of the archive lists both."""
    member = "META-INF/manifest.xml"
    for event in events(archive, member) if member in archive else ():
        if isinstance(event, Start):
            if event.tag == "encryption-data":
                raise InputError(
                    f"'{archive.name}' is protected by a password.", remedy="Save a copy without the password."
                )
            if event.attributes.get("full-path", "").startswith("Scripts/"):
                raise InputError(
                    f"'{archive.name}' contains macros, which are programs.", remedy="Save a copy without macros."
                )


class _Walk:
    """Reads the body; text in front of the first paragraph, and around elements, is no text of the document."""

    def __init__(self, outline: Outline) -> None:
        self.title = ""
        self._outline = outline
        self._texts: list[list[str]] = []
        self._levels: list[int] = []
        self._notes: list[str] = []
        self._in_note = 0
        self._depth = 0
        self._is_first = False
        self._tables: list[TableRows] = []
        self._cells: list[list[str]] = []
        self._widths: list[int] = []
        self._covered = 0
        self._in_header = False
        self._page, self._has_pages = 1, False
        self._title_styles = {"Title"}

    def run(self, stream: Iterator[Event]) -> None:
        for event in stream:
            if isinstance(event, Start):
                if event.tag in _SKIPPED:
                    skip(stream)
                else:
                    self._start(event)
            elif isinstance(event, End):
                self._end(event.tag)
            elif self._texts:
                self._texts[-1].append(event)

    def _start(self, event: Start) -> None:
        tag, attributes = event
        if tag in ("p", "h"):
            level = attributes.get("outline-level", "1") if tag == "h" else "0"
            is_title = attributes.get("style-name") in self._title_styles
            self._texts.append([])
            self._levels.append(-1 if is_title else whole_number(level, 1))
        elif tag == "style" and attributes.get("parent-style-name") == "Title":
            self._title_styles.add(
                attributes.get("name", "")
            )  # a paragraph with formatting of its own gets such a style
        elif tag == "s" and self._texts:
            self._texts[-1].append(" ")
        elif tag in ("tab", "line-break") and self._texts:
            self._texts[-1].append(" " if tag == "tab" else "\n")
        elif tag == "soft-page-break":
            self._page, self._has_pages = self._page + 1, True
        elif tag == "note":
            self._in_note += 1
        elif tag == "list":
            self._depth += 1
        elif tag == "list-item":
            self._is_first = True
        elif tag == "table":
            self._tables.append(TableRows())
        elif tag == "table-header-rows" and self._tables:
            self._tables[-1].has_header = not self._tables[-1].rows
        elif tag == "table-row" and self._tables:
            self._tables[-1].begin_row()
        elif tag in ("table-cell", "covered-table-cell"):
            self._open_cell(tag, attributes)

    def _open_cell(self, tag: str, attributes: Attributes) -> None:
        repeated = whole_number(attributes.get("number-columns-repeated", "1"), 1)
        spanned = whole_number(attributes.get("number-columns-spanned", "1"), 1)
        self._cells.append([])
        self._widths.append(min(max(repeated, spanned), MOST_CELLS))
        if tag == "table-cell":
            self._covered = spanned - 1

    def _end(self, tag: str) -> None:
        if tag in ("p", "h") and self._texts:
            self._finish(unwrap(clean("".join(self._texts.pop()))), self._levels.pop())
        elif tag == "note":
            self._in_note -= 1
        elif tag == "list":
            self._depth -= 1
        elif tag in ("table-cell", "covered-table-cell") and self._cells:
            text, width = "\n".join(self._cells.pop()), self._widths.pop()
            continues = tag.startswith("covered")
            if continues and (beside := min(width, self._covered)) > 0:
                # The wide cell to the left has its columns already.
                self._covered, width = self._covered - beside, width - beside
            if self._tables and width:
                self._tables[-1].cell(text, columns=width, continues=continues)
        elif tag == "table" and self._tables:
            table = self._tables.pop()
            if self._cells:
                self._cells[-1].extend("; ".join(filter(None, row)) for row in table.rows)
            else:
                for block in table.blocks(self._meta()):
                    self._outline.add(block)

    def _finish(self, text: str, level: int) -> None:
        if not text:
            return
        if self._in_note:
            self._notes.append(text)
        elif self._cells:
            self._cells[-1].append(text)
        elif level < 0:
            self.title = self.title or text
        elif level:
            self._outline.heading(level, text)
        elif self._depth:
            marker = "-" if self._is_first else " "
            self._is_first = False
            indent = "  " * min(self._depth - 1, _DEEPEST_LIST)
            self._outline.add(DocumentBlock(f"{indent}{marker} {text}", "line", meta=self._meta()))
        else:
            self._outline.add(DocumentBlock(text, meta=self._meta()))
        if not self._in_note and not self._texts:
            for note in self._notes:
                self._outline.add(DocumentBlock(note, meta=self._meta()))
            self._notes = []

    def _meta(self) -> dict[str, str]:
        return {"page": str(self._page)} if self._has_pages else {}
