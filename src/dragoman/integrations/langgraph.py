"""LangGraph: a `BaseStore` for long-term memory, on Dragoman's store and encoder.

Items are rows of one scope, so that `store.forget(scope)` erases them without a trace. Searches by words compare
meanings with the agent's encoder. Listing reads all items of the scope: made for thousands of items, not millions.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from operator import ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any

import numpy as np
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    tokenize_path,
)

from dragoman.core.protocols import passage_vectors
from dragoman.core.values import Passage, Query, Scope

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder, Store

SOURCE = "LANGGRAPH"
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "$eq": lambda left, right: left == right,
    "$ne": ne,
    "$gt": gt,
    "$gte": ge,
    "$lt": lt,
    "$lte": le,
}


class DragomanStore(BaseStore):
    """Keeps items of a graph in a store of Dragoman: `DragomanStore(assistant.store, assistant.encoder)`."""

    supports_ttl = False

    def __init__(self, store: Store, encoder: Encoder, *, scope: Scope | None = None) -> None:
        self._store = store
        self._encoder = encoder
        self._scope = scope or Scope(user="langgraph")

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of operations, in order: reads see the store as it was before the writes of the same batch."""
        results: list[Result] = []
        writes: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in ops:
            if isinstance(op, GetOp):
                results.append(self._get(op))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results.append(self._namespaces(op))
            elif isinstance(op, PutOp):
                writes[op.namespace, op.key] = op
                results.append(None)
            else:
                raise ValueError(f"Unknown operation: {type(op)}")
        self._write(list(writes.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` in a thread: the store blocks."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _get(self, op: GetOp) -> Item | None:
        (row,) = self._store.get(self._scope, [_id(op.namespace, op.key)])
        return None if row is None else Item(**_fields(row))

    def _write(self, ops: list[PutOp]) -> None:
        ids = [_id(op.namespace, op.key) for op in ops]
        before = dict(zip(ids, self._store.get(self._scope, ids), strict=True)) if ids else {}
        gone = [_id(op.namespace, op.key) for op in ops if op.value is None]
        rows = [_row(op, before[_id(op.namespace, op.key)]) for op in ops if op.value is not None]
        if gone:
            self._store.remove(self._scope, gone)
        indexed = [row for row in rows if row.text]
        if indexed:
            vectors = passage_vectors(self._encoder, [row.text for row in indexed], about="user")
            self._store.put(self._scope, indexed, vectors)
        plain = [row for row in rows if not row.text]
        if plain:
            self._store.put(self._scope, plain)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        rows = [
            row
            for row in self._store.passages(self._scope, SOURCE)
            if _namespace(row)[: len(op.namespace_prefix)] == tuple(op.namespace_prefix)
            and (not op.filter or _passes(json.loads(row.meta["value"]), op.filter))
        ]
        scores: dict[str, float] = {}
        if op.query and rows:
            vector = np.asarray(self._encoder.encode([op.query])[0])
            count = self._store.count(self._scope, SOURCE)
            (hits,) = self._store.nearest([Query(self._scope, SOURCE, count, vector=vector.tolist())])
            scores = {hit.passage.id: hit.score for hit in hits}
            rows.sort(key=lambda row: -scores.get(row.id, -2.0))
        page = rows[op.offset : op.offset + op.limit]
        return [SearchItem(**_fields(row), score=scores.get(row.id)) for row in page]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        names = {_namespace(row) for row in self._store.passages(self._scope, SOURCE)}
        matching = [name for name in names if all(_matches(name, wanted) for wanted in op.match_conditions or ())]
        shown = sorted({name[: op.max_depth] for name in matching})
        return shown[op.offset : op.offset + op.limit]


def _id(namespace: tuple[str, ...], key: str) -> str:
    return hashlib.sha256(json.dumps([*namespace, key]).encode()).hexdigest()[:32]


def _namespace(row: Passage) -> tuple[str, ...]:
    return tuple(json.loads(row.meta["namespace"]))


def _row(op: PutOp, before: Passage | None) -> Passage:
    now = datetime.now(UTC).isoformat()
    meta = {
        "namespace": json.dumps(list(op.namespace)),
        "key": op.key,
        "value": json.dumps(op.value),
        "created": now if before is None else before.meta["created"],
        "updated": now,
    }
    return Passage(_id(op.namespace, op.key), SOURCE, _text(op), origin="/".join(op.namespace), meta=meta)


def _text(op: PutOp) -> str:
    """Return the indexed text of a value: the named fields, or all of it; empty if it is not indexed."""
    if op.index is False or op.value is None:
        return ""
    if op.index is None:
        return json.dumps(op.value, ensure_ascii=False)
    return "\n".join(text for path in op.index for text in get_text_at_path(op.value, tokenize_path(path)))


def _fields(row: Passage) -> dict[str, Any]:
    return {
        "namespace": _namespace(row),
        "key": row.meta["key"],
        "value": json.loads(row.meta["value"]),
        "created_at": datetime.fromisoformat(row.meta["created"]),
        "updated_at": datetime.fromisoformat(row.meta["updated"]),
    }


def _passes(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(_compares(value.get(key), condition) for key, condition in wanted.items())


def _compares(value: Any, condition: Any) -> bool:
    if not isinstance(condition, dict) or not any(str(key).startswith("$") for key in condition):
        return bool(value == condition)
    for name, operand in condition.items():
        if name not in _COMPARE:
            raise ValueError(f"Unknown operator {name}. Available: {', '.join(_COMPARE)}.")
        if name in ("$eq", "$ne"):
            if not _COMPARE[name](value, operand):
                return False
        elif value is None or not _COMPARE[name](float(value), float(operand)):
            return False
    return True


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", name) for wanted, name in zip(path, part, strict=True))
