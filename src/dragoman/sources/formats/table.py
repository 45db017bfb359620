"""Rows of a document's table, with merged cells filled in, as the lines of a section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dragoman.sources.document import DocumentBlock, column_names, row_text, unwrap

MOST_CELLS = 1_000
"""Most cells of a row: a repeat count of a few bytes must not unfold into millions."""


class TableRows:
    """Collects rows; a cell that continues the one above repeats its text."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.has_header = False

    def begin_row(self) -> None:
        self.rows.append([])

    def cell(self, text: str, *, columns: int = 1, continues: bool = False) -> None:
        """Add a cell that is `columns` wide."""
        if not self.rows:
            self.begin_row()
        row = self.rows[-1]
        if continues and len(self.rows) > 1 and len(self.rows[-2]) > len(row):
            text = self.rows[-2][len(row)]
        width = max(1, min(columns, MOST_CELLS - len(row)))
        row.extend([unwrap(text), *[""] * (width - 1)])

    def blocks(self, meta: Mapping[str, str] | None = None) -> Iterator[DocumentBlock]:
        """The rows, each as a line that names its columns."""
        rows = [row for row in self.rows if any(row)]
        names: list[str] = []
        if len(rows) > 1 and (self.has_header or _is_header(rows)):
            names, head = column_names(rows.pop(0))
            if head:
                yield DocumentBlock(head, meta=meta or {})
        for row in rows:
            yield DocumentBlock(f"- {row_text(names, row)}", "line", meta=meta or {})


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: several cells, all filled, all different and without numbers."""
    first = rows[0]
    return (
        len(first) > 1
        and all(cell and not cell[0].isdigit() for cell in first)
        and len({cell.lower() for cell in first}) == len(first)
        and len(rows[0]) >= max(len(row) for row in rows)
    )
