"""PowerPoint slides (.pptx): each slide a section under its title, with its number, tables and speaker notes."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.sources.allowance import Allowance
from dragoman.sources.document import Document, DocumentBlock, Section, clean, humanise, short, unwrap, whole_number
from dragoman.sources.formats.archive import Archive
from dragoman.sources.formats.table import TableRows
from dragoman.sources.formats.xml_events import (
    CORE_PROPERTIES,
    Attributes,
    End,
    Event,
    Start,
    events,
    main_part,
    member_title,
    relations,
    skip,
)

_TITLES = frozenset({"title", "ctrTitle"})
_FURNITURE = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})
"""Placeholders that repeat on every slide: date, footer, number."""


def read(content: bytes, name: str) -> Document:
    """The document in a presentation."""
    archive = Archive(content, name)
    main = main_part(archive)
    links = relations(archive, main)
    allowance = Allowance(content, name)
    sections: list[Section] = []
    for number, key in enumerate(_slide_ids(archive, main), start=1):
        if key not in links:
            continue
        member = links[key].member
        slide = _Slide()
        slide.run(events(archive, member))
        blocks = [*slide.blocks, *_notes(archive, member)]
        if not blocks and slide.title:
            blocks = [DocumentBlock(slide.title)]
        for block in blocks:
            allowance.take(block.text)
        if blocks:
            headings = (short(slide.title),) if slide.title else ()
            sections.append(Section(tuple(blocks), headings, {"page": str(number)}))
    first = sections[0].headings[0] if sections and sections[0].headings else ""
    title = member_title(archive, CORE_PROPERTIES)
    usual = ("", "powerpoint presentation")
    return Document(first or (title if title.lower() not in usual else humanise(name)), tuple(sections))


def _slide_ids(archive: Archive, main: str) -> Iterator[str]:
    """The references of the slides, in the order of the presentation."""
    for event in events(archive, main):
        if isinstance(event, Start) and event.tag == "sldId":
            yield event.attributes.get("r:id", "")


def _notes(archive: Archive, member: str) -> list[DocumentBlock]:
    members = [link.member for link in relations(archive, member).values() if link.kind == "notesSlide"]
    if not members or members[0] not in archive:
        return []
    notes = _Slide()
    notes.run(events(archive, members[0]))
    return notes.blocks


class _Slide:
    """The title and blocks of a slide, in the order of its shapes."""

    def __init__(self) -> None:
        self.title = ""
        self.blocks: list[DocumentBlock] = []
        self._placeholder = ""
        self._pieces: list[str] | None = None
        self._level = 0
        self._bulleted = False
        self._in_text = False
        self._table: TableRows | None = None
        self._cell: list[str] = []
        self._columns = 1
        self._continues = False

    def run(self, stream: Iterator[Event]) -> None:
        for event in stream:
            if isinstance(event, Start):
                if event.tag == "Fallback":
                    skip(stream)
                else:
                    self._start(event)
            elif isinstance(event, End):
                self._end(event.tag)
            elif self._in_text and self._pieces is not None:
                self._pieces.append(event)

    def _start(self, event: Start) -> None:
        tag, attributes = event
        if tag == "sp":
            self._placeholder = ""
        elif tag == "ph":
            self._placeholder = attributes.get("type", "body")
        elif tag == "p":
            self._pieces, self._level, self._bulleted = [], 0, self._placeholder == "body"
        elif tag == "pPr":
            level = attributes.get("lvl", "0")
            self._level = min(whole_number(level, 0), 8)
        elif tag in ("buChar", "buAutoNum"):
            self._bulleted = True
        elif tag == "buNone":
            self._bulleted = False
        elif tag == "t":
            self._in_text = True
        elif tag == "br" and self._pieces is not None:
            self._pieces.append("\n")
        elif tag == "tbl":
            self._table = TableRows()
        elif self._table is not None:
            self._in_table(self._table, tag, attributes)

    def _in_table(self, table: TableRows, tag: str, attributes: Attributes) -> None:
        if tag == "tblPr":
            table.has_header = attributes.get("firstRow") == "1"
        elif tag == "tr":
            table.begin_row()
        elif tag == "tc":
            span = attributes.get("gridSpan", "1")
            self._cell, self._columns = [], whole_number(span, 1)
            self._continues = attributes.get("vMerge") in ("1", "true")
            if attributes.get("hMerge") in ("1", "true"):
                self._columns = 0  # its column is already counted by the cell that it is merged with

    def _end(self, tag: str) -> None:
        if tag == "t":
            self._in_text = False
        elif tag == "p" and self._pieces is not None:
            text, self._pieces = unwrap(clean("".join(self._pieces))), None
            if text:
                self._paragraph(text)
        elif tag == "tc" and self._table is not None:
            if self._columns:
                self._table.cell("\n".join(self._cell), columns=self._columns, continues=self._continues)
        elif tag == "tbl" and self._table is not None:
            self.blocks.extend(self._table.blocks())
            self._table = None

    def _paragraph(self, text: str) -> None:
        if self._table is not None:
            self._cell.append(text)
        elif self._placeholder in _TITLES:
            self.title = f"{self.title} {text}".strip()
        elif self._placeholder in _FURNITURE:
            return
        elif self._bulleted:
            self.blocks.append(DocumentBlock(f"{'  ' * self._level}- {text}", "line"))
        else:
            self.blocks.append(DocumentBlock(text))
