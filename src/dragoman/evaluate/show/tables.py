"""Print a result as tables for the terminal, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from dragoman.core.codec import Json, decode, encode
from dragoman.core.errors import InputError
from dragoman.evaluate.results import (
    TESTS,
    Column,
    Result,
    ResultCell,
    SystemRow,
    Table,
    best,
    figure_text,
    legend,
    paper_text,
    summary,
    turns_text,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

_ARROWS = {"up": " ↑", "down": " ↓", "none": ""}
_GAP = 2
_RULES = 1
"""What a table's frame takes beside each column, drawn or not."""
_LEAST_NAME = 16


def terminal(result: Result, width: int) -> Iterator[RenderableType]:
    """The result for a console of the given width; a table that is too wide is split, without losing a figure."""
    from rich.text import Text

    for table in result.tables:
        yield Text(summary(table), style="bold")
        for columns, stacked in _fitted(table, width):
            yield _rich_table(table, columns, stacked=stacked, width=width)
        for line in legend(result, table):
            yield Text(line, style="dim")
        yield Text("")


def _fitted(table: Table, width: int) -> list[tuple[list[int], bool]]:
    """The columns of each part of a table, and whether the paper's figures stand below ours."""
    every = list(range(len(table.columns)))
    name = 2 * _RULES + _name_width(table, width)
    if name + sum(_width(table, index, stacked=False) for index in every) <= width:
        return [(every, False)]
    parts: list[list[int]] = [[]]
    used = name
    for index in every:
        wide = _width(table, index, stacked=True)
        if parts[-1] and used + wide > width:
            parts.append([])
            used = name
        parts[-1].append(index)
        used += wide
    return [(part, True) for part in parts]


def _name_width(table: Table, width: int) -> int:
    from rich.cells import cell_len

    names = [text for row in table.rows for text in (row.group, _system_text(table, row))]
    longest = max([len("system"), *(cell_len(name) for name in names)])
    return min(longest, max(_LEAST_NAME, width // 3))


def _width(table: Table, index: int, *, stacked: bool) -> int:
    from rich.cells import cell_len

    texts = [
        _header(table, index),
        *(_cell_text(row.cells[index], table.columns[index], stacked) for row in table.rows),
    ]
    return _RULES + _GAP + max(cell_len(line) for text in texts for line in text.split("\n"))


def _header(table: Table, index: int) -> str:
    column = table.columns[index]
    return f"{column.title}{_ARROWS[column.direction]}\n{turns_text(table, index)}"


def _cell_text(cell: ResultCell, column: Column, stacked: bool) -> str:
    figure, paper = figure_text(cell, column), paper_text(cell, column)
    if not paper:
        return figure
    return f"{figure}\n{paper}" if stacked else f"{figure} ({paper})"


def _system_text(table: Table, row: SystemRow) -> str:
    return f"{row.system} (baseline)" if row.system == table.baseline and len(table.rows) > 1 else row.system


def _rich_table(table: Table, columns: Sequence[int], *, stacked: bool, width: int) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    made = RichTable(box=SIMPLE_HEAD, pad_edge=False, padding=(0, _GAP, 0, 0), collapse_padding=True)
    made.add_column(Text("system"), overflow="fold", max_width=_name_width(table, width))
    for index in columns:
        made.add_column(Text(_header(table, index)), justify="right", no_wrap=True)
    tops = [best(table, index) for index in range(len(table.columns))]
    group = ""
    for row in table.rows:
        if row.group != group:
            group = row.group
            made.add_section()
            made.add_row(Text(group, style="italic"))
        cells = [
            Text(
                _cell_text(row.cells[index], table.columns[index], stacked),
                style=_style(row.cells[index], tops[index]),
            )
            for index in columns
        ]
        made.add_row(Text(_system_text(table, row)), *cells)
    return made


def _is_best(cell: ResultCell, top: float | None) -> bool:
    return top is not None and cell.status == "measured" and cell.value == top


def _style(cell: ResultCell, top: float | None) -> str:
    if _is_best(cell, top):
        return "bold"
    return "" if cell.status == "measured" else "dim"


def markdown(result: Result) -> str:
    """The result as Markdown, one table a set."""
    lines = [f"# {_escaped(result.title)}", ""]
    if result.about:
        lines += [result.about, ""]
    for table in result.tables:
        lines += [f"## {_escaped(summary(table))}", ""]
        heads = [_escaped(_header(table, index).strip()).replace("\n", "<br>") for index in range(len(table.columns))]
        lines.append(f"| system | {' | '.join(heads)} |")
        lines.append(f"|---|{'---:|' * len(heads)}")
        tops = [best(table, index) for index in range(len(table.columns))]
        group = ""
        for row in table.rows:
            if row.group != group:
                group = row.group
                lines.append(f"| *{_escaped(group)}* |{' |' * len(heads)}")
            cells = [
                _bold(_cell_text(cell, column, False), _is_best(cell, tops[index]))
                for index, (cell, column) in enumerate(zip(row.cells, table.columns, strict=True))
            ]
            lines.append(f"| {_escaped(_system_text(table, row))} | {' | '.join(cells)} |")
        lines.append("")
        lines += [f"- {_escaped(line)}" for line in legend(result, table)]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _bold(text: str, best: bool) -> str:
    figure, space, rest = _escaped(text).partition(" ")
    return f"**{figure}**{space}{rest}" if best else f"{figure}{space}{rest}"


def _escaped(text: str) -> str:
    for char in ("\\", "|", "*", "_", "<", "`"):
        text = text.replace(char, f"\\{char}")
    return text


def csv_text(result: Result) -> str:
    """One line a cell, in full precision and the metric's own unit; `scale` leads to printed units."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            *("set", "group", "system", "column", "metric", "direction", "scale", "status", "value", "n", "error"),
            *("low", "high", "baseline", "difference"),
            *(f"{part}{name}" for name in TESTS for part in ("p ", "Holm p ")),
            "paper (printed units)",
        ]
    )
    for table in result.tables:
        for row in table.rows:
            for cell, column in zip(row.cells, table.columns, strict=True):
                tests = {test.name: test for test in cell.tests}
                ps = [
                    value
                    for name in TESTS
                    for value in ((tests[name].p, tests[name].adjusted) if name in tests else (None, None))
                ]
                head = [table.data, row.group, row.system, column.title, column.metric, column.direction, column.scale]
                numbers = [cell.value, cell.n, cell.error, cell.low, cell.high]
                baseline = table.baseline if cell.difference is not None else None
                writer.writerow([*head, cell.status, *numbers, baseline, cell.difference, *ps, cell.paper])
    return text.getvalue()


def result_json(result: Result) -> str:
    """The result as JSON that every reader takes: an open bound is null."""
    data = cast(dict[str, Any], encode(result))
    _each_column(data, lambda bound, _: bound if math.isfinite(bound) else None)
    return json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"


def result_of(text: str, where: str = "the result") -> Result:
    """The inverse of `result_json`."""
    try:
        data = json.loads(text)
        _each_column(data, lambda bound, sign: sign * math.inf if bound is None else bound)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{where} is not a result: {error}.", remedy="Was it written by `dragoman evaluate`?"
        ) from error
    return decode(Result, data)


def _each_column(data: dict[str, Any], change: Callable[[Any, int], Any]) -> None:
    for table in data["tables"]:
        for column in table["columns"]:
            low, high = column["bounds"]
            column["bounds"] = [change(low, -1), change(high, 1)]


def plain(value: Json) -> Json:
    """JSON without NaN and infinity, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return value
