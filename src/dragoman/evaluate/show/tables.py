"""A result as a table for the terminal, as Markdown, CSV and JSON. Nothing here computes anything new.

Ours and the paper's figure stand side by side, a hole says why it is one, and a legend says how to read the rest.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from dragoman.core.codec import Json, decode, encode
from dragoman.core.errors import InputError
from dragoman.evaluate.results import Column, Result, ResultCell, SystemRow, Table

if TYPE_CHECKING:
    from rich.console import RenderableType

_ARROWS = {"up": " ↑", "down": " ↓", "none": ""}
_LEVELS = ((0.01, "**"), (0.05, "*"))
_TESTS = ("paired bootstrap", "wilcoxon", "mcnemar")
_GAP = 2
_RULES = 1
"""What a table's frame takes beside each column, drawn or not."""
_LEAST_NAME = 16


def figure_text(cell: ResultCell, column: Column) -> str:
    """Our figure with its interval and mark of significance, or the reason why it is missing."""
    if cell.status != "measured" or cell.value is None:
        return cell.status
    text = printed(cell.value, column)
    if cell.low is not None and cell.high is not None:
        text += f" ±{(cell.high - cell.low) / 2 * column.scale:.{column.digits}f}"
    return text + mark(cell)


def printed(value: float, column: Column) -> str:
    """A value in the units and digits of its column."""
    text = f"{value * column.scale:.{column.digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def paper_text(cell: ResultCell, column: Column) -> str:
    """The paper's figure with the digits that the paper printed, or nothing."""
    if cell.paper is None:
        return ""
    printed = len(repr(cell.paper).partition(".")[2])
    return f"paper {cell.paper:.{max(column.digits, 0 if cell.paper == int(cell.paper) else printed)}f}"


def mark(cell: ResultCell) -> str:
    """Stars where every test against the baseline finds a difference."""
    if not cell.tests:
        return ""
    worst = max(test.adjusted for test in cell.tests)
    return next((stars for level, stars in _LEVELS if worst < level), "")


def best(table: Table, index: int) -> float | None:
    """The best value of a column; None if nothing was measured."""
    column = table.columns[index]
    cells = [row.cells[index] for row in table.rows]
    values = [cell.value for cell in cells if cell.status == "measured" and cell.value is not None]
    if column.direction == "none" or len(values) < 2:
        return None
    return max(values) if column.direction == "up" else min(values)


def turns_text(table: Table, index: int) -> str:
    """The number of turns behind a column's figures."""
    counts = {row.cells[index].n for row in table.rows if row.cells[index].status == "measured"}
    if not counts:
        return ""
    return f"n={min(counts)}" if len(counts) == 1 else f"n={min(counts)}-{max(counts)}"


def summary(table: Table) -> str:
    """A one-line summary of a table."""
    if not table.turns:
        return f"{table.title or table.data}: no data"
    text = f"{table.title or table.data}: {table.turns} turns of {table.dialogues} dialogues"
    if table.skipped:
        text += f", {table.skipped} rows of the file left out"
    return text


def legend(result: Result, table: Table) -> list[str]:
    """The legend of a table."""
    experiment = cast(Mapping[str, Any], result.manifest.get("experiment") or {})
    cells = [cell for row in table.rows for cell in row.cells]
    lines = []
    if any(cell.low is not None for cell in cells):
        draws = experiment.get("draws", "")
        lines.append(
            f"±: half of the 95 % interval, bootstrap over dialogues ({draws} draws).".replace(" ( draws)", "")
        )
    names = [name for name in _TESTS if any(test.name == name for cell in cells for test in cell.tests)]
    if names:
        lines.append(
            f"*, **: differs from '{table.baseline}' with p < 0.05, 0.01 by every test that applies "
            f"({', '.join(names)}), after Holm's correction over the column."
        )
    if "mcnemar" in names:
        lines.append("mcnemar: do the turns decided rightly differ? It does not say which figure is better.")
    if any(cell.paper is not None for cell in cells):
        table_name = f"Table {experiment['table']}" if experiment.get("table") else ""
        where = ", ".join(part for part in (str(experiment.get("paper") or ""), table_name) if part)
        lines.append(f"paper: as printed in {where or 'the paper'}; not measured here.")
    reasons = {
        "not built": "not built: the paper's own system, which was not built again; ours stand beside it.",
        "not trained": "not trained: the part that it runs is not here yet; --train trains a declared one.",
        "no data": "no data: what it needs to be measured on is not here.",
        "no model": "no model: the model that it needs is not here.",
        "not run": "not run: asks the language model on every turn; --slow runs it as well.",
        "no turns": "no turns: no turn of the set counts for the column.",
        "not available": "not available: the system does not say what the column reads, or that leaves it undefined.",
    }
    lines += [reason for status, reason in reasons.items() if any(cell.status == status for cell in cells)]
    if result.manifest.get("limit") is not None:
        lines.append(f"Only the first {result.manifest['limit']} turns of each set were taken (--limit).")
    only = cast("Sequence[str] | None", result.manifest.get("only"))
    lines += [f"{row.system}: {row.note}" for row in table.rows if row.note and (only is None or row.system in only)]
    if table.note:
        lines.append(table.note)
    return lines + [f"Problem: {problem}" for problem in table.problems]


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
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(
        [
            *("set", "group", "system", "column", "metric", "direction", "scale", "status", "value", "n", "error"),
            *("low", "high", "baseline", "difference"),
            *(f"{part}{name}" for name in _TESTS for part in ("p ", "Holm p ")),
            "paper (printed units)",
        ]
    )
    for table in result.tables:
        for row in table.rows:
            for cell, column in zip(row.cells, table.columns, strict=True):
                tests = {test.name: test for test in cell.tests}
                ps = [
                    value
                    for name in _TESTS
                    for value in ((tests[name].p, tests[name].adjusted) if name in tests else (None, None))
                ]
                head = [table.data, row.group, row.system, column.title, column.metric, column.direction, column.scale]
                numbers = [cell.value, cell.n, cell.error, cell.low, cell.high]
                baseline = table.baseline if cell.difference is not None else None
                writer.writerow([*head, cell.status, *numbers, baseline, cell.difference, *ps, cell.paper])
    return written.getvalue()


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
