"""A run as one page: tables, figures, how it was made. Nothing is loaded from elsewhere, so it can be sent by mail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from dragoman.evaluate.results import (
    Column,
    Figure,
    Result,
    ResultCell,
    SystemRow,
    Table,
    best,
    mark,
    paper_text,
    printed,
)
from dragoman.evaluate.show.draw import svg


def page(results: Sequence[Result]) -> str:
    """The report of one or several runs as HTML."""
    head = " · ".join(result.title for result in results)
    style = (files("dragoman.evaluate.show") / "report.css").read_text(encoding="utf-8")
    body = "\n".join(_run(result) for result in results)
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{escape(head)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _run(result: Result) -> str:
    tables = "\n".join(
        _table(table, [one for one in result.figures if one.data == table.data]) for table in result.tables
    )
    about = f"<p class='about'>{escape(result.about)}</p>" if result.about else ""
    manifest = escape(json.dumps(result.manifest, indent=1, ensure_ascii=False, sort_keys=True))
    return (
        f"<h1>{escape(result.title)}</h1>\n{about}\n{tables}\n"
        f"<details><summary>How this was made</summary><pre>{manifest}</pre></details>"
    )


def _table(table: Table, figures: Sequence[Figure]) -> str:
    heads = "".join(
        f"<th title='{escape(_reading(column), quote=True)}'>{escape(column.title)}{_arrow(column)}</th>"
        for column in table.columns
    )
    tops = [best(table, index) for index in range(len(table.columns))]
    lines, group = [], ""
    for row in table.rows:
        if row.group != group:
            group = row.group
            lines.append(f"<tr class='group'><td colspan='{1 + len(table.columns)}'>{escape(group)}</td></tr>")
        lines.append(_row(row, table, tops))
    notes = [table.note, *table.problems]
    if table.skipped:
        notes.append(f"{table.skipped} rows of the file could not be used and were left out.")
    notes_html = "".join(f"<p class='note'>{escape(note)}</p>" for note in notes if note)
    pictures = "\n".join(_figure(figure) for figure in figures)
    return (
        f"<section>\n<h2>{escape(table.title or table.data)}</h2>\n"
        f"<p class='size'>{_size(table)}</p>\n"
        f"<div class='wide'><table>\n<thead><tr><th>system</th>{heads}</tr></thead>\n<tbody>\n"
        + "\n".join(lines)
        + f"\n</tbody>\n</table></div>\n{notes_html}\n{_legend()}\n{pictures}\n</section>"
    )


def _size(table: Table) -> str:
    if not table.turns:
        return "no data"
    compared = f"; compared with {escape(table.baseline)}" if table.baseline else ""
    return f"{table.turns:,} turns of {table.dialogues:,} dialogues{compared}"


def _row(row: SystemRow, table: Table, tops: Sequence[float | None]) -> str:
    name = (
        f"<span title='{escape(row.note, quote=True)}'>{escape(row.system)}</span>" if row.note else escape(row.system)
    )
    cells = "".join(_cell(cell, column, top) for cell, column, top in zip(row.cells, table.columns, tops, strict=True))
    return f"<tr><th scope='row'>{name}</th>{cells}</tr>"


def _cell(cell: ResultCell, column: Column, top: float | None) -> str:
    paper = f"<small class='paper'>{paper_text(cell, column)}</small>" if cell.paper is not None else ""
    if cell.value is None:
        return f"<td class='none'>{escape(cell.status)}{paper}</td>"
    stars = f"<sup>{mark(cell)}</sup>" if mark(cell) else ""
    number = printed(cell.value, column)
    if top is not None and cell.value == top:
        number = f"<b>{number}</b>"
    width = ""
    if cell.low is not None and cell.high is not None:
        width = f"<small>{printed(cell.low, column)} to {printed(cell.high, column)}</small>"
    tooltip = "; ".join(
        [f"n = {cell.n}", *(f"{test.name}: p = {test.p:.3g}, Holm {test.adjusted:.3g}" for test in cell.tests)]
    )
    return f"<td title='{escape(tooltip, quote=True)}'>{number}{stars}{width}{paper}</td>"


def _arrow(column: Column) -> str:
    return {"up": " ↑", "down": " ↓", "none": ""}[column.direction]


def _reading(column: Column) -> str:
    low, high = column.bounds
    return f"{column.metric}, from {low:g} to {high:g}. {column.cite}"


def _legend() -> str:
    return (
        "<p class='legend'>Below each figure its 95 % interval (bootstrap over dialogues). *, ** differ from the "
        "baseline by every test that applies (p &lt; .05, .01 after Holm's correction over the column); hover "
        "for n and tests. Bold is a column's best. "
        "Figures marked <i>paper</i> are printed in the paper, on its own test split.</p>"
    )


def _figure(figure: Figure) -> str:
    note = f" {escape(figure.note)}" if figure.note else ""
    return f"<figure>\n{svg(figure)}\n<figcaption>{escape(figure.title)}{note}</figcaption>\n</figure>"
