"""Passages as HTML: rows of a table under the names of their columns, quoted words marked. Every text is escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from dragoman.server.page.text_diff import Span, cut

_LINE = re.compile(r"[^\n]+|\n")
_MOST_CELLS = 2_000
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class _Cell:
    name: str
    span: Span


def passage_html(text: str, spans: Sequence[Span] = ()) -> str:
    """A passage with its rows as a table; a single row as a list of names and values."""
    lines = [match.span() for match in _LINE.finditer(text)]
    rows = {span: row_cells(text[slice(*span)], span[0]) for span in lines}
    if sum(map(len, rows.values())) > _MOST_CELLS:
        return _marked(text, (0, len(text)), spans)
    parts: list[str] = []
    for is_row, group in groupby(_without_breaks(text, lines, rows), key=lambda span: bool(rows[span])):
        run = list(group)
        if is_row:
            parts.append(_table(text, [rows[span] for span in run], spans))
        else:
            parts.append(_marked(text, (run[0][0], run[-1][1]), spans))
    return "".join(parts)


def row_cells(line: str, start: int = 0) -> tuple[_Cell, ...]:
    """The cells of a line `name: value; name: value`, as readers of files write a row; none for other lines."""
    cells: list[_Cell] = []
    at = 2 if line.startswith("- ") else 0
    for part in line[at:].split("; "):
        name, colon, value = part.partition(": ")
        if not colon and not cells:
            name, value = "", part  # row labels get an empty header cell
        elif not colon or not name or len(name) > _LONGEST_NAME:
            return ()
        end = start + at + len(part)
        cells.append(_Cell(name, (end - len(value), end)))
        at += len(part) + 2
    return tuple(cells) if len(cells) > 1 else ()


def _without_breaks(text: str, lines: Sequence[Span], rows: Mapping[Span, tuple[_Cell, ...]]) -> list[Span]:
    """The lines without the breaks before and after rows, which are no text of their own."""
    spans: list[Span] = []
    is_after_row = False
    for span in lines:
        if rows[span]:
            while spans and text[slice(*spans[-1])] == "\n":
                spans.pop()
        elif is_after_row and text[slice(*span)] == "\n":
            continue
        spans.append(span)
        is_after_row = bool(rows[span])
    return spans


def _table(text: str, rows: Sequence[Sequence[_Cell]], spans: Sequence[Span]) -> str:
    if len(rows) == 1:
        pairs = "".join(
            f"<tr><th scope='row'>{escape(cell.name)}</th><td>{_marked(text, cell.span, spans)}</td></tr>"
            for cell in rows[0]
        )
        return f'<table class="rows one">{pairs}</table>'
    names = list(dict.fromkeys(cell.name for row in rows for cell in row))
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in names)
    body = []
    for row in rows:
        values = {cell.name: _marked(text, cell.span, spans) for cell in row}
        body.append(f"<tr>{''.join(f'<td>{values.get(name, str())}</td>' for name in names)}</tr>")
    return f'<div class="wide"><table class="rows"><tr>{head}</tr>{"".join(body)}</table></div>'


def _marked(text: str, of: Span, spans: Sequence[Span]) -> str:
    """A part of a text, the quoted words in it marked."""
    start, end = of
    inside = [(max(a, start) - start, min(b, end) - start) for a, b in spans if a < end and b > start]
    return "".join(
        f"<mark>{escape(piece.text)}</mark>" if piece.quoted else escape(piece.text)
        for piece in cut(text[start:end], inside)
    )
