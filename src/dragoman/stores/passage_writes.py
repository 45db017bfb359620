"""Write, supersede and delete passages in the tables, within a transaction of the store."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dragoman.core.errors import InputError
from dragoman.core.values import Passage, SourceName
from dragoman.stores.rows import COLUMNS, Analyse, Cell, check_source, digest, digest_of, from_cells, lines_of, to_cells

if TYPE_CHECKING:
    from dragoman.stores.engine import ScopedRows
    from dragoman.stores.index.index_manager import Purge

_PRESENT = """SELECT p.id, p.seq, p.source, p.digest, p.length, p.superseded_by IS NULL, v.vector
    FROM passages AS p LEFT JOIN vectors AS v
    ON v.tenant = :tenant AND v.user = :user AND v.source = p.source AND v.seq = p.seq
    WHERE p.tenant = :tenant AND p.user = :user AND p.id IN (SELECT value FROM json_each(:ids))"""
_ROWS = """SELECT seq, source, length, superseded_by IS NULL FROM passages
    WHERE tenant = :tenant AND user = :user AND id IN (SELECT value FROM json_each(:ids))"""
_NAMES = f"{COLUMNS}, digest, tokens, length, changed".split(", ")
_INSERT = f"""INSERT INTO passages (tenant, user, seq, {", ".join(_NAMES)})
    VALUES (:tenant, :user, :seq, {", ".join(f":{name}" for name in _NAMES)})"""
_UPDATE = f"""UPDATE passages SET {", ".join(f"{name} = :{name}" for name in _NAMES)}, superseded_by = NULL
    WHERE tenant = :tenant AND user = :user AND seq = :seq"""
# The vector row repeats the columns that a search filters by, so that the search reads no other table.
PUT_VECTOR = """INSERT INTO vectors (tenant, user, source, seq, id, parent, superseded, vector)
    VALUES (:tenant, :user, :source, :seq, :id, :parent, 0, :vector)
    ON CONFLICT (tenant, user, source, seq)
    DO UPDATE SET parent = excluded.parent, superseded = 0, vector = excluded.vector"""
_DROP_VECTOR = """DELETE FROM vectors WHERE tenant = :tenant AND user = :user AND source = :source AND seq = :seq"""
_VECTOR_KEYS = ("source", "seq", "id", "parent")
_DELETE = "DELETE FROM passages WHERE tenant = :tenant AND user = :user AND seq = :seq"
_SUPERSEDED_META = f"""SELECT {COLUMNS} FROM passages
    WHERE tenant = :tenant AND user = :user AND seq = :seq"""
_PUT_META = """UPDATE passages SET meta = :meta, digest = :digest
    WHERE tenant = :tenant AND user = :user AND seq = :seq"""
_SUPERSEDE = """UPDATE passages SET superseded_by = :by, changed = :changed
    WHERE tenant = :tenant AND user = :user AND seq = :seq"""
_SUPERSEDE_VECTOR = """UPDATE vectors SET superseded = 1
    WHERE tenant = :tenant AND user = :user AND source = :source AND seq = :seq"""
_ENCODERS = """SELECT source, encoder, encoding FROM places
    WHERE tenant = :tenant AND user = :user AND encoder <> ''"""
# Rows without vectors wait for their own encoder, which is not ours.
_AWAIT = """UPDATE places SET encoding = 'fill'
    WHERE tenant = :tenant AND user = :user AND source = :source AND encoding = ''"""
_ENCODED = """UPDATE places SET encoder = :encoder
    WHERE tenant = :tenant AND user = :user AND source = :source AND encoder = ''"""
_ACCOUNT = """INSERT INTO places (tenant, user, source, counter, live, length)
    VALUES (:tenant, :user, :source, :counter, :live, :length)
    ON CONFLICT (tenant, user, source) DO UPDATE SET counter = excluded.counter, live = places.live + excluded.live,
    length = places.length + excluded.length"""


@dataclass(frozen=True, slots=True)
class _Present:
    """A row of the table."""

    seq: int
    source: SourceName
    digest: bytes
    length: int
    live: bool
    vector: bytes | None


@dataclass(frozen=True, slots=True)
class _RowChange:
    """A row to write: an update of an existing row, or a new one."""

    passage: Passage
    vector: bytes | None
    present: _Present | None


class PassageBatch:
    """A batch of passages to write; only new or changed ones are analysed and written.

    The vectors are those of `encoder` ("": of any). A source that has vectors of another one takes none.
    """

    def __init__(
        self,
        passages: Sequence[Passage],
        vectors: Sequence[bytes | None],
        analyse: Analyse,
        *,
        encoder: str = "",
    ) -> None:
        self._encoder = encoder
        self._encoders: dict[SourceName, str] = {}
        self._refusing: frozenset[SourceName] = frozenset()
        self._given = {passage.id: (passage, vector) for passage, vector in zip(passages, vectors, strict=True)}
        self._line_of = lines_of(analyse)
        self._ids = json.dumps(list(self._given))
        self._lines: dict[str, str] = {}
        self._found: tuple[object, ...] | None = None
        self._changes: list[_RowChange] = []

    def plan(self, rows: ScopedRows) -> None:
        """Compare the batch with the stored rows, and analyse the passages to write."""
        present_rows = rows.rows(_PRESENT, ids=self._ids)
        encoders = rows.rows(_ENCODERS) if self._encoder else []
        if (present_rows, encoders) == self._found:
            return  # no row of the batch changed since the last plan
        self._found = (present_rows, encoders)
        self._encoders = {str(source): str(encoder) for source, encoder, _ in encoders}
        self._refusing = frozenset(
            str(source) for source, encoder, phase in encoders if encoder != self._encoder or phase == "clear"
        )
        present = {str(cells[0]): _present(cells[1:]) for cells in present_rows}
        self._changes = []
        for id_, (passage, vector) in self._given.items():
            own_vector = None if passage.source in self._refusing else vector
            change = _compare(passage, own_vector, present.get(id_))
            if change is not None:
                self._changes.append(change)
                if id_ not in self._lines:
                    self._lines[id_] = self._line_of(passage.indexed)

    @property
    def rewritten(self) -> dict[SourceName, list[int]]:
        """The existing rows that the batch updates, by source."""
        keys: dict[SourceName, list[int]] = defaultdict(list)
        for change in self._changes:
            if change.present is not None:
                keys[change.passage.source].append(change.present.seq)
        return dict(keys)

    def write(self, rows: ScopedRows) -> int:
        """Write the planned rows and return their number."""
        if not self._changes:
            return 0
        tick, keys = rows.tick(), iter(rows.new_keys(sum(change.present is None for change in self._changes)))
        inserts: list[dict[str, Cell]] = []
        updates: list[dict[str, Cell]] = []
        vectors: list[dict[str, Cell]] = []
        accounts = Accounts()
        for change in self._changes:
            passage, present = change.passage, change.present
            tokens = self._lines[passage.id]
            length = tokens.count(" ") + 1 if tokens else 0
            cells = to_cells(passage)
            cells["digest"] = digest_of(cells.values())
            cells["tokens"], cells["length"], cells["changed"] = tokens, length, tick
            cells["seq"] = present.seq if present else next(keys)
            (updates if present else inserts).append(cells)
            if present or change.vector is not None:  # a new row has no vector to delete
                vectors.append({name: cells[name] for name in _VECTOR_KEYS} | {"vector": change.vector})
            if present and present.live:
                accounts.add(passage.source, -1, -present.length)
            accounts.add(passage.source, 1, length)
        rows.many(_INSERT, inserts)
        rows.many(_UPDATE, updates)
        rows.many(_DROP_VECTOR, (vector for vector in vectors if vector["vector"] is None))
        rows.many(PUT_VECTOR, (vector for vector in vectors if vector["vector"] is not None))
        accounts.write(rows, tick)
        if self._encoder:
            self._note_encoder(rows)
        return len(self._changes)

    def _note_encoder(self, rows: ScopedRows) -> None:
        """Record whose vectors a source has, and where rows were written without any because they were another's."""
        encoded = {change.passage.source for change in self._changes if change.vector is not None}
        for source in encoded - set(self._encoders):
            rows.rows(_ENCODED, source=source, encoder=self._encoder)
        for source in {change.passage.source for change in self._changes} & self._refusing:
            rows.rows(_AWAIT, source=source)


