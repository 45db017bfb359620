"""A store in memory: for experiments and tests, and as the reference model of the other stores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import TYPE_CHECKING, Any

from dragoman.core.clock import stamp
from dragoman.core.errors import InputError
from dragoman.core.registry import stores
from dragoman.core.values import Answered, Hit, Passage, Query, Receipt, Scope, SourceName, Turn
from dragoman.stores.erasure_hold import ErasureHold, current_hold, moved
from dragoman.stores.rows import (
    Analyse,
    check_key,
    check_passages,
    check_request,
    check_source,
    check_text,
    check_turns,
    holds,
    kept_twice,
    needles,
    spaced,
)

if TYPE_CHECKING:
    from dragoman.core.codec import Json
    from dragoman.core.protocols import FloatArray
    from dragoman.stores.pool import VectorPool, WordPool


_BY_KEY = ("passages", "")
"""Beside the pools of a scope: its passages by the numbers that a search gives; made and dropped with them."""


def words(text: str) -> tuple[str, ...]:
    """The default analysis: words in lower case."""
    return tuple(re.findall(r"\w+", text.lower()))


@dataclass(slots=True)
class _StoredPassage:
    key: int
    passage: Passage
    tokens: list[str]
    vector: bytes | None
    superseded: bool = False


@dataclass(slots=True)
class _StoredTurn:
    turn: Turn
    trace: Json = None
    request: str | None = None


@dataclass(slots=True)
class _ScopeData:
    """All data of one scope."""

    rows: dict[str, _StoredPassage] = field(default_factory=dict)
    turns: dict[str, list[_StoredTurn]] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    pools: dict[tuple[str, SourceName], Any] = field(default_factory=dict)


@stores.register("memory.v1")
class InMemoryStore:
    """The `Store` contract in plain dictionaries, with exact BM25 and cosine; data is lost with the object."""

    def __init__(self, *, analyse: Analyse = words) -> None:
        self._analyse = analyse
        self._by_scope: dict[Scope, _ScopeData] = {}
        self._lock = RLock()
        self._written = 0
        self._erasures: Counter[Scope] = Counter()

    def hold(self, scope: Scope) -> ErasureHold:
        """A context in which writes to the scope are refused once anybody has erased data of it since this call."""
        return ErasureHold(scope, self._erasures[scope])

    def put(self, scope: Scope, passages: Sequence[Passage], vectors: FloatArray | None = None) -> int:
        """Write passages by id, all or none; return the number of new or changed ones."""
        from dragoman.stores.vectors import pack

        check_passages(passages)
        blobs = pack(vectors, len(passages))
        tokens = [spaced(self._analyse(passage.indexed)) for passage in passages]
        with self._lock:
            self._check(scope)
            data = self._by_scope.setdefault(scope, _ScopeData())
            for passage in passages:
                if (row := data.rows.get(passage.id)) is not None:
                    check_source(passage, row.passage.source)
            by_id = {row[0].id: row for row in zip(passages, tokens, blobs, strict=True)}
            changed = sum(self._write(data, *row) for row in by_id.values())
            data.pools.clear()
        return changed

    def _write(self, data: _ScopeData, passage: Passage, tokens: list[str], vector: bytes | None) -> bool:
        row = data.rows.get(passage.id)
        if row is not None and row.passage == passage:
            if not row.superseded and vector in (None, row.vector):
                return False
            vector = vector or row.vector
        self._written += 1
        data.rows[passage.id] = _StoredPassage(row.key if row else self._written, passage, tokens, vector)
        return True

    def get(self, scope: Scope, ids: Sequence[str]) -> Sequence[Passage | None]:
        rows = self._data(scope).rows
        return [rows[key].passage if key in rows else None for key in ids]

    def passages(
        self, scope: Scope, source: SourceName, *, origin: str | None = None, superseded: bool = False
    ) -> Iterator[Passage]:
        """Live rows of a source in order of insertion; with `superseded`, the replaced rows instead."""
        for row in self._of(scope, source, superseded=superseded):
            if origin is None or row.passage.origin == origin:
                yield row.passage

    def count(self, scope: Scope, source: SourceName) -> int:
        return len(self._of(scope, source))

    def remove(self, scope: Scope, ids: Sequence[str]) -> int:
        with self._lock:
            data = self._data(scope)
            data.pools.clear()
            return sum(data.rows.pop(key, None) is not None for key in dict.fromkeys(ids))

    def switch(
        self,
        scope: Scope,
        passages: Sequence[Passage],
        vectors: FloatArray | None = None,
        *,
        remove: Sequence[str] = (),
        notes: Mapping[str, str] | None = None,
    ) -> int:
        """Write passages, delete others and keep values, all or none; return the number deleted."""
        with self._lock:
            self.put(scope, passages, vectors)  # checks everything before it writes
            for key, value in (notes or {}).items():
                self.keep(scope, key, value)
            return self.remove(scope, remove)

    def supersede(self, scope: Scope, id: str, by: str, *, meta: Mapping[str, str] | None = None) -> None:
        """Mark a row as replaced by another, and add to its meta; putting it again revives it."""
        with self._lock:
            data = self._data(scope)
            if id not in data.rows:
                raise InputError(f"There is no row '{id}' to supersede.", remedy="Give the id of a stored row.")
            row = data.rows[id]
            row.superseded = True
            if meta:
                row.passage = replace(row.passage, meta={**row.passage.meta, **meta})
            data.pools.clear()

    def lexical(self, queries: Sequence[Query]) -> Sequence[Sequence[Hit]]:
        """Exact BM25."""
        return [self._hits(query, self._words(query.scope, query.source)) for query in queries]

    def nearest(self, queries: Sequence[Query]) -> Sequence[Sequence[Hit]]:
        """Exact cosine."""
        return [self._hits(query, self._vectors(query.scope, query.source)) for query in queries]

    def frequencies(self, scope: Scope, source: SourceName, tokens: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        """The number of rows of a source, and in how many of them each token occurs."""
        pool = self._words(scope, source)
        return len(pool.entries), {token: pool.bm25.containing(token) for token in tokens}

    def append(
        self, scope: Scope, dialogue: str, turns: Sequence[Turn], trace: Json = None, *, under: Receipt | None = None
    ) -> None:
        """Add turns to a dialogue, with the trace of the agent's turn; under a receipt, once."""
        check_key("A dialogue id", dialogue)
        request = check_request(under, turns)
        check_turns(turns, traced=trace is not None)
        with self._lock:
            self._check(scope)
            if request is not None and self.answered(scope, request) is not None:
                raise kept_twice(request)
            data = self._by_scope.setdefault(scope, _ScopeData())
            written_at = stamp()
            entries = [_StoredTurn(turn if turn.said_at else replace(turn, said_at=written_at)) for turn in turns]
            for last in [one for one in entries if one.turn.speaker == "agent"][-1:]:
                last.trace, last.request = trace, request
            if entries:
                data.turns.setdefault(dialogue, []).extend(entries)

    def answered(self, scope: Scope, request: str) -> Answered | None:
        """The turn that is stored under a request id."""
        with self._lock:
            for dialogue, entries in self._data(scope).turns.items():
                for place, one in enumerate(entries):
                    if one.request == request:
                        questions = [each.turn.text for each in entries[:place] if each.turn.speaker == "user"]
                        return Answered(dialogue, place, questions[-1] if questions else "", one.trace)
        return None

    def dialogue(self, scope: Scope, dialogue: str) -> Sequence[Turn]:
        return [entry.turn for entry in self._data(scope).turns.get(dialogue, ())]

    def dialogues(self, scope: Scope) -> Sequence[str]:
        """Oldest first."""
        return list(self._data(scope).turns)

    def trace(self, scope: Scope, dialogue: str) -> Json:
        """The trace of a dialogue's last agent turn."""
        turns = self._data(scope).turns.get(dialogue, ())
        return next((entry.trace for entry in reversed(turns) if entry.turn.speaker == "agent"), None)

    def traces(self, scope: Scope, dialogue: str) -> Sequence[Json]:
        """The trace of each turn of a dialogue; None where a turn has none."""
        with self._lock:
            return [entry.trace for entry in self._data(scope).turns.get(dialogue, ())]

    def redact(self, scope: Scope, texts: Sequence[str]) -> int:
        """Blank turns and drop traces that hold any of the texts, ignoring case; return the number of turns."""
        targets, touched = needles(texts), 0
        with self._lock:
            for entry in (entry for turns in self._data(scope).turns.values() for entry in turns):
                in_text, in_trace = holds(entry.turn.text, targets), holds(entry.trace, targets)
                entry.turn = replace(entry.turn, text="") if in_text else entry.turn
                entry.trace = None if in_trace else entry.trace
                touched += in_text or in_trace
            self._count_erasure(scope)
        return touched

    def erase_turns(self, scope: Scope, dialogue: str, places: Sequence[int] | None = None) -> int:
        """Delete a dialogue with its traces, or blank the turns at `places`; return the number of turns."""
        with self._lock:
            if places is None:
                return len(self._data(scope).turns.pop(dialogue, ()))
            entries = self._data(scope).turns.get(dialogue, [])
            blank = [entries[i] for i in set(places) if 0 <= i < len(entries)]
            for one in blank:
                one.turn, one.trace = replace(one.turn, text=""), None
            return len(blank)

    def keep(self, scope: Scope, key: str, value: str) -> None:
        check_key("A key", key)
        check_text("A kept value", value)
        with self._lock:
            self._check(scope)
            self._by_scope.setdefault(scope, _ScopeData()).kept[key] = value

    def kept(self, scope: Scope, key: str) -> str | None:
        return self._data(scope).kept.get(key)

    def forget(self, scope: Scope) -> int:
        """Erase a scope; return the number of passages, turns and key-value pairs erased."""
        with self._lock:
            data = self._by_scope.pop(scope, _ScopeData())
            self._count_erasure(scope)
        return len(data.rows) + sum(map(len, data.turns.values())) + len(data.kept)

    def close(self) -> None:
        """Does nothing: there are no files or connections to close."""

    def _check(self, scope: Scope) -> None:
        hold = current_hold(scope)
        if hold is not None:
            hold.check(self._erasures[scope])

    def _count_erasure(self, scope: Scope) -> None:
        self._erasures[scope] += 1
        moved(scope, self._erasures[scope])

    def _data(self, scope: Scope) -> _ScopeData:
        return self._by_scope.get(scope) or _ScopeData()

    def _of(self, scope: Scope, source: SourceName, *, superseded: bool = False) -> list[_StoredPassage]:
        with self._lock:
            rows = self._data(scope).rows.values()
            return [row for row in rows if row.passage.source == source and row.superseded == superseded]

    def _words(self, scope: Scope, source: SourceName) -> WordPool:
        from dragoman.stores.bm25 import Bm25
        from dragoman.stores.pool import WordPool

        with self._lock:
            pools = self._data(scope).pools
            if ("words", source) not in pools:
                rows = self._of(scope, source)
                entries = [(row.key, row.passage.id, row.passage.parent) for row in rows]
                pools["words", source] = WordPool(entries, Bm25([row.tokens for row in rows]))
            pool: WordPool = pools["words", source]
            return pool

    def _vectors(self, scope: Scope, source: SourceName) -> VectorPool:
        from dragoman.stores.pool import VectorPool

        with self._lock:
            pools = self._data(scope).pools
            if ("vectors", source) not in pools:
                rows = self._of(scope, source)
                vector_rows = [(row, row.vector) for row in rows if row.vector is not None]
                entries = [(row.key, row.passage.id, row.passage.parent) for row, _ in vector_rows]
                pools["vectors", source] = VectorPool(entries, [vector for _, vector in vector_rows])
            pool: VectorPool = pools["vectors", source]
            return pool

    def _hits(self, query: Query, pool: WordPool | VectorPool) -> list[Hit]:
        with self._lock:
            data = self._data(query.scope)
            by_key = data.pools.get(_BY_KEY)
            if by_key is None:
                by_key = data.pools[_BY_KEY] = {row.key: row.passage for row in data.rows.values()}
            within = None
            if query.is_timed:
                within = {key for key, passage in by_key.items() if passage.is_within(query.since, query.until)}
            scored = pool.search(query, within)
        return [Hit(by_key[key], score) for key, score in scored if key in by_key]
