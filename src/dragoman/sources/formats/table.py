"""Rows of a document's table, with merged cells filled in, as the lines of a section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dragoman.sources.document import DocumentBlock, column_names, row_text, unwrap

MOST_CELLS = 1_000
"""Most cells of a row: a repeat count of a few bytes must not unfold into millions."""
_MOST_FILLED = 200_000
"""Most cells of a table that repeat the one above, for the same reason."""


class TableRows:
    """Collects rows; a cell that continues the one above repeats its text."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.has_header = False
        self._widths: list[list[int]] = []  # of each cell; 0 under the cell to the left
        self._down: dict[int, tuple[int, str, int]] = {}
        self._left = _MOST_FILLED

    def begin_row(self) -> None:
        self._finish_row()
        self.rows.append([])
        self._widths.append([])

    def cell(self, text: str, *, columns: int = 1, rows: int = 1, continues: bool = False) -> None:
        """Add a cell that is `columns` wide and `rows` high, or `continues` the one above."""
        if not self.rows:
            self.begin_row()
        self._place_cells_from_above()
        row = self.rows[-1]
        if continues and len(self.rows) > 1 and len(self.rows[-2]) > len(row):
            text = self.rows[-2][len(row)]
        if rows > 1:
            self._down[len(row)] = (rows - 1, text, columns)
        self._append(text, columns)

    def blocks(self, meta: Mapping[str, str] | None = None) -> Iterator[DocumentBlock]:
        """The rows, each as a line that names its columns; a cell as wide as the table stands alone."""
        self._finish_row()
        self._down = {}
        rows = [(row, widths) for row, widths in zip(self.rows, self._widths, strict=True) if any(row)]
        has_header = self.has_header and bool(self.rows) and any(self.rows[0])
        width = max((len(row) for row, _ in rows), default=0)
        names: list[str] = []
        for i, (row, widths) in enumerate(rows):
            if width > 1 and widths[0] >= width:
                yield DocumentBlock(row[0], meta=meta or {})
                continue
            left = [cells for cells, _ in rows[i:]]
            if len(left) > 1 and (has_header or is_header(left, widths)):
                depth = header_depth(left, [spans for _, spans in rows[i:]])
                names, head = column_names(joined_names(rows[i : i + depth]))
                if head:
                    yield DocumentBlock(head, meta=meta or {})
                rows = rows[i + depth :]
            else:
                rows = rows[i:]
            break
        else:
            return
        for row, widths in rows:
            if width > 1 and widths[0] >= width:
                yield DocumentBlock(row[0], meta=meta or {})
            else:
                yield DocumentBlock(f"- {row_text(names, row)}", "line", meta=meta or {})

    def _append(self, text: str, columns: int) -> None:
        row = self.rows[-1]
        width = max(1, min(columns, MOST_CELLS - len(row)))
        row.extend([unwrap(text), *[""] * (width - 1)])
        self._widths[-1].extend([width, *[0] * (width - 1)])

    def _place_cells_from_above(self) -> None:
        """Repeat the cells that reach down into this row, up to the next free column."""
        while (place := len(self.rows[-1])) in self._down and self._left > 0:
            more, text, columns = self._down.pop(place)
            if more > 1:
                self._down[place] = (more - 1, text, columns)
            self._append(text, columns)
            self._left -= columns

    def _finish_row(self) -> None:
        if self.rows and self.rows[-1]:
            self._place_cells_from_above()


def is_header(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> bool:
    """Whether the first row names the columns: several cells, all filled, all different and without numbers.

    Its first cell may be empty where that of every other row is filled: it stands above the names of the rows.
    """
    first = [cell for cell, width in zip(rows[0], widths, strict=True) if width]
    is_corner = not first[0] and all(row and row[0] for row in rows[1:])
    named = first[1:] if is_corner else first
    return (
        len(first) > 1
        and all(cell and (is_corner or not cell[0].isdigit()) for cell in named)
        and len({cell.lower() for cell in named}) == len(named)
        and len(rows[0]) >= max(len(row) for row in rows)
    )


def header_depth(rows: Sequence[Sequence[str]], widths: Sequence[Sequence[int]]) -> int:
    """The number of rows that name the columns: below a cell over several columns stand their own names."""
    depth = 1
    while depth < min(len(rows) - 1, len(widths)) and any(width > 1 for width in widths[depth - 1]):
        above, row, spans = rows[depth - 1], rows[depth], widths[depth - 1]
        for i, cell in enumerate(row):
            is_under = i < len(spans) and spans[i] != 1
            if is_under and (not cell or any(letter.isdigit() for letter in cell)):
                return depth
            if not is_under and cell and (i >= len(above) or cell != above[i]):
                return depth
        depth += 1
    return depth


def joined_names(header: Sequence[tuple[Sequence[str], Sequence[int]]]) -> list[str]:
    """One name for each column, from above to below: "Half day" over "Weekday" is "Half day Weekday"."""
    columns = max(len(row) for row, _ in header)
    names: list[list[str]] = [[] for _ in range(columns)]
    for row, widths in header:
        name = ""
        for i, cell in enumerate(row):
            name = cell if i >= len(widths) or widths[i] else name
            if name and name not in names[i]:
                names[i].append(name)
    joined = [" ".join(parts) for parts in names]
    # Of columns that share their only name the first one has it: a row must not give a name two values.
    return [name if name not in joined[:i] else "" for i, name in enumerate(joined)]