class Accounts:
    """The live rows and tokens that each source gains or loses in a transaction."""

    def __init__(self) -> None:
        self._totals: dict[SourceName, tuple[int, int]] = {}

    def add(self, source: SourceName, live: int, length: int) -> None:
        rows, tokens = self._totals.get(source, (0, 0))
        self._totals[source] = (rows + live, tokens + length)

    def write(self, rows: ScopedRows, tick: int) -> None:
        """Add the changes to the counters of each source, which also invalidates caches and indexes."""
        for source, (live, length) in self._totals.items():
            rows.rows(_ACCOUNT, source=source, counter=tick, live=live, length=length)


def remove(rows: ScopedRows, ids: Sequence[str], purge: Purge) -> int:
    """Delete rows by id, from the indexes first; return the number deleted."""
    removed = rows.rows(_ROWS, ids=json.dumps(list(ids)))
    keys: dict[SourceName, list[int]] = defaultdict(list)
    accounts = Accounts()
    for seq, source, length, live in removed:
        keys[str(source)].append(int(seq or 0))
        accounts.add(str(source), -1 if live else 0, -int(length or 0) if live else 0)
    for source_name, source_keys in keys.items():
        purge(source_name, source_keys)
        rows.many(_DROP_VECTOR, [{"source": source_name, "seq": key} for key in source_keys])
        rows.many(_DELETE, [{"seq": key} for key in source_keys])
    if removed:
        accounts.write(rows, rows.tick())
    return len(removed)


