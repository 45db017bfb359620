"""Read the rows of one source from the store for its index, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from dragoman.core.values import Scope, SourceName
from dragoman.stores.index.shards import RowSpan

if TYPE_CHECKING:
    from dragoman.stores.engine import Engine
    from dragoman.stores.rows import Cell

T = TypeVar("T", str, bytes)

_PAGE = 2000
_MOST = 2**62  # above any key and any tick

_COUNTER = "SELECT counter FROM places WHERE tenant = :tenant AND user = :user AND source = :source"
_CUT = """SELECT seq FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND seq > :after ORDER BY seq LIMIT 1 OFFSET :size"""
_BACKLOG = """SELECT count(*) FROM (SELECT seq FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND changed > :after LIMIT :most) AS newer"""
_COUNT = """SELECT count(*) FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND seq > :after AND seq <= :last
    AND superseded_by IS NULL"""


@dataclass(frozen=True, slots=True)
class Statements:
    """SQL that reads one kind of content: changed rows in order of change, and a span in order of keys."""

    changed: str
    span: str


WORDS = Statements(
    changed=f"""SELECT seq, changed, tokens FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND (changed, seq) > (:after, :last)
    AND changed <= :upto AND superseded_by IS NULL ORDER BY changed, seq LIMIT {_PAGE}""",
    span=f"""SELECT seq, changed, tokens FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND seq > :after AND seq <= :last
    AND changed <= :upto AND superseded_by IS NULL ORDER BY seq LIMIT {_PAGE}""",
)
VECTORS = Statements(
    changed=f"""SELECT p.seq, p.changed, v.vector FROM passages AS p CROSS JOIN vectors AS v
    WHERE p.tenant = :tenant AND p.user = :user AND p.source = :source AND (p.changed, p.seq) > (:after, :last)
    AND p.changed <= :upto AND p.superseded_by IS NULL
    AND v.tenant = :tenant AND v.user = :user AND v.source = :source AND v.seq = p.seq
    ORDER BY p.changed, p.seq LIMIT {_PAGE}""",
    # Rows that change later are added again when the index catches up, which is harmless for vectors.
    span=f"""SELECT seq, 0, vector FROM vectors
    WHERE tenant = :tenant AND user = :user AND source = :source AND seq > :after AND seq <= :last
    AND superseded = 0 ORDER BY seq LIMIT {_PAGE}""",
)


class Feed(Generic[T]):
    """One kind of content of the live rows of a source."""

    def __init__(self, engine: Engine, scope: Scope, source: SourceName, statements: Statements) -> None:
        self._engine, self._scope, self._source = engine, scope, source
        self._statements = statements

    def counter(self) -> int:
        """The last change of the source."""
        return self._number(_COUNTER)

    def changed(self, after: int, upto: int) -> Iterator[tuple[int, int, T]]:
        """Key, change counter and content of the rows that changed between two counters."""
        last = _MOST  # past every row of the change `after` itself
        while True:
            page = self._rows(self._statements.changed, after=after, last=last, upto=upto)
            for key, changed, content in page:
                last, after = int(key or 0), int(changed or 0)
                yield last, after, content  # type: ignore[misc]  # as selected
            if len(page) < _PAGE:
                return

    def within(self, span: RowSpan, upto: int) -> Iterator[tuple[int, T]]:
        """Key and content of the rows of a span, as they were at a counter or later."""
        after, last = span.after, _MOST if span.last is None else span.last
        while True:
            page = self._rows(self._statements.span, after=after, last=last, upto=upto)
            for key, _, content in page:
                after = int(key or 0)
                yield after, content  # type: ignore[misc]  # as selected
            if len(page) < _PAGE:
                return

    def spans(self, after: int, size: int) -> list[RowSpan]:
        """The rows above a key as spans of `size` rows; the last span has no end."""
        spans: list[RowSpan] = []
        while cut := self._number(_CUT, after=after, size=size - 1):
            spans.append(RowSpan(after, cut))
            after = cut
        return [*spans, RowSpan(after, None)]

    def backlog(self, after: int, most: int) -> int:
        """The number of rows that changed after a counter, counted up to `most`."""
        return self._number(_BACKLOG, after=after, most=most)

    def count(self, span: RowSpan) -> int:
        """The number of live rows of a span."""
        return self._number(_COUNT, after=span.after, last=_MOST if span.last is None else span.last)

    def _number(self, sql: str, **bindings: Cell) -> int:
        cells = self._rows(sql, **bindings)
        return int(cells[0][0] or 0) if cells else 0

    def _rows(self, sql: str, **bindings: Cell) -> list[tuple[Cell, ...]]:
        with self._engine.reading(self._scope) as rows:
            return rows.rows(sql, source=self._source, **bindings)
