"""Search in PostgreSQL: the shared word search, and vector search by pgvector, exact or by an HNSW graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dragoman.core.values import SHARED_USER, Hit, Query, Scope, SourceName
from dragoman.stores.index.feed import T
from dragoman.stores.index.index_manager import IndexManager, Progress, SourceIndex
from dragoman.stores.index.open_shards import P
from dragoman.stores.rows import COLUMNS, from_cells
from dragoman.stores.search import StoreSearch
from dragoman.stores.vectors import unit

if TYPE_CHECKING:
    from dragoman.stores.postgres.database import PostgresDatabase
    from dragoman.stores.rows import Cell

_MOST_EXPANSION = 1000  # what pgvector allows
_REWRITTEN = "SELECT rewritten FROM places WHERE tenant = :tenant AND user = :user AND source = :source"
_WIDTH = """SELECT vector_dims(vector) FROM vectors
    WHERE tenant = :tenant AND user = :user AND source = :source ORDER BY seq DESC LIMIT 1"""
_PARENTS = "AND v.parent IN (SELECT value FROM json_each(:parents))"
_PERIOD = """AND v.seq IN (SELECT m.seq FROM passages AS m
        WHERE m.tenant = :tenant AND m.user = :user AND m.source = :source AND m.moment <> ''
        AND m.moment >= :since AND (:until::text = '' OR m.moment < :until))"""
_OF_ENCODER = """AND (:encoder::text = '' OR NOT EXISTS (SELECT FROM places AS e
        WHERE e.tenant = :tenant AND e.user = :user AND e.source = :source AND e.encoder <> ''
        AND (e.encoder <> :encoder OR e.encoding = 'clear')))"""


def _nearest(distance: str, order: str, condition: str, filters: str) -> str:
    passage = ", ".join(f"p.{name}" for name in COLUMNS.split(", "))
    # LIMIT 1 makes it k lookups by key: a planner that takes a user's thousands for one row would read them k times.
    return f"""SELECT found.distance, passage.* FROM (
        SELECT v.seq, {distance} AS distance FROM vectors AS v
        WHERE v.tenant = :tenant AND v.user = :user AND v.source = :source AND v.superseded = 0 AND {condition}
        AND NOT v.id IN (SELECT value FROM json_each(:without)) {filters} {_OF_ENCODER} ORDER BY {order} LIMIT :k
    ) AS found, LATERAL (
        SELECT {passage} FROM passages AS p WHERE p.tenant = :tenant AND p.user = :user AND p.seq = found.seq LIMIT 1
    ) AS passage ORDER BY found.distance, found.seq"""


def exact_statement(*, parents: bool, timed: bool = False) -> str:
    """SQL that compares every row; vectors have unit length, so the inner product is the cosine."""
    condition = "vector_dims(v.vector) = :width"
    return _nearest("(v.vector <#> :vector)", "distance, v.seq", condition, _filters(parents, timed))


def graph_statement(width: int, *, parents: bool, timed: bool = False) -> str:
    """SQL with the expression of the index definition, so that the planner can use the graph; it may still scan."""
    distance = f"(v.vector::vector({width}) <=> :vector::vector({width}))"
    condition = f"v.user = '' AND vector_dims(v.vector) = {width}"
    return _nearest(f"{distance} - 1", distance, condition, _filters(parents, timed))


def _filters(parents: bool, timed: bool) -> str:
    return f"{_PARENTS if parents else ''} {_PERIOD if timed else ''}".strip()


class PostgresSearch(StoreSearch):
    """Word search through the shared pools and indexes; vector search by pgvector."""

    def __init__(self, database: PostgresDatabase, folder: Path, *, threshold: int) -> None:
        super().__init__(database, folder, threshold=threshold)
        self.sidecars = PostgresIndexManager(database, folder)
        self._database = database
        self._graphs: dict[int, bool] = {}

    def nearest(self, query: Query, encoder: str = "") -> list[Hit]:
        """Cosine: only rows that have vectors of the query's dimensions, and of the same encoder."""
        if query.vector is None or query.k <= 0:
            return []
        direction = unit(query.vector)
        width = len(direction)
        if not width:
            return []
        large = self._by_graph(query, width) and bool(np.any(direction))  # a zero vector has no neighbours
        filters = {"parents": query.parents is not None, "timed": query.is_timed}
        sql = graph_statement(width, **filters) if large else exact_statement(**filters)
        bindings: dict[str, Cell] = {
            "source": query.source,
            "width": width,
            "k": query.k,
            "encoder": encoder,
            "vector": direction.tobytes(),
            "without": json.dumps(sorted(query.without)),
            "parents": json.dumps(sorted(query.parents or ())),
            "since": query.since,
            "until": query.until,
        }
        if large:
            with self._database.reading(query.scope) as rows:
                expansion = min(max(100, 2 * query.k), _MOST_EXPANSION)
                rows.tune(hnsw__iterative_scan="strict_order", hnsw__ef_search=expansion)
                cell_rows = rows.rows(sql, **bindings)
        else:
            cell_rows = self._database.read(query.scope, sql, **bindings)
        return [Hit(from_cells(cells[1:]), -float(cells[0] or 0.0)) for cells in cell_rows]

    def _by_graph(self, query: Query, width: int) -> bool:
        return (
            query.scope.user == SHARED_USER
            and self.is_large(query.scope, self.sidecars.place(query.scope, query.source))
            and self._has_graph(width)
        )

    def index_vectors(self, scope: Scope, source: SourceName) -> None:
        """Build a graph for a large shared source; the server keeps it up to date."""
        if self.is_large(scope, self.sidecars.place(scope, source)):
            with self._database.reading(scope) as rows:
                widths = rows.rows(_WIDTH, source=source)
            if widths:
                self._has_graph(int(widths[0][0] or 0), wait=True)

    def _has_graph(self, width: int, *, wait: bool = False) -> bool:
        if width not in self._graphs:
            built = self._database.index_vectors(width, wait=wait)
            if built is None:
                return False  # another process is building it: search scans every row meanwhile
            self._graphs[width] = built
        return self._graphs[width]


class PostgresIndexManager(IndexManager):
    """The word indexes of a server's shared sources; each machine may have its own copy, or all share a folder."""

    def prepare(self, scope: Scope, source: SourceName) -> None:
        """Update the word index now; the server maintains the vector graph."""
        self._fresh(self._word_side(scope, source), ready=True)

    def rebuild(self, scope: Scope, source: SourceName, progress: Progress | None = None) -> None:
        """Rebuild the word index; the server maintains the vector graph."""
        self._replace(self._word_side(scope, source), progress)
        self.prepare(scope, source)

    def _drop_outdated(self, side: SourceIndex[T, P]) -> None:
        """Drop shards with rows that another machine removed: it purged only its own files."""
        manifest = side.index.manifest()
        if manifest is None:
            return
        with self._engine.reading(side.scope) as rows:
            counters = rows.rows(_REWRITTEN, source=side.source)
        if not counters:
            side.index.drop()
        elif manifest.counter < int(counters[0][0] or 0):
            side.index.recount(side.feed, self.place(side.scope, side.source).live)