def supersede(rows: ScopedRows, id: str, by: str, purge: Purge, meta: Mapping[str, str] | None = None) -> None:
    """Mark a row as replaced, add to its meta, and remove it from the indexes."""
    cells = rows.rows(_ROWS, ids=json.dumps([id]))
    if not cells:
        raise InputError(f"There is no row '{id}' to supersede.", remedy="Give the id of a stored row.")
    seq, source, length, live = cells[0]
    tick, accounts = rows.tick(), Accounts()
    purge(str(source), [int(seq or 0)])
    rows.rows(_SUPERSEDE, seq=seq, by=by, changed=tick)
    rows.rows(_SUPERSEDE_VECTOR, source=source, seq=seq)
    if meta:
        passage = from_cells(rows.rows(_SUPERSEDED_META, seq=seq)[0])
        changed = to_cells(replace(passage, meta={**passage.meta, **meta}))
        rows.rows(_PUT_META, seq=seq, meta=changed["meta"], digest=digest_of(changed.values()))
    accounts.add(str(source), -1 if live else 0, -int(length or 0) if live else 0)
    accounts.write(rows, tick)


def _present(cells: Sequence[Cell]) -> _Present:
    seq, source, mark, length, live, vector = cells
    assert isinstance(mark, bytes) and (vector is None or isinstance(vector, bytes))
    return _Present(int(seq or 0), str(source), mark, int(length or 0), bool(live), vector)


def _compare(passage: Passage, vector: bytes | None, present: _Present | None) -> _RowChange | None:
    if present is None:
        return _RowChange(passage, vector, None)
    check_source(passage, present.source)
    if present.digest != digest(passage):
        return _RowChange(passage, vector, present)
    if present.live and vector in (None, present.vector):
        return None
    return _RowChange(passage, vector or present.vector, present)
