"""The search of `memories.py` in mem0 and in LangGraph's stores; run where they are installed, one a process.

Prints one JSON object with milliseconds, recall and rows written a second. The embedding function looks given vectors
up, no model is called.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

K = 10
Search = Callable[[int, str], Sequence[int]]


class Given:
    """Vectors by name: `fact 7` is row 7, `ask 3` is question 3."""

    def __init__(self, data: Any) -> None:
        self.rows, self.queries, self.asked = data["rows"], data["queries"], data["asked"]
        self.users = int(data["users"])
        self.each = len(self.rows) // self.users

    def vector(self, text: str) -> list[float]:
        kind, number = text.split()
        return (self.rows if kind == "fact" else self.queries)[int(number)].tolist()

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.vector(text) for text in texts]


def mem0(given: Given, provider: str, url: str) -> Search:
    from mem0.memory import main

    class Embedder:
        config = None

        def embed(self, text: str, action: str | None = None) -> list[float]:
            return given.vector(text)

        def embed_batch(self, texts: Sequence[str], action: str | None = None) -> list[list[float]]:
            return given.vectors(texts)

    main.EmbedderFactory.create = lambda *a, **k: Embedder()
    main.LlmFactory.create = lambda *a, **k: object()
    store = {"collection_name": "bench", "embedding_model_dims": given.rows.shape[1]}
    if provider == "pgvector":
        store["connection_string"] = url
    else:
        store["path"] = tempfile.mkdtemp()
    if provider == "faiss":
        store["distance_strategy"] = "cosine"
    memory = main.Memory.from_config({"vector_store": {"provider": provider, "config": store}})
    if provider == "pgvector":
        memory.vector_store.delete_col()  # an earlier run's
        memory.vector_store.create_col()
    step = len(given.rows) if provider == "faiss" else 1000
    for start in range(0, len(given.rows), step):
        numbers = range(start, min(len(given.rows), start + step))
        payloads = [{"data": f"fact {i}", "user_id": f"u{i // given.each}", "number": i} for i in numbers]
        ids = [str(uuid.UUID(int=i + 1)) for i in numbers]
        memory.vector_store.insert(vectors=given.rows[start : start + step].tolist(), payloads=payloads, ids=ids)

    def search(user: int, text: str) -> list[int]:
        found = memory.search(text, filters={"user_id": f"u{user}"}, top_k=K, threshold=0.0)["results"]
        return [int(each["memory"].split()[1]) for each in found]

    return search


def langgraph(given: Given, store: Any) -> Search:
    from langgraph.store.base import PutOp

    for start in range(0, len(given.rows), 1000):
        numbers = range(start, min(len(given.rows), start + 1000))
        store.batch([PutOp((f"u{i // given.each}",), str(i), {"text": f"fact {i}"}) for i in numbers])
    return lambda user, text: [int(item.key) for item in store.search((f"u{user}",), query=text, limit=K)]


def made(name: str, given: Given, url: str) -> Search:
    index: Any = {"dims": given.rows.shape[1], "embed": given.vectors, "fields": ["text"]}
    if name.startswith("mem0"):
        return mem0(given, name.partition("-")[2], url)
    if name == "langgraph-memory":
        from langgraph.store.memory import InMemoryStore

        return langgraph(given, InMemoryStore(index=index))
    if name == "langgraph-sqlite":
        from langgraph.store.sqlite import SqliteStore

        kept = SqliteStore.from_conn_string(str(Path(tempfile.mkdtemp()) / "store.db"), index=index)
    else:
        from langgraph.store.postgres import PostgresStore

        kept = PostgresStore.from_conn_string(url, index=index)
    store = kept.__enter__()
    _OPEN.append(kept)
    store.setup()
    if name == "langgraph-postgres":
        with store._cursor() as cursor:
            cursor.execute("DELETE FROM store_vectors")
            cursor.execute("DELETE FROM store")
    return langgraph(given, store)


_OPEN: list[Any] = []


def main() -> None:
    name, path, url = sys.argv[1:4]
    given = Given(np.load(path))
    began = time.perf_counter()
    search = made(name, given, url)
    rate = len(given.rows) / (time.perf_counter() - began)
    taken: dict[str, list[float]] = {"cold": [], "warm": []}
    found = 0
    limit = time.monotonic() + 60
    done = 0
    for i, user in enumerate(given.asked.tolist()):
        for way in ("cold", "warm"):
            began = time.perf_counter()
            hits = search(user, f"ask {i}")
            taken[way].append((time.perf_counter() - began) * 1000)
        first = user * given.each
        own = given.rows[first : first + given.each]
        best = set((np.argsort(-(own @ given.queries[i]))[:K] + first).tolist())
        found += len(best & set(hits))
        done += 1
        if time.monotonic() > limit:
            break
    shown = {
        f"{way} {label}": float(np.percentile(times, q))
        for way, times in taken.items()
        for label, q in (("p50", 50), ("p99", 99))
    }
    print(json.dumps(shown | {"recall": found / (K * done), "written": rate}))


if __name__ == "__main__":
    main()
