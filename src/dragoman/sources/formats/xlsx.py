"""Excel sheets (.xlsx): each row a passage, `column: value; column: value`, under the name of its sheet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from dragoman.core.errors import InputError
from dragoman.sources.allowance import Allowance
from dragoman.sources.document import (
    Document,
    DocumentBlock,
    Section,
    clean,
    column_names,
    humanise,
    row_text,
    short,
    unwrap,
    whole_number,
)
from dragoman.sources.formats.archive import Archive
from dragoman.sources.formats.xml_events import End, Start, events, main_part, relations
from dragoman.text import lazy_re as re

MOST_ROWS = 200_000
"""Most rows of all sheets; a table beyond this belongs into a database or into several files."""
_COLUMN = re.compile(r"([A-Z]{1,3})\d*")
_QUOTED = re.compile(r'"[^"]*"|\\.|\[[^\]]{0,255}+\]')
_DATES = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
"""Built-in number formats of dates and times."""
_PERCENT = frozenset((9, 10))


@dataclass(frozen=True, slots=True)
class _Workbook:
    """Shared strings and styles that the cells of all sheets refer to."""

    strings: list[str]
    dates: frozenset[int]
    percents: frozenset[int]
    epoch: datetime


def read(content: bytes, name: str) -> Document:
    """The document in a workbook; hidden sheets are left out."""
    archive = Archive(content, name)
    main = main_part(archive)
    links = relations(archive, main)
    by_kind = {link.kind: link.member for link in links.values() if link.member in archive}
    sheets, epoch = _sheets(archive, main)
    dates, percents = _formats(archive, by_kind.get("styles"))
    book = _Workbook(_strings(archive, by_kind.get("sharedStrings")), dates, percents, epoch)
    allowance = Allowance(content, name)
    left = MOST_ROWS
    sections: list[Section] = []
    for title, key in sheets:
        if key not in links or links[key].kind != "worksheet":
            continue
        blocks: list[DocumentBlock] = []
        for block in _blocks(_rows(archive, links[key].member, book)):
            left -= 1
            if left < 0:
                raise InputError(
                    f"'{name}' has more than {MOST_ROWS:,} rows.",
                    remedy="Split it, or look such tables up through a tool (see the page on connectors).",
                )
            allowance.take(block.text)
            blocks.append(block)
        if blocks:
            sections.append(Section(tuple(blocks), (short(title),)))
    return Document(humanise(name), tuple(sections))


def _blocks(rows: Iterator[list[str]]) -> Iterator[DocumentBlock]:
    """A sheet's rows under their column names: the first row with two values; lines above it are text."""
    names: list[str] = []
    for row in rows:
        values = [unwrap(value) for value in row]
        filled = sum(map(bool, values))
        if names:
            if filled:
                yield DocumentBlock(row_text(names, values), "record")
        elif filled > 1:
            names, head = column_names(values)
            if head:
                yield DocumentBlock(head, "record")
        elif filled:
            yield DocumentBlock(next(value for value in values if value), "record")


def _sheets(archive: Archive, main: str) -> tuple[list[tuple[str, str]], datetime]:
    """The names and references of the visible sheets, and the day that dates count from."""
    sheets = []
    epoch = datetime(1899, 12, 30)
    for event in events(archive, main):
        if not isinstance(event, Start):
            continue
        if event.tag == "sheet" and event.attributes.get("state", "visible") == "visible":
            sheets.append((unwrap(clean(event.attributes.get("name", ""))), event.attributes.get("r:id", "")))
        elif event.tag == "workbookPr" and event.attributes.get("date1904") in ("1", "true"):
            epoch = datetime(1904, 1, 1)
    return sheets, epoch


def _strings(archive: Archive, member: str | None) -> list[str]:
    """The table of strings that cells share; phonetic readings are left out."""
    strings: list[str] = []
    pieces: list[str] = []
    in_text = in_reading = False
    for event in events(archive, member) if member else ():
        if isinstance(event, Start):
            in_text = event.tag == "t"
            in_reading = in_reading or event.tag == "rPh"
        elif isinstance(event, End):
            in_text = False
            in_reading = in_reading and event.tag != "rPh"
            if event.tag == "si":
                strings.append(clean("".join(pieces)))
                pieces = []
        elif in_text and not in_reading:
            pieces.append(event)
    return strings


def _formats(archive: Archive, member: str | None) -> tuple[frozenset[int], frozenset[int]]:
    """The cell styles that show dates, and those that show percentages."""
    codes: dict[int, str] = {}
    dates: set[int] = set()
    percents: set[int] = set()
    in_cells, style = False, 0
    for event in events(archive, member) if member else ():
        if isinstance(event, End):
            in_cells = in_cells and event.tag != "cellXfs"
        elif isinstance(event, Start):
            number = event.attributes.get("numFmtId", "")
            if event.tag == "cellXfs":
                in_cells = True
            elif event.tag == "numFmt":
                codes[whole_number(number, 0)] = _QUOTED.sub("", event.attributes.get("formatCode", "")).lower()
            elif event.tag == "xf" and in_cells:
                form = whole_number(number, 0)
                code = codes.get(form, "")
                if form in _DATES or (code and set(code) & set("ymdhs") and "general" not in code):
                    dates.add(style)
                elif form in _PERCENT or "%" in code:
                    percents.add(style)
                style += 1
    return frozenset(dates), frozenset(percents)


def _rows(archive: Archive, member: str, book: _Workbook) -> Iterator[list[str]]:
    """The rows of a sheet as texts."""
    row: list[str] = []
    kind, style, column, value = "", 0, 0, ""
    in_value = False
    for event in events(archive, member):
        if isinstance(event, str):
            if in_value:
                value += event
        elif isinstance(event, Start):
            tag, attributes = event
            if tag == "row":
                row = []
            elif tag == "c":
                kind, value = attributes.get("t", "n"), ""
                number = attributes.get("s", "0")
                style = whole_number(number, 0)
                column = _column(attributes.get("r", ""), len(row))
            elif tag in ("v", "t"):
                in_value = True
        elif event.tag in ("v", "t"):
            in_value = False
        elif event.tag == "c":
            row.extend([""] * (column - len(row)))
            row.append(_shown(value, kind, style, book))
        elif event.tag == "row":
            yield row


def _column(reference: str, following: int) -> int:
    """The index of a cell's column, from its reference such as 'C5'."""
    match = _COLUMN.match(reference)
    if not match:
        return following
    index = 0
    for letter in match[1]:
        index = 26 * index + ord(letter) - ord("A") + 1
    return max(following, index - 1)


def _shown(value: str, kind: str, style: int, book: _Workbook) -> str:
    """A cell's value as a reader sees it; errors are empty."""
    if not value or kind == "e":
        return ""
    if kind == "s":
        place = whole_number(value, -1)
        return book.strings[place] if 0 <= place < len(book.strings) else ""
    if kind == "b":
        return "yes" if value == "1" else "no"
    try:
        number = float(value) if kind == "n" else None
    except ValueError:
        number = None
    if number is None:
        return clean(value)
    if style in book.dates:
        return _date(number, book.epoch)
    return f"{100 * number:.10g}%" if style in book.percents else f"{number:.15g}"


def _date(number: float, epoch: datetime) -> str:
    if not 0 <= number < 2_958_466:  # the year 10,000
        return f"{number:.15g}"
    moment = epoch + timedelta(seconds=round(number * 86_400))
    if number < 1:
        return f"{moment:%H:%M}"
    return f"{moment:%Y-%m-%d}" if moment.hour == moment.minute == 0 else f"{moment:%Y-%m-%d %H:%M}"
