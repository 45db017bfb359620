"""Results of an experiment: tables of cells with intervals, tests and the paper's figures, and their wording.

Ours and the paper's figure stand side by side; a missing figure says why it is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal, TypeAlias, cast

from dragoman.core.codec import Json
from dragoman.core.html import table as html_table
from dragoman.core.quick import quick
from dragoman.core.trace import Reply
from dragoman.core.values import Usage

NO_USAGE = Usage()
Status: TypeAlias = Literal[
    "measured", "not built", "not trained", "no data", "no model", "not run", "no turns", "not available"
]
TESTS = ("paired bootstrap", "wilcoxon", "mcnemar")
_LEVELS = ((0.01, "**"), (0.05, "*"))


@quick
@dataclass(frozen=True, slots=True)
class Outcome:
    """Reply of a system to one turn with its trace and model usage.

    `usage` counts model calls and tokens of every role, `encoded` the texts that an encoder read.
    """

    example: str
    reply: Reply
    usage: Usage = NO_USAGE
    encoded: int = 0


@dataclass(frozen=True, slots=True)
class Test:
    """Comparison with the baseline; `adjusted` is the p-value after Holm's correction over the table's column."""

    __test__ = False  # not a test of ours

    name: Literal["paired bootstrap", "wilcoxon", "mcnemar"]
    p: float
    adjusted: float


@dataclass(frozen=True, slots=True)
class ResultCell:
    """One figure in the metric's own unit; the column defines its scale in print."""

    status: Status
    value: float | None = None
    n: int = 0
    error: float | None = None
    low: float | None = None
    high: float | None = None
    difference: float | None = None
    tests: tuple[Test, ...] = ()
    paper: float | None = None
    details: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table: `scale` and `digits` are for print; `paper` figures are in printed units."""

    title: str
    metric: str
    direction: Literal["up", "down", "none"]
    bounds: tuple[float, float]
    cite: str
    repeatable: bool
    scale: float
    digits: int


@dataclass(frozen=True, slots=True)
class SystemRow:
    """Figures of one system, in the order of the columns."""

    system: str
    group: str
    note: str
    cells: tuple[ResultCell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Figures of all systems on one set; `problems` are the loader's first few."""

    data: str
    title: str
    note: str
    turns: int
    dialogues: int
    baseline: str | None
    columns: tuple[Column, ...]
    rows: tuple[SystemRow, ...]
    problems: tuple[str, ...] = ()
    skipped: int = 0

    def _repr_html_(self) -> str:
        """For notebooks."""
        headers = ("system", *(column.title for column in self.columns))
        rows = [
            (row.system, *(figure_text(cell, column) for cell, column in zip(row.cells, self.columns, strict=True)))
            for row in self.rows
        ]
        return f"<p><strong>{escape(summary(self))}</strong></p>{html_table(headers, rows)}"


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one system in a figure; None marks missing values. `low` and `high` are its interval."""

    name: str
    x: tuple[float | str, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """Plot as data, without style; `diagonal` adds the line on which x equals y."""

    kind: str
    title: str
    data: str
    shape: Literal["lines", "bars", "points"]
    x: str
    y: str
    series: tuple[Series, ...]
    note: str = ""
    diagonal: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """Whole run: manifest, tables and figures."""

    experiment: str
    title: str
    about: str
    manifest: Mapping[str, Json]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()

    def _repr_html_(self) -> str:
        """For notebooks."""
        parts = [f"<h3>{escape(self.title)}</h3>"]
        for table in self.tables:
            lines = "".join(f"<li>{escape(line)}</li>" for line in legend(self, table))
            parts.append(f"{table._repr_html_()}<ul>{lines}</ul>")
        return "".join(parts)


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
    names = [name for name in TESTS if any(test.name == name for cell in cells for test in cell.tests)]
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
