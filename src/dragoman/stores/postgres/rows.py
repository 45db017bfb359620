"""Rows of one scope in PostgreSQL: check and translate the shared statements, and convert values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.core.values import Receipt, Scope
from dragoman.stores.erasure_hold import moved, scope_digest
from dragoman.stores.postgres.dialect import Statement, bulk, escape, translate, unescape
from dragoman.stores.postgres.errors import lost_place
from dragoman.stores.sqlite.database import check_scoped
from dragoman.stores.vectors import DTYPE

if TYPE_CHECKING:
    from psycopg.types import TypeInfo

    from dragoman.stores.engine import Bindings
    from dragoman.stores.postgres.schema import Connection, Cursor
    from dragoman.stores.rows import Cell


_MOST_ROWS, _MOST_TEXT = 256, 2**22  # of one statement: rows, and characters in them
_LEAVE = "DELETE FROM line WHERE line = %s AND ticket = %s"


class PostgresRows:
    """Access to the rows of one scope: every statement is checked, and its tenant and user come from the scope.

    Row-level security restricts the transaction to the same scope.
    """

    def __init__(self, connection: Connection, scope: Scope) -> None:
        self._connection = connection
        self._scope = scope
        self._keys = {"tenant": scope.tenant, "user": scope.user}

    def rows(self, sql: str, **bindings: Cell) -> list[tuple[Cell, ...]]:
        """Run one statement and fetch all its rows."""
        cursor = self.sent(sql, **bindings)
        return cursor.fetchall() if cursor.description else []

    def sent(self, sql: str, **bindings: Cell) -> Cursor:
        """Run one statement, or within a pipeline only send it: its rows are there when the pipeline ends."""
        check_scoped(sql)
        statement = translate(sql)
        return self._connection.cursor(binary=True).execute(statement.sql, self._bound(statement, bindings))

    def run(self, sql: str, **bindings: Cell) -> int:
        """Run one statement and return the number of rows that it changed."""
        check_scoped(sql)
        statement = translate(sql)
        return self._connection.execute(statement.sql, self._bound(statement, bindings)).rowcount

    def many(self, sql: str, rows: Iterable[Bindings]) -> None:
        """Run one statement for each row."""
        check_scoped(sql)
        statement = translate(sql)
        bound = [self._bound(statement, row) for row in rows]
        at_once = bulk(sql) if len(bound) > 1 else None
        if at_once is not None:
            for part in _parts(bound):
                arrays = {name: [row[name] for row in part] for name in at_once.columns}
                self._connection.execute(at_once.sql, arrays | self._keys)
        elif bound:
            with self._connection.cursor() as cursor:
                cursor.executemany(statement.sql, bound)

    def tick(self) -> int:
        """The next value of the clock; a writing transaction holds its scope, so a scope's ticks are in order."""
        return self._numbers("SELECT nextval('ticks')")[0]

    def erasures(self) -> int:
        """The number of times that data of the scope was erased."""
        return counted_erasures(erasures_cursor(self._connection, self._scope))

    def count_erasure(self) -> None:
        """Count one more, with the transaction that erases."""
        sql = """INSERT INTO erasures AS e VALUES (%s, 1) ON CONFLICT (scope) DO UPDATE SET count = e.count + 1
            RETURNING count"""
        moved(self._scope, self._numbers(sql, scope_digest(self._scope))[0])

    def new_keys(self, count: int) -> Sequence[int]:
        """Numbers for new rows."""
        return self._numbers("SELECT nextval('passage_keys') FROM generate_series(1, %s)", count)

    def append(self, sql: str, rows: Iterable[Bindings], under: Receipt | None) -> None:
        """Add rows and return a ticket; if the ticket is gone, another turn may be running, and nothing is stored."""
        with self._connection.pipeline():
            left = None
            if under is not None and under.ticket:
                left = self._connection.execute(_LEAVE, (under.line, under.ticket))
            self.many(sql, rows)
        if left is not None and not left.rowcount:
            raise lost_place()

    def tune(self, **settings: object) -> None:
        """Set planner options for the rest of the transaction."""
        for name, value in settings.items():
            self._connection.execute("SELECT set_config(%s, %s, true)", (name.replace("__", "."), str(value)))

    def _numbers(self, sql: str, *values: int | bytes) -> list[int]:
        return [int(cells[0]) for cells in self._connection.execute(sql, values).fetchall()]

    def _bound(self, statement: Statement, bindings: Bindings) -> dict[str, Any]:
        bound: dict[str, Any] = {**bindings, **self._keys}
        for name in statement.lists:
            bound[name] = json.loads(bound[name])
        if isinstance(bound.get("vector"), bytes):
            from pgvector import Vector

            bound["vector"] = Vector(np.frombuffer(bound["vector"], dtype=DTYPE))
        return bound


def erasures_cursor(connection: Connection, scope: Scope) -> Cursor:
    """Ask for the erasures of a scope; within a pipeline the answer is there when it ends."""
    return connection.execute("SELECT count FROM erasures WHERE scope = %s", (scope_digest(scope),))


def counted_erasures(cursor: Cursor) -> int:
    row = cursor.fetchone()
    return int(row[0]) if row else 0


def _parts(bound: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Rows in batches that fit into one statement."""
    part: list[dict[str, Any]] = []
    size = 0
    for row in bound:
        part.append(row)
        size += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(part) == _MOST_ROWS or size > _MOST_TEXT:
            yield part
            part, size = [], 0
    if part:
        yield part


def adapt(connection: Connection, info: TypeInfo) -> None:
    """Register adapters for text that may hold NUL, and for vectors as bytes."""
    from pgvector.psycopg.vector import register_vector_info
    from psycopg.adapt import Loader
    from psycopg.pq import Format
    from psycopg.types.string import StrBinaryDumper, StrDumper, TextBinaryLoader

    class Text(StrDumper):
        def dump(self, obj: str) -> Any:
            return super().dump(escape(obj))

    class BinaryText(StrBinaryDumper):
        def dump(self, obj: str) -> Any:
            return super().dump(escape(obj))

    class TextLoader(TextBinaryLoader):
        def load(self, data: Any) -> Any:
            return unescape(str(super().load(data)))

    class VectorLoader(Loader):
        format = Format.BINARY

        def load(self, data: Any) -> bytes:
            return np.frombuffer(data, dtype=">f4", offset=4).astype(DTYPE).tobytes()

    register_vector_info(connection, info)
    connection.adapters.register_dumper(str, BinaryText)  # within arrays; what comes last is taken for a single text
    connection.adapters.register_dumper(str, Text)
    connection.adapters.register_loader("text", TextLoader)
    connection.adapters.register_loader(info.oid, VectorLoader)
