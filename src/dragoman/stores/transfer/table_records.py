"""Read records from the tables of an engine, and write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from dragoman.core.errors import InputError
from dragoman.core.values import Scope
from dragoman.stores.dialogues import KEEP
from dragoman.stores.group_commit import APPEND
from dragoman.stores.index.index_manager import IndexManager
from dragoman.stores.passage_writes import PassageBatch, supersede
from dragoman.stores.rows import COLUMNS, Cell, from_cells
from dragoman.stores.transfer.portable import START, KeptRecord, PassageRecord, Position, Record, TurnRecord

if TYPE_CHECKING:
    from dragoman.stores.engine import ScopedRows

NOTE = "dragoman:copy"
"""Key of a note about a running copy; such notes are not content."""
ENCODER = "dragoman:encoder:"
"""Begin of the key under which a copy carries the encoder of a source's vectors, and how far a change of it is."""
_PAGE = 500
_TURN = ("dialogue", "speaker", "text", "trace", "request", "said_at")
_PASSAGES = f"""SELECT p.seq, {", ".join(f"p.{name}" for name in COLUMNS.split(", "))},
    p.tokens, v.vector, p.superseded_by FROM passages AS p LEFT JOIN vectors AS v
    ON v.tenant = :tenant AND v.user = :user AND v.source = p.source AND v.seq = p.seq
    WHERE p.tenant = :tenant AND p.user = :user AND p.source = :source AND p.seq > :last
    ORDER BY p.seq LIMIT {_PAGE}"""
# The plus signs keep SQLite from scanning the turns of all users in the order of their numbers.
_TURNS = f"""SELECT seq, dialogue, speaker, text, trace, request, said_at FROM turns
    WHERE tenant = :tenant AND user = :user AND +seq > :last ORDER BY +seq LIMIT {_PAGE}"""
_KEPT = f"""SELECT key, value FROM kept
    WHERE tenant = :tenant AND user = :user AND key > :last ORDER BY key LIMIT {_PAGE}"""
_ENCODERS = """SELECT source, encoder, encoding FROM places
    WHERE tenant = :tenant AND user = :user AND encoder <> '' ORDER BY source"""
_PUT_ENCODER = """UPDATE places SET encoder = :encoder, encoding = :encoding
    WHERE tenant = :tenant AND user = :user AND source = :source"""
_DROP = "DELETE FROM kept WHERE tenant = :tenant AND user = :user AND key = :key"


class Tables(Protocol):
    """An engine, or a snapshot of one."""

    def scopes(self) -> Sequence[Scope]: ...

    def reading(self, scope: Scope) -> AbstractContextManager[ScopedRows]: ...


class TableRecords:
    """The records of an engine's tables, page by page."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def scopes(self) -> Sequence[Scope]:
        return self._tables.scopes()

    def records(self, scope: Scope, after: Position = START) -> Iterator[tuple[Record, Position]]:
        with self._tables.reading(scope) as rows:
            sources = [source for source in IndexManager.sources(rows) if source >= after.source]
        for source in sources:
            first = after.passage if source == after.source else 0
            for cells in self._pages(scope, _PASSAGES, first, source=source):
                after = after._replace(source=source, passage=int(cells[0] or 0))
                yield _passage(cells[1:]), after
        for cells in self._pages(scope, _TURNS, after.turn):
            after = after._replace(turn=int(cells[0] or 0))
            dialogue, speaker, text, *rest = cells[1:]
            optional = [None if cell is None else str(cell) for cell in rest]
            yield TurnRecord(str(dialogue), str(speaker), str(text), *optional), after
        if after.key == START.key:
            with self._tables.reading(scope) as rows:
                encoders = rows.rows(_ENCODERS)
            for cells in encoders:
                yield KeptRecord(f"{ENCODER}{cells[0]!s}", json.dumps(cells[1:])), after
        for cells in self._pages(scope, _KEPT, after.key):
            after = after._replace(key=str(cells[0]))
            if after.key != NOTE:
                yield KeptRecord(after.key, str(cells[1])), after

    def _pages(self, scope: Scope, sql: str, last: Cell, **bindings: Cell) -> Iterator[tuple[Cell, ...]]:
        while True:
            with self._tables.reading(scope) as rows:
                page = rows.rows(sql, last=last, **bindings)
            yield from page
            if len(page) < _PAGE:
                return
            last = page[-1][0]


def write_records(rows: ScopedRows, records: Sequence[Record], notes: Mapping[str, str]) -> None:
    """Add records within a transaction; passages must be new to the scope."""
    passage_records = [record for record in records if isinstance(record, PassageRecord)]
    tokens = {record.passage.indexed: record.tokens.split() for record in passage_records}
    batch = PassageBatch(
        [record.passage for record in passage_records],
        [record.vector for record in passage_records],
        tokens.__getitem__,
    )
    batch.plan(rows)
    if batch.rewritten:
        raise InputError("A copied passage is there already.", remedy="Copy into an empty store.")
    batch.write(rows)
    for record in passage_records:
        if record.superseded_by is not None:
            supersede(rows, record.passage.id, record.superseded_by, lambda source, keys: None)
    turns = [record for record in records if isinstance(record, TurnRecord)]
    rows.many(APPEND, [_bindings(record, _TURN) for record in turns])
    kept = [record for record in records if isinstance(record, KeptRecord)]
    for note in kept:
        if note.key.startswith(ENCODER):
            encoder, encoding = json.loads(note.value)
            rows.rows(_PUT_ENCODER, source=note.key.removeprefix(ENCODER), encoder=encoder, encoding=encoding)
    own = [note for note in kept if not note.key.startswith(ENCODER)]
    rows.many(KEEP, [_bindings(note, ("key", "value")) for note in own])
    rows.many(KEEP, [{"key": key, "value": value} for key, value in notes.items()])


def drop_note(rows: ScopedRows, key: str) -> None:
    """Delete a note."""
    rows.rows(_DROP, key=key)


def _passage(cells: Sequence[Cell]) -> PassageRecord:
    *columns, tokens, vector, superseded_by = cells
    assert vector is None or isinstance(vector, bytes)
    return PassageRecord(
        from_cells(columns), str(tokens), vector, None if superseded_by is None else str(superseded_by)
    )


def _bindings(record: Record, names: Sequence[str]) -> dict[str, Cell]:
    return {name: getattr(record, name) for name in names}
