"""Excel sheets (.xlsx): each row a passage, `column: value; column: value`, under the name of its sheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice

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
from dragoman.sources.formats.number_format import BUILT_IN, NumberFormat, number_format
from dragoman.sources.formats.table import MOST_CELLS, header_depth, joined_names
from dragoman.sources.formats.xml_events import End, Start, events, main_part, parse, relations
from dragoman.text import lazy_re as re

MOST_ROWS = 200_000
"""Most rows of all sheets; a table beyond this belongs into a database or into several files."""
_COLUMN = re.compile(r"([A-Z]{1,3})\d*")
_QUOTED = re.compile(r'"[^"]*"|\\.|\[[^\]]{0,255}+\]')
_MERGE = re.compile(r'mergeCell\s[^<>]{0,60}?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"', re.ASCII)
_LONGEST_MERGE = 200
"""Most bytes of an element that names merged cells, which may lie across two pieces of a file."""
_MOST_MERGES = 50_000
_DEEPEST_HEADER = 3
_DATES = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
"""Built-in number formats of dates and times."""
_PERCENT = frozenset((9, 10))


@dataclass(frozen=True, slots=True)
class _Workbook:
    """Shared strings and styles that the cells of all sheets refer to."""

    strings: list[str]
    dates: frozenset[int]
    percents: frozenset[int]
    numbers: dict[int, NumberFormat]
    epoch: datetime


@dataclass(frozen=True, slots=True)
class _SheetRow:
    """The texts of a row, and the columns that each cell is wide: 0 under the cell to the left."""

    texts: list[str]
    widths: list[int]


def read(content: bytes, name: str) -> Document:
    """The document in a workbook; hidden sheets are left out."""
    archive = Archive(content, name)
    main = main_part(archive)
    links = relations(archive, main)
    by_kind = {link.kind: link.member for link in links.values() if link.member in archive}
    sheets, epoch = _sheets(archive, main)
    dates, percents, numbers = _formats(archive, by_kind.get("styles"))
    book = _Workbook(_strings(archive, by_kind.get("sharedStrings")), dates, percents, numbers, epoch)
    allowance = Allowance(content, name)
    left = MOST_ROWS
    sections: list[Section] = []
    for title, key in sheets:
        if key not in links or links[key].kind != "worksheet":
            continue
        blocks: list[DocumentBlock] = []
        member = links[key].member
        for block in _blocks(_merged(_rows(archive, member, book), _merges(archive, member))):
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


def _blocks(rows: Iterator[_SheetRow]) -> Iterator[DocumentBlock]:
    """A sheet's rows under their column names: the first row with two values; lines above it are text."""
    rows = (row for row in rows if any(row.texts))
    for row in rows:
        filled = [text for text in row.texts if text]
        if len(filled) == 1:
            yield DocumentBlock(filled[0], "record")
            continue
        header = [row, *islice(rows, _DEEPEST_HEADER)]
        depth = header_depth([row.texts for row in header], [row.widths for row in header])
        names, head = column_names(joined_names([(row.texts, row.widths) for row in header[:depth]]))
        if head:
            yield DocumentBlock(head, "record")
        for below in chain(header[depth:], rows):
            is_caption = len(below.widths) > 0 and 1 < len(names) <= below.widths[0]
            yield DocumentBlock(below.texts[0] if is_caption else row_text(names, below.texts), "record")


def _merged(
    rows: Iterator[tuple[int, list[str]]], merges: Mapping[tuple[int, int], tuple[int, int]]
) -> Iterator[_SheetRow]:
    """The rows with merged cells: one over several rows stands in each of them."""
    down: dict[int, tuple[int, str, int]] = {}
    for number, texts in rows:
        values = [unwrap(text) for text in texts]
        widths = [1] * len(values)
        down = {column: cell for column, cell in down.items() if cell[0] >= number}
        for column, (_, text, width) in down.items():
            _place(values, widths, column, text, width)
        if merges:
            for column in range(len(values)):
                height, width = merges.get((number, column), (1, 1))
                if (height, width) != (1, 1):
                    _place(values, widths, column, values[column], width)
                if height > 1:
                    down[column] = (number + height - 1, values[column], width)
        yield _SheetRow(values, widths)


