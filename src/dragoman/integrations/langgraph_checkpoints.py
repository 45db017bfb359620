"""LangGraph: a checkpointer on Dragoman's store, so that a graph resumes its threads where its memory lies.

Checkpoints and pending writes are rows of one scope, so that `store.forget(scope)` erases them without a trace. A read
goes through the rows of its thread: made for hundreds of steps a thread, not millions.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)

from dragoman.core.values import Passage, Scope

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from dragoman.core.protocols import Store

CHECKPOINTS = "LANGGRAPH_CHECKPOINTS"
WRITES = "LANGGRAPH_WRITES"


class DragomanSaver(BaseCheckpointSaver[int]):
    """Keeps the checkpoints of a graph in a store of Dragoman: `graph.compile(checkpointer=DragomanSaver(store))`."""

    def __init__(self, store: Store, *, scope: Scope | None = None, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._store = store
        self._scope = scope or Scope(user="langgraph")

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint with all of its channel values; return the config that names it."""
        thread, namespace = _place(config)
        meta = {
            "namespace": namespace,
            "checkpoint": checkpoint["id"],
            "parent": get_checkpoint_id(config) or "",
            "value": self._dumped(checkpoint),
            "metadata": self._dumped(get_checkpoint_metadata(config, metadata)),
        }
        row = Passage(_id(thread, namespace, checkpoint["id"]), CHECKPOINTS, "", origin=thread, meta=meta)
        self._store.put(self._scope, [row])
        return _config(thread, namespace, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the writes of a task; one that is there already stays, unless it is an error, interrupt or resume."""
        thread, namespace = _place(config)
        checkpoint = config["configurable"]["checkpoint_id"]
        rows = []
        for position, (channel, value) in enumerate(writes):
            number = WRITES_IDX_MAP.get(channel, position)
            meta = {
                "namespace": namespace,
                "checkpoint": checkpoint,
                "task": task_id,
                "path": task_path,
                "number": str(number),
                "channel": channel,
                "value": self._dumped(value),
            }
            key = _id(thread, namespace, checkpoint, task_id, str(number))
            rows.append(Passage(key, WRITES, "", origin=thread, meta=meta))
        before = self._store.get(self._scope, [row.id for row in rows])
        new = [row for row, old in zip(rows, before, strict=True) if old is None or int(row.meta["number"]) < 0]
        if new:
            self._store.put(self._scope, new)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a config names, or the latest of its thread and namespace."""
        thread, namespace = _place(config)
        if wanted := get_checkpoint_id(config):
            (row,) = self._store.get(self._scope, [_id(thread, namespace, wanted)])
        else:
            rows = [row for row in self._rows(CHECKPOINTS, thread) if row.meta["namespace"] == namespace]
            row = max(rows, key=lambda row: row.meta["checkpoint"], default=None)
        return None if row is None else self._tuple(row, list(self._rows(WRITES, thread)))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first: of a thread, a namespace, before a checkpoint, or by their metadata."""
        named = config["configurable"] if config else {}
        namespace, thread = named.get("checkpoint_ns"), named.get("thread_id")
        wanted = get_checkpoint_id(config) if config else None
        end = get_checkpoint_id(before) if before else None
        rows = [
            row
            for row in self._rows(CHECKPOINTS, thread)
            if namespace in (None, row.meta["namespace"])
            and wanted in (None, row.meta["checkpoint"])
            and (end is None or row.meta["checkpoint"] < end)
        ]
        rows.sort(key=lambda row: row.meta["checkpoint"], reverse=True)
        writes = [*self._rows(WRITES, thread)] if rows else []
        tuples = (self._tuple(row, writes) for row in rows if _passes(self._loaded(row.meta["metadata"]), filter or {}))
        return islice(tuples, limit)

    def delete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints and writes of a thread."""
        self._remove([*self._rows(CHECKPOINTS, thread_id), *self._rows(WRITES, thread_id)])

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that runs made, and their writes."""
        gone = [
            row
            for row in self._rows(CHECKPOINTS, None)
            if self._loaded(row.meta["metadata"]).get("run_id") in set(run_ids)
        ]
        places = {_of(row) for row in gone}
        self._remove([*gone, *(row for row in self._rows(WRITES, None) if _of(row) in places)])

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy the checkpoints and writes of a thread to another."""
        copies = []
        for row in (*self._rows(CHECKPOINTS, source_thread_id), *self._rows(WRITES, source_thread_id)):
            names = ("namespace", "checkpoint", "task", "number")
            key = _id(target_thread_id, *(row.meta[name] for name in names if name in row.meta))
            copies.append(replace(row, id=key, origin=target_thread_id))
        if copies:
            self._store.put(self._scope, copies)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        checkpoints = await asyncio.to_thread(lambda: [*self.list(config, filter=filter, before=before, limit=limit)])
        for each in checkpoints:
            yield each

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    def _rows(self, source: str, thread: str | None) -> Iterator[Passage]:
        return self._store.passages(self._scope, source, origin=thread)

    def _remove(self, rows: Sequence[Passage]) -> None:
        if rows:
            self._store.remove(self._scope, [row.id for row in rows])

    def _tuple(self, row: Passage, writes: Sequence[Passage]) -> CheckpointTuple:
        thread, namespace, checkpoint = _of(row)
        parent = row.meta["parent"]
        mine = [write for write in writes if _of(write) == (thread, namespace, checkpoint)]
        mine.sort(key=lambda write: (write.meta["path"], write.meta["task"], int(write.meta["number"])))
        return CheckpointTuple(
            config=_config(thread, namespace, checkpoint),
            checkpoint=self._loaded(row.meta["value"]),
            metadata=self._loaded(row.meta["metadata"]),
            parent_config=_config(thread, namespace, parent) if parent else None,
            pending_writes=[
                (write.meta["task"], write.meta["channel"], self._loaded(write.meta["value"])) for write in mine
            ],
        )

    def _dumped(self, value: Any) -> str:
        kind, content = self.serde.dumps_typed(value)
        return f"{kind} {base64.b64encode(content).decode()}"

    def _loaded(self, text: str) -> Any:
        kind, _, content = text.partition(" ")
        return self.serde.loads_typed((kind, base64.b64decode(content)))


def _place(config: RunnableConfig) -> tuple[str, str]:
    """The thread and the namespace of a config."""
    return str(config["configurable"]["thread_id"]), config["configurable"].get("checkpoint_ns", "")


def _config(thread: str, namespace: str, checkpoint: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint}}


def _of(row: Passage) -> tuple[str, str, str]:
    """The thread, namespace and checkpoint that a row belongs to."""
    return row.origin, row.meta["namespace"], row.meta["checkpoint"]


def _id(*names: str) -> str:
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()[:32]


def _passes(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(metadata.get(name) == value for name, value in wanted.items())
