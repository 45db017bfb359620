"""Word documents (.docx): headings, paragraphs, lists, tables and footnotes, with page numbers where Word left them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dragoman.sources.allowance import Allowance
from dragoman.sources.document import Document, DocumentBlock, Outline, clean, humanise, unwrap, whole_number
from dragoman.sources.formats.archive import Archive
from dragoman.sources.formats.table import TableRows
from dragoman.sources.formats.text import blocks_of, is_short_heading
from dragoman.sources.formats.xml_events import (
    CORE_PROPERTIES,
    End,
    Event,
    Start,
    events,
    main_part,
    member_title,
    relations,
    skip,
)
from dragoman.text import lazy_re as re

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_SKIPPED = frozenset({"Fallback", "del", "moveFrom", "delText", "instrText", "sectPr", "fldData"})
"""Elements without visible text: deleted text, field codes, and the second form of text boxes."""
_TEXT = frozenset({"t"})
_BREAKS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_DEEPEST_LIST = 20
_BOLD_LEVEL = 10
"""The level of a heading that is a paragraph in bold: below the nine of Word."""
_LEVELS = frozenset(map(str, range(9)))
"""Levels of a list; Word knows nine."""


@dataclass(slots=True)
class _Style:
    """Properties of a paragraph style."""

    name: str = ""
    base: str = ""
    level: int | None = None
    list_id: str = ""


@dataclass(slots=True)
class _Paragraph:
    """A paragraph while it is read."""

    style: str = ""
    level: int | None = None
    list_id: str = ""
    depth: int = 0
    pieces: list[str] = field(default_factory=list)
    bold: list[bool] = field(default_factory=list)  # of each piece
    notes: list[str] = field(default_factory=list)

    @property
    def written(self) -> str:
        """The text with its line breaks."""
        return clean("".join(self.pieces))

    @property
    def text(self) -> str:
        return unwrap(self.written)

    @property
    def is_heading(self) -> bool:
        """Whether it is a heading that was made by setting a short line in bold."""
        shown = [bold for piece, bold in zip(self.pieces, self.bold, strict=True) if piece.strip()]
        return bool(shown) and all(shown) and is_short_heading(self.text)

    def add(self, text: str, *, bold: bool = False) -> None:
        self.pieces.append(text)
        self.bold.append(bold)


def read(content: bytes, name: str) -> Document:
    """The document in a Word file."""
    archive = Archive(content, name)
    main = main_part(archive)
    parts = {link.kind: link.member for link in relations(archive, main).values() if link.member in archive}
    outline = Outline(Allowance(content, name))
    walk = _Walk(
        outline,
        styles=_styles(archive, parts.get("styles")),
        ordered=_ordered(archive, parts.get("numbering")),
        notes=_notes(archive, parts.get("footnotes")) | _notes(archive, parts.get("endnotes"), "end"),
    )
    walk.run(events(archive, main))
    sections = outline.sections()
    return Document(walk.title or outline.title or member_title(archive, CORE_PROPERTIES) or humanise(name), sections)


class _Walk:
    """Reads the body; paragraphs nest, since a text box lies inside of one."""

    def __init__(
        self, outline: Outline, *, styles: dict[str, _Style], ordered: set[tuple[str, str]], notes: dict[str, str]
    ) -> None:
        self.title = ""
        self._outline = outline
        self._styles = styles
        self._ordered = ordered
        self._notes = notes
        self._page = 1
        self._has_pages = False
        self._paragraphs: list[_Paragraph] = []
        self._tables: list[TableRows] = []
        self._cells: list[list[str]] = []
        self._spans: list[tuple[int, bool]] = []
        self._counters: Counter[tuple[str, int]] = Counter()
        self._in_text = False
        self._is_bold = False

    def run(self, stream: Iterator[Event]) -> None:
        for event in stream:
            if isinstance(event, Start):
                if event.tag == "rPr":
                    self._is_bold = _is_bold(stream)
                elif event.tag in _SKIPPED:
                    skip(stream)
                else:
                    self._start(event)
            elif isinstance(event, End):
                self._end(event.tag)
            elif self._in_text and self._paragraphs:
                self._paragraphs[-1].add(event, bold=self._is_bold)

    def _start(self, event: Start) -> None:
        tag, value = event.tag, event.attributes.get("val", "")
        if tag == "p":
            self._paragraphs.append(_Paragraph())
        elif tag == "tbl":
            self._tables.append(TableRows())
        elif tag == "tr" and self._tables:
            self._tables[-1].begin_row()
        elif tag == "tc":
            self._cells.append([])
            self._spans.append((1, False))
        elif tag == "gridSpan" and self._spans:
            self._spans[-1] = (whole_number(value, 1), self._spans[-1][1])
        elif tag == "vMerge" and self._spans:
            self._spans[-1] = (self._spans[-1][0], value != "restart")
        elif tag == "tblHeader" and self._tables and len(self._tables[-1].rows) == 1:
            self._tables[-1].has_header = value not in ("0", "false")
        elif tag == "lastRenderedPageBreak":
            self._page += 1
            self._has_pages = True
        elif self._paragraphs:
            self._in_paragraph(self._paragraphs[-1], event, value)

    def _in_paragraph(self, paragraph: _Paragraph, event: Start, value: str) -> None:
        tag = event.tag
        if tag in _TEXT:
            self._in_text = True
        elif tag == "r":
            self._is_bold = False
        elif tag in _BREAKS:
            paragraph.add(_BREAKS[tag])
        elif tag == "pStyle":
            paragraph.style = value
        elif tag == "outlineLvl":
            paragraph.level = whole_number(value, paragraph.level)
        elif tag == "numId":
            paragraph.list_id = value
        elif tag == "ilvl":
            paragraph.depth = min(whole_number(value, paragraph.depth), _DEEPEST_LIST)
        elif tag in ("footnoteReference", "endnoteReference"):
            key = ("end" if tag.startswith("end") else "") + event.attributes.get("id", "")
            if key in self._notes:
                paragraph.notes.append(self._notes[key])

    def _end(self, tag: str) -> None:
        if tag in _TEXT:
            self._in_text = False
        elif tag == "p" and self._paragraphs:
            self._finish(self._paragraphs.pop())
        elif tag == "tc" and self._cells:
            columns, continues = self._spans.pop()
            text = "\n".join(self._cells.pop())
            if self._tables:
                self._tables[-1].cell(text, columns=columns, continues=continues)
        elif tag == "tbl" and self._tables:
            table = self._tables.pop()
            if self._cells:  # a table in a cell: its rows become lines of that cell
                self._cells[-1].extend("; ".join(filter(None, row)) for row in table.rows)
            else:
                for block in table.blocks(self._meta()):
                    self._outline.add(block)

    def _finish(self, paragraph: _Paragraph) -> None:
        text = paragraph.text
        if self._cells:
            self._cells[-1].extend([text, *paragraph.notes])
            return
        if not text:
            return
        style = self._styles.get(paragraph.style, _Style())
        level = paragraph.level if paragraph.level is not None else style.level
        list_id = paragraph.list_id or style.list_id
        if style.name.lower() == "title":
            self.title = self.title or text
        elif level is not None and level < 9:
            self._outline.heading(level + 1, text)
        elif list_id not in ("", "0"):
            self._outline.add(DocumentBlock(self._item(list_id, paragraph.depth, text), "line", meta=self._meta()))
        elif paragraph.is_heading:
            self._outline.heading(_BOLD_LEVEL, text)
        else:
            self._counters.clear()
            for block in blocks_of(paragraph.written):
                self._outline.add(replace(block, meta=self._meta()))
        for note in paragraph.notes:
            self._outline.add(DocumentBlock(note, meta=self._meta()))

    def _item(self, list_id: str, depth: int, text: str) -> str:
        for key in [key for key in self._counters if key[0] == list_id and key[1] > depth]:
            del self._counters[key]
        self._counters[list_id, depth] += 1
        is_ordered = (list_id, str(depth)) in self._ordered
        marker = f"{self._counters[list_id, depth]}." if is_ordered else "-"
        return f"{'  ' * depth}{marker} {text}"

    def _meta(self) -> dict[str, str]:
        """The page, from the first page break that Word recorded on: other programs record none."""
        return {"page": str(self._page)} if self._has_pages else {}


def _is_bold(stream: Iterator[Event]) -> bool:
    """Whether the properties of a run, whose start was read, set it in bold."""
    depth, bold = 1, False
    while depth:
        event = next(stream)
        if isinstance(event, Start):
            depth += 1
            if depth == 2 and event.tag == "b":
                bold = event.attributes.get("val", "1") not in ("0", "false", "off")
        elif isinstance(event, End):
            depth -= 1
    return bold


def _styles(archive: Archive, member: str | None) -> dict[str, _Style]:
    """The paragraph styles by id, each with what it takes from the styles it is based on."""
    styles: dict[str, _Style] = {}
    style = _Style()
    for event in events(archive, member) if member else ():
        if not isinstance(event, Start):
            continue
        value = event.attributes.get("val", "")
        if event.tag == "style":
            style = styles[event.attributes.get("styleId", "")] = _Style()
        elif event.tag == "name":
            style.name = value
            heading = _HEADING.fullmatch(value)
            style.level = int(heading[1]) - 1 if heading else style.level
        elif event.tag == "basedOn":
            style.base = value
        elif event.tag == "outlineLvl":
            style.level = whole_number(value, style.level)
        elif event.tag == "numId":
            style.list_id = value
    for style in styles.values():
        _inherit(style, styles)
    return styles


def _inherit(style: _Style, styles: dict[str, _Style]) -> None:
    base, seen = style.base, 0
    while base in styles and seen < 20:
        parent, seen = styles[base], seen + 1
        if style.level is None:
            style.level = parent.level
        style.list_id = style.list_id or parent.list_id
        base = parent.base


def _ordered(archive: Archive, member: str | None) -> set[tuple[str, str]]:
    """The lists and levels that count, as (list id, level)."""
    counting: dict[str, set[str]] = {}
    abstract_of: dict[str, str] = {}
    abstract = number = level = ""
    for event in events(archive, member) if member else ():
        if not isinstance(event, Start):
            continue
        value = event.attributes.get("val", "")
        if event.tag == "abstractNum":
            abstract = event.attributes.get("abstractNumId", "")
        elif event.tag == "lvl":
            level = event.attributes.get("ilvl", "")
        elif event.tag == "numFmt":
            if value not in ("bullet", "none", "") and level in _LEVELS:
                counting.setdefault(abstract, set()).add(level)
        elif event.tag == "num":
            number = event.attributes.get("numId", "")
        elif event.tag == "abstractNumId":
            abstract_of[number] = value
    return {(number, level) for number, abstract in abstract_of.items() for level in counting.get(abstract, ())}


def _notes(archive: Archive, member: str | None, prefix: str = "") -> dict[str, str]:
    """The texts of footnotes by id."""
    notes: dict[str, str] = {}
    key, in_text = "", False
    pieces: list[str] = []
    for event in events(archive, member) if member else ():
        if isinstance(event, Start):
            if event.tag in ("footnote", "endnote"):
                key = "" if event.attributes.get("type") else prefix + event.attributes.get("id", "")
                pieces = []
            in_text = event.tag in _TEXT
        elif isinstance(event, str):
            if in_text:
                pieces.append(event)
        else:
            in_text = False
            if event.tag in ("footnote", "endnote") and key and "".join(pieces).strip():
                notes[key] = unwrap(clean("".join(pieces)))
    return notes