def _place(values: list[str], widths: list[int], column: int, text: str, width: int) -> None:
    """Put a text into a cell of a row, over several columns."""
    missing = column + width - len(values)
    values.extend([""] * missing)
    widths.extend([1] * missing)
    values[column] = text
    widths[column : column + width] = [width, *[0] * (width - 1)]


def _merges(archive: Archive, member: str) -> dict[tuple[int, int], tuple[int, int]]:
    """The merged cells of a sheet: (rows, columns) by the place of their first cell; they stand behind its rows."""
    merges: dict[tuple[int, int], tuple[int, int]] = {}
    rest = ""
    for chunk in archive.stream(member):
        text = rest + chunk.decode("latin-1")
        for match in _MERGE.finditer(text) if "mergeCell" in text else ():
            left, top, right, bottom = match.groups()
            place = int(top), _column(left, 0)
            size = int(bottom) - place[0] + 1, _column(right, 0) - place[1] + 1
            if min(size) >= 1 and size[1] <= MOST_CELLS:
                merges[place] = size
        if len(merges) > _MOST_MERGES:
            return {}
        rest = text[-_LONGEST_MERGE:]
    return merges


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


def _formats(archive: Archive, member: str | None) -> tuple[frozenset[int], frozenset[int], dict[int, NumberFormat]]:
    """The cell styles that show dates, those that show percentages, and the formats of other numbers."""
    codes: dict[int, str] = {}
    written = dict(BUILT_IN)
    numbers: dict[int, NumberFormat] = {}
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
                code = event.attributes.get("formatCode", "")
                written[whole_number(number, 0)] = clean(code)
                codes[whole_number(number, 0)] = _QUOTED.sub("", code).lower()
            elif event.tag == "xf" and in_cells:
                form = whole_number(number, 0)
                code = codes.get(form, "")
                if form in _DATES or (code and set(code) & set("ymdhs") and "general" not in code):
                    dates.add(style)
                elif form in _PERCENT or "%" in code:
                    percents.add(style)
                elif form in written and (number_kind := number_format(written[form])) is not None:
                    numbers[style] = number_kind
                style += 1
    return frozenset(dates), frozenset(percents), numbers


def _rows(archive: Archive, member: str, book: _Workbook) -> Iterator[tuple[int, list[str]]]:
    """The rows of a sheet as their numbers and texts."""
    row: list[str] = []
    line = 0
    kind, style, column, value = "", 0, 0, ""
    in_value = False
    for event in parse(archive.stream(member, again=True), archive.name, member):
        if isinstance(event, str):
            if in_value:
                value += event
        elif isinstance(event, Start):
            tag, attributes = event
            if tag == "row":
                row = []
                line = max(line + 1, whole_number(attributes.get("r", ""), 0))
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
            row.append(_cell_text(value, kind, style, book))
        elif event.tag == "row":
            yield line, row


def _column(reference: str, following: int) -> int:
    """The index of a cell's column, from its reference such as 'C5'."""
    match = _COLUMN.match(reference)
    if not match:
        return following
    index = 0
    for letter in match[1]:
        index = 26 * index + ord(letter) - ord("A") + 1
    return max(following, index - 1)


def _cell_text(value: str, kind: str, style: int, book: _Workbook) -> str:
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
    return _number_text(number, style, book)


def _number_text(number: float, style: int, book: _Workbook) -> str:
    if style in book.dates:
        return _date(number, book.epoch)
    if style in book.percents:
        return f"{100 * number:.10g}%"
    return book.numbers[style].shown(number) if style in book.numbers else f"{number:.15g}"


def _date(number: float, epoch: datetime) -> str:
    if not 0 <= number < 2_958_466:  # the year 10,000
        return f"{number:.15g}"
    moment = epoch + timedelta(seconds=round(number * 86_400))
    if number < 1:
        return f"{moment:%H:%M}"
    return f"{moment:%Y-%m-%d}" if moment.hour == moment.minute == 0 else f"{moment:%Y-%m-%d %H:%M}"
