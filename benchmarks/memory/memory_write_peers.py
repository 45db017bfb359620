"""The facts of `memory_write.py` in mem0 and in LangMem; run where they are installed, one a process.

Reads the sentences as JSON, prints one JSON object with milliseconds per fact and how many were kept.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("MEM0_TELEMETRY", "False")
DIMENSIONS = 384
_VECTORS = np.random.default_rng(3).standard_normal((512, DIMENSIONS)).astype(np.float32)
_VECTORS /= np.linalg.norm(_VECTORS, axis=1, keepdims=True)


def vector(text: str) -> list[float]:
    return _VECTORS[sum(text.encode()) % 512].tolist()  # type: ignore[no-any-return]


def mem0() -> tuple[Callable[[str], object], Callable[[], int]]:
    os.environ["MEM0_DIR"] = tempfile.mkdtemp()
    from mem0.memory import main

    class Embedder:
        config = None

        def embed(self, text: str, action: str | None = None) -> list[float]:
            return vector(text)

        def embed_batch(self, texts: Sequence[str], action: str | None = None) -> list[list[float]]:
            return [vector(text) for text in texts]

    class Model:
        """Answers at once what mem0 would ask a model for: the facts of the last sentence."""

        config = None
        sentence = ""

        def generate_response(self, messages: Any, *args: Any, **kwargs: Any) -> str:
            fact = {"id": "0", "text": self.sentence, "event": "ADD", "attributed_to": "user"}
            return json.dumps({"facts": [self.sentence], "memory": [fact]})

    model = Model()
    main.EmbedderFactory.create = lambda *a, **k: Embedder()
    main.LlmFactory.create = lambda *a, **k: model
    store = {"collection_name": "bench", "embedding_model_dims": DIMENSIONS, "path": tempfile.mkdtemp()}
    config = {
        "vector_store": {"provider": "faiss", "config": store | {"distance_strategy": "cosine"}},
        "history_db_path": str(Path(tempfile.mkdtemp()) / "history.db"),
    }
    memory = main.Memory.from_config(config)

    def keep(text: str) -> object:
        model.sentence = text
        return memory.add([{"role": "user", "content": text}], user_id="ana")

    return keep, lambda: len(memory.get_all(filters={"user_id": "ana"}, top_k=100_000)["results"])


def langmem() -> tuple[Callable[[str], object], Callable[[], int]]:
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langgraph.store.memory import InMemoryStore
    from langmem import create_memory_store_manager

    class Model(BaseChatModel):
        """Calls LangMem's tool for a new memory with the last sentence, at once."""

        sentence: str = ""

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
            call = {"name": "Memory", "args": {"content": self.sentence}, "id": f"call-{time.monotonic_ns()}"}
            message = AIMessage(content="", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=message)])

    model = Model()
    index: Any = {"dims": DIMENSIONS, "embed": lambda texts: [vector(text) for text in texts], "fields": ["content"]}
    store = InMemoryStore(index=index)  # its store on SQLite loads an extension, which many Pythons cannot
    namespace = ("memories", "ana")
    manager = create_memory_store_manager(model, store=store, namespace=namespace, enable_deletes=False)

    def keep(text: str) -> object:
        model.sentence = text
        return manager.invoke({"messages": [{"role": "user", "content": text}]})

    return keep, lambda: len(store.search(namespace, limit=100_000))


def main() -> None:
    texts = json.load(sys.stdin)
    keep, count = {"mem0": mem0, "langmem": langmem}[sys.argv[1]]()
    clock, processor = [], []
    for text in texts:
        started, worked = time.perf_counter(), time.process_time()
        keep(text)
        clock.append((time.perf_counter() - started) * 1000)
        processor.append((time.process_time() - worked) * 1000)
    kept = count()
    if not kept:
        raise SystemExit("nothing was kept: the scripted model's answer was not understood")
    figures = {
        "median": float(np.median(clock)),
        "p95": float(np.percentile(clock, 95)),
        "cpu": float(np.mean(processor)),
        "cpu p95": float(np.percentile(processor, 95)),
        "kept": kept,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
