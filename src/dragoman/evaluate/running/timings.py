"""Timings, kept apart from repeatable figures so that result files are byte-identical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dragoman.evaluate.results import Figure, Result


def split_repeatable(result: Result) -> tuple[Result, Result]:
    """Split a result into its repeatable part and its timings: columns of seconds and plots of them."""
    return _columns(result, repeatable=True), _columns(result, repeatable=False)


def _columns(result: Result, *, repeatable: bool) -> Result:
    tables = []
    for table in result.tables:
        places = [index for index, column in enumerate(table.columns) if column.repeatable == repeatable]
        rows = tuple(replace(row, cells=tuple(row.cells[index] for index in places)) for row in table.rows)
        tables.append(replace(table, columns=tuple(table.columns[index] for index in places), rows=rows))
    figures = tuple(figure for figure in result.figures if _is_timed(figure, result) != repeatable)
    return replace(result, tables=tuple(tables), figures=figures)


def _is_timed(figure: Figure, result: Result) -> bool:
    timed = {column.title for table in result.tables for column in table.columns if not column.repeatable}
    return bool(timed & {figure.x, figure.y, *(series.name for series in figure.series)})


def join_timings(repeatable: Result, times: Result, order: Sequence[str]) -> Result:
    """The inverse of `split_repeatable`; `order` are the titles of all columns as the experiment has them."""
    tables = []
    for one, other in zip(repeatable.tables, times.tables, strict=True):
        places = sorted(
            [(column, index, False) for index, column in enumerate(one.columns)]
            + [(column, index, True) for index, column in enumerate(other.columns)],
            key=lambda place: order.index(place[0].title) if place[0].title in order else len(order),
        )
        rows = tuple(
            replace(row, cells=tuple((twin if timed else row).cells[index] for _, index, timed in places))
            for row, twin in zip(one.rows, other.rows, strict=True)
        )
        tables.append(replace(one, columns=tuple(column for column, _, _ in places), rows=rows))
    return replace(repeatable, tables=tuple(tables), figures=(*repeatable.figures, *times.figures))
