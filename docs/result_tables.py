"""Tables of results as values: made from a run, joined with earlier rows, ordered by the experiment file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.evaluate.results import (
    Column,
    Result,
    ResultCell,
    SystemRow,
    figure_text,
    paper_text,
    summary,
    turns_text,
)
from dragoman.evaluate.results import Table as RunTable

PAPER = "paper"
RERUN = "papers' baselines, run here"
"""The group of our own figures for a system of the paper."""
_FIRST = (PAPER, RERUN, "sanity", "untrained")
_ARROWS = {"up": " ↑", "down": " ↓", "none": ""}
_COLUMN = re.compile(r"(?P<name>.*?)(?: (?P<arrow>[↑↓]))?(?: \(n=[\d-]+\))?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


@dataclass
class Table:
    """One set: its heading, the command that prints it, column headings, and rows by group."""

    title: str
    command: str
    columns: list[str] = field(default_factory=list)
    groups: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    baseline: str = ""

    @property
    def key(self) -> tuple[str, bool]:
        """The set without its number of turns, and whether only its first turns were measured."""
        return self.title.partition(": ")[0], "--limit" in shlex.split(self.command)

    def rows(self, *, paper: bool) -> dict[str, list[str]]:
        """Either the paper's rows or ours."""
        chosen = [rows for group, rows in self.groups.items() if is_paper(group) is paper]
        return {name: cells for rows in chosen for name, cells in rows.items()}

    def all_rows(self) -> list[list[str]]:
        return [cells for rows in self.groups.values() for cells in rows.values()]


def tables_of(result: Result, name: str, *, systems: Sequence[str] = (), limit: int | None = None) -> list[Table]:
    """The tables of a run of experiment `name`, without rows that hold no figure."""
    made = (_table(table, _command(name, table.data, systems, limit)) for table in result.tables)
    return [table for table in made if table.groups]


def joined(old: Table, new: Table, order: Sequence[str]) -> Table:
    """The new table with the rows that only the old one has; `order` are the columns of the experiment file.

    A set with another number of turns, and a row with a figure in a column that is gone, are not kept.
    """
    if old.title != new.title:
        return new
    heads = {named(head): head for head in [*old.columns, *new.columns]}
    columns = [heads[column] for column in order if column in heads]
    groups: dict[str, dict[str, list[str]]] = {}
    measured = {(is_paper(group), row) for group, rows in new.groups.items() for row in rows}
    for table in (new, old):
        for group, rows in table.groups.items():
            for row, cells in rows.items():
                if table is old and (is_paper(group), row) in measured:
                    continue
                by_column = {named(head): cell for head, cell in zip(table.columns, cells, strict=True)}
                if any(cell and column not in order for column, cell in by_column.items()):
                    continue
                groups.setdefault(group, {})[row] = [by_column.get(named(head), "") for head in columns]
    return Table(new.title, new.command, columns, ordered(groups), new.baseline or old.baseline)


def ordered(groups: dict[str, dict[str, list[str]]]) -> dict[str, dict[str, list[str]]]:
    """The paper's groups, then baselines and untrained rows, then the rest as it comes."""

    def rank(group: str) -> int:
        return next((place for place, start in enumerate(_FIRST) if group.startswith(start)), len(_FIRST))

    return {group: groups[group] for group in sorted(groups, key=rank)}


def is_paper(group: str) -> bool:
    return group == PAPER or group.startswith(PAPER + ",")


def named(head: str) -> str:
    """A column heading without its arrow and its number of turns."""
    found = _COLUMN.fullmatch(head)
    return found["name"] if found else head


def arrow(head: str) -> str:
    found = _COLUMN.fullmatch(head)
    return (found["arrow"] or "") if found else ""


def number(cell: str) -> float | None:
    """The figure of a cell without its interval and stars."""
    return float(figure(cell)) if figure(cell) else None


def figure(cell: str) -> str:
    """A cell without its interval and stars."""
    found = _NUMBER.match(cell)
    return found.group() if found else ""


def best(rows: dict[str, list[str]], place: int, head: str) -> float | None:
    """A column's best figure among these rows; None where nothing is better or worse."""
    values = [value for cells in rows.values() if (value := number(cells[place])) is not None]
    if not values or not arrow(head):
        return None
    return max(values) if arrow(head) == "↑" else min(values)


def escaped(text: str) -> str:
    for char in ("\\", "|", "*", "_", "<", "`"):
        text = text.replace(char, f"\\{char}")
    return text


def _table(table: RunTable, command: str) -> Table:
    columns = [_head(table, place, column) for place, column in enumerate(table.columns)]
    groups: dict[str, dict[str, list[str]]] = {}
    for row in table.rows:
        for group, cells in _cells(row, table.columns):
            if any(cells):
                groups.setdefault(group, {})[row.system] = cells
    return Table(summary(table), command, columns, ordered(groups), table.baseline or "")


def _cells(row: SystemRow, columns: Sequence[Column]) -> list[tuple[str, list[str]]]:
    """The paper's figures and ours, each as a row of its own."""
    pairs = list(zip(row.cells, columns, strict=True))
    of_paper = row.group if is_paper(row.group) else PAPER
    ours = RERUN if is_paper(row.group) else row.group
    return [
        (of_paper, [paper_text(cell, column).removeprefix("paper ") for cell, column in pairs]),
        (ours, [_figure(cell, column) for cell, column in pairs]),
    ]


def _figure(cell: ResultCell, column: Column) -> str:
    return escaped(figure_text(cell, column)).replace(" ±", "±") if cell.value is not None else ""


def _head(table: RunTable, place: int, column: Column) -> str:
    turns = turns_text(table, place)
    counted = f" ({turns})" if turns and turns != f"n={table.turns}" else ""
    return f"{escaped(column.title)}{_ARROWS[column.direction]}{counted}"


def _command(name: str, data: str, systems: Sequence[str], limit: int | None) -> str:
    words = ["dragoman", "evaluate", name, "--data", data]
    words += [word for system in systems for word in ("--system", system)]
    return shlex.join([*words, *(["--limit", str(limit)] if limit else ["--train"])])
