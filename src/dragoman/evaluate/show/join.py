"""Join several runs: systems of the same data side by side, those of other data in tables of their own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from dragoman.core.codec import Json
from dragoman.evaluate.results import Column, Result, ResultCell, SystemRow, Table
from dragoman.evaluate.running.manifest import column_digest, data_digest

_HOLE = ResultCell("not available")
_Key: TypeAlias = tuple[str, str, str]


def join(results: Sequence[Result]) -> Result:
    """One result with the tables of all; a set that was read from other bytes keeps a table of its own."""
    if len(results) == 1:
        return results[0]
    groups: dict[tuple[str, str], list[tuple[Result, Table]]] = {}
    for result in results:
        for table in result.tables:
            groups.setdefault((table.data, data_digest(result.manifest, table.data)), []).append((result, table))
    names = [name for name, _ in groups]
    limits = {cast(Any, result.manifest.get("limit")) for result in results}
    tables = []
    for (name, _), members in groups.items():
        alone = len(members) == 1 and names.count(name) == 1
        table = members[0][1] if alone else _joined(members, apart=names.count(name) > 1)
        limit = members[0][0].manifest.get("limit")  # that of all members: another one is other data
        if len(limits) > 1 and limit is not None:
            table = replace(table, note=f"{table.note} Only its first {limit} turns were taken (--limit).".lstrip())
        tables.append(table)
    titles = list(dict.fromkeys(result.title for result in results))
    return Result(
        " + ".join(dict.fromkeys(result.experiment for result in results)),
        " + ".join(titles),
        "",
        _manifest(results),
        tuple(tables),
        tuple(figure for result in results for figure in result.figures),
    )


def _joined(members: Sequence[tuple[Result, Table]], *, apart: bool) -> Table:
    first = members[0][1]
    columns: dict[_Key, Column] = {}
    keyed = _keys(members)
    for (result, table), keys in zip(members, keyed, strict=True):
        for column, key in zip(table.columns, keys, strict=True):
            titles = {other.title for other in columns.values()}
            columns.setdefault(key, replace(column, title=_free(column.title, result.experiment, titles)))
    baselines = {table.baseline for _, table in members}
    tested = len(baselines) == 1
    rows: list[SystemRow] = []
    for (result, table), keys in zip(members, keyed, strict=True):
        for row in table.rows:
            _add(rows, _spread(row, keys, tuple(columns), tested=tested), result.experiment)
    notes = [note for note in dict.fromkeys(table.note for _, table in members) if note]
    if len(members) > 1 and tested and first.baseline is not None:
        notes.append("Every run is tested against its own row of the baseline.")
    elif not tested:
        notes.append("The runs have different baselines, so that no tests are shown.")
    if len({title for title, _, _ in columns}) < len(columns):
        notes.append("Columns of one name that were measured otherwise stand apart.")
    if apart:
        runs = ", ".join(result.experiment for result, _ in members)
        notes.append(f"Another run read other data under this name, and stands apart; this is {runs}.")
    return replace(
        first,
        note=" ".join(notes),
        baseline=first.baseline if tested else None,
        columns=tuple(columns.values()),
        rows=tuple(_by_group(rows)),
        problems=tuple(dict.fromkeys(problem for _, table in members for problem in table.problems)),
    )


def _keys(members: Sequence[tuple[Result, Table]]) -> list[list[_Key]]:
    """The keys by which columns of runs are joined: metric and options, since a title may not name the k.

    A column that was not measured is joined with the column of the same title.
    """
    keys_by_run = [
        [(column.title, column.metric, column_digest(result.manifest, column.title)) for column in table.columns]
        for result, table in members
    ]
    full_keys = {key[:2]: key for keys in reversed(keys_by_run) for key in keys if key[2]}
    return [[key if key[2] else full_keys.get(key[:2], key) for key in keys] for keys in keys_by_run]


def _spread(row: SystemRow, keys: Sequence[_Key], columns: Sequence[_Key], *, tested: bool) -> SystemRow:
    """Extend a row to the columns of all runs."""
    cells = dict(zip(keys, row.cells, strict=True))
    if not tested:
        cells = {key: replace(cell, difference=None, tests=()) for key, cell in cells.items()}
    return replace(row, cells=tuple(cells.get(key, _HOLE) for key in columns))


def _add(rows: list[SystemRow], row: SystemRow, run: str) -> None:
    """Add a row unless an equal one is there; rows of the same name that differ get the names of their runs."""
    namesakes = [other for other in rows if other.system == row.system or other.system.startswith(f"{row.system} (")]
    if any(other.cells == row.cells for other in namesakes):
        return
    rows.append(replace(row, system=_free(row.system, run, {other.system for other in rows})))


def _free(wanted: str, run: str, taken: Collection[str]) -> str:
    """A free name for a row: with the run's name and, if that is taken, a number."""
    name, number = wanted, 1
    while name in taken:
        name = f"{wanted} ({run})" if number == 1 else f"{wanted} ({run}, {number})"
        number += 1
    return name


def _by_group(rows: Sequence[SystemRow]) -> list[SystemRow]:
    groups = dict.fromkeys(row.group for row in rows)
    return [row for group in groups for row in rows if row.group == group]


def _manifest(results: Sequence[Result]) -> dict[str, Json]:
    described = [cast(Mapping[str, Any], result.manifest.get("experiment") or {}) for result in results]
    papers = list(dict.fromkeys(str(manifest["paper"]) for manifest in described if manifest.get("paper")))
    draws = {manifest.get("draws") for manifest in described}
    limits = {cast(Any, result.manifest.get("limit")) for result in results}
    return {
        "experiment": {"paper": "; ".join(papers), "draws": draws.pop() if len(draws) == 1 else "several counts of"},
        "limit": limits.pop() if len(limits) == 1 else None,
        "runs": [dict(result.manifest) for result in results],
    }
