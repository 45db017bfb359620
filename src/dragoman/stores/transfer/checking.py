"""Check a store's consistency: every passage against its digest, every source against its counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dragoman.core.values import Scope
from dragoman.stores.rows import COLUMNS, digest, from_cells

if TYPE_CHECKING:
    from dragoman.stores.engine import Engine
    from dragoman.stores.sql_store import TableStore

_PAGE = 500
_COUNTED = """SELECT source, count(*), sum(length) FROM passages
    WHERE tenant = :tenant AND user = :user AND superseded_by IS NULL GROUP BY source ORDER BY source"""
_NOTED = """SELECT source, live, length FROM places
    WHERE tenant = :tenant AND user = :user AND live > 0 ORDER BY source"""
_SOURCES = "SELECT source FROM places WHERE tenant = :tenant AND user = :user ORDER BY source"
_ROWS = f"""SELECT seq, digest, {COLUMNS} FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND seq > :last ORDER BY seq LIMIT {_PAGE}"""
_STRAY = """SELECT count(*) FROM vectors AS v LEFT JOIN passages AS p
    ON p.tenant = :tenant AND p.user = :user AND p.seq = v.seq
    WHERE v.tenant = :tenant AND v.user = :user AND p.seq IS NULL"""


def problems(store: TableStore) -> Iterator[str]:
    """Inconsistencies of a store. They name rows by scope and id, never by their text."""
    yield from store.verify().problems
    for scope in store.scopes():
        yield from _scope_problems(store.engine, scope)


def _scope_problems(engine: Engine, scope: Scope) -> Iterator[str]:
    name = f"{scope.tenant}/{scope.user}"
    with engine.reading(scope) as rows:
        counted = [(source, int(n or 0), int(length or 0)) for source, n, length in rows.rows(_COUNTED)]
        noted = [(source, int(n or 0), int(length or 0)) for source, n, length in rows.rows(_NOTED)]
        strays = int(rows.rows(_STRAY)[0][0] or 0)
        sources = [str(cells[0]) for cells in rows.rows(_SOURCES)]
    if counted != noted:
        yield f"{name}: the counts of its sources are wrong"
    if strays:
        yield f"{name}: {strays} vectors belong to no passage"
    for source in sources:
        last = 0
        while True:
            with engine.reading(scope) as rows:
                page = rows.rows(_ROWS, source=source, last=last)
            for cells in page:
                last = int(cells[0] or 0)
                if digest(from_cells(cells[2:])) != cells[1]:
                    yield f"{name}: the passage '{cells[2]!s}' is not what was written"
            if len(page) < _PAGE:
                break
