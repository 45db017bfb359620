"""Vector index of a shared source: usearch HNSW graphs over 8-bit copies; scores come from the store's vectors.

An unchanged shard is memory-mapped, so that processes share the memory. Rows can be removed one by one. The graph only
unlinks a removed vector, so a blank vector overwrites its place before the file is saved.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.core.private_files import make_private_file
from dragoman.stores.index.merging import merged
from dragoman.stores.index.shards import IndexShard
from dragoman.stores.index.sidecar import Sidecar
from dragoman.stores.vectors import unpack

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

_CHUNK = 4096
_ALONE, _AMONG = 128, 64  # search expansion of a graph alone, and of one among several
_EXACT = 32  # scanning up to this many times the wanted vectors is as cheap as a graph search
_BLANK = 2**62  # above any row number
_MOST_ERASED = 0.1  # removing a larger share at once makes rows unreachable, so the shard is rebuilt


@dataclass(slots=True)
class VectorPart:
    """One open shard; usearch searches a graph from one thread at a time."""

    graph: Any
    last: int
    fixed: bool
    """Whether the graph is memory-mapped; changing it would crash the process."""
    length: int = 0
    lock: Lock = field(default_factory=Lock)

    def __len__(self) -> int:
        return len(self.graph)

    def search(self, direction: FloatArray, expansion: int, n: int) -> list[tuple[float, int]]:
        """Distances and row numbers of approximately the n nearest rows."""
        with self.lock:
            if not len(self.graph):
                return []
            self.graph.expansion_search = expansion
            exact = _EXACT * n >= len(self.graph)
            matches = self.graph.search(direction, min(n, len(self.graph)), threads=1, exact=exact)
        return list(zip(matches.distances.tolist(), matches.keys.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class VectorView:
    """A snapshot of the vectors of a source."""

    parts: Sequence[VectorPart]

    def search(self, direction: FloatArray, n: int) -> list[int]:
        """The numbers of approximately the n nearest rows of all shards."""
        expansion = _ALONE if len(self.parts) == 1 else _AMONG
        asks = [partial(part.search, direction, expansion) for part in self.parts]
        return [key for _, key in merged(asks, n, first=expansion)]


class VectorIndex(Sidecar[bytes, VectorPart]):
    """Finds row numbers by vector similarity."""

    capacity = 131_072
    inline = 8192
    lag = 2000

    def _make(self, path: Path, rows: Iterable[tuple[int, bytes]], width: int) -> tuple[int, int, int]:
        graph = _usearch().Index(
            ndim=width, metric="cos", dtype="i8", connectivity=16, expansion_add=96, expansion_search=_ALONE
        )
        last = _add_rows(graph, rows)
        make_private_file(path)
        graph.save(str(path))
        return len(graph), last, 0

    def _load(self, path: Path, shard: IndexShard) -> VectorPart:
        if not shard.rows:  # usearch cannot memory-map an empty graph
            return VectorPart(_restored(path, view=False), shard.last, fixed=False)
        return VectorPart(_restored(path, view=True), shard.last, fixed=True)

    def _add(self, part: VectorPart, rows: Sequence[tuple[int, bytes]], path: Path) -> VectorPart | None:
        if sum(key in part.graph for key, _ in rows) > _MOST_ERASED * len(part):
            return None
        part = _changeable(part, path)
        with part.lock:
            part.last = max(part.last, _add_rows(part.graph, rows))
        return part

    def _write(self, part: VectorPart, name: str) -> str:
        name = token_hex(8)
        with part.lock:
            make_private_file(self.folder / name)
            part.graph.save(str(self.folder / name))
        return name

    def _erase(self, part: VectorPart, keys: Sequence[int], path: Path) -> VectorPart | None:
        if len(keys) > _MOST_ERASED * len(part):
            return None
        part = _changeable(part, path)
        with part.lock:
            _erase_keys(part.graph, [key for key in keys if key in part.graph])
        return part


def _changeable(part: VectorPart, path: Path) -> VectorPart:
    return VectorPart(_restored(path, view=False), part.last, fixed=False) if part.fixed else part


def _restored(path: Path, *, view: bool) -> Any:
    if not path.is_file():
        raise FileNotFoundError(str(path))
    graph: Any = _usearch().Index.restore(str(path), view=view)
    if graph is None:
        raise ValueError("not a vector index")
    return graph


def _add_rows(graph: Any, rows: Iterable[tuple[int, bytes]]) -> int:
    """Add rows, replacing those that exist; return the highest key."""
    each, last = iter(rows), 0
    while chunk := list(islice(each, _CHUNK)):
        # A row of another width comes from another encoder and is not indexed.
        chunk = [(key, vector) for key, vector in chunk if len(vector) == 4 * graph.ndim]
        keys = np.array([key for key, _ in chunk], dtype=np.uint64)
        if present := [key for key in keys.tolist() if key in graph]:
            _erase_keys(graph, present)
        if len(keys):
            last = max(last, int(keys.max()))
            # One thread: several sometimes leave a row unreachable, and builds would differ.
            graph.add(keys, unpack([vector for _, vector in chunk], graph.ndim), threads=1)
    return last


def _erase_keys(graph: Any, keys: Sequence[int]) -> None:
    if not keys:
        return
    blanks = np.arange(_BLANK, _BLANK + len(keys), dtype=np.uint64)
    blank = np.full((len(keys), graph.ndim), 1.0, dtype=np.float32)
    graph.remove(np.array(keys, dtype=np.uint64), threads=1)
    graph.add(blanks, blank, threads=1)
    graph.remove(blanks, threads=1)


def _usearch() -> Any:
    """Import usearch after loading the system's C++ runtime.

    Otherwise later libraries would bind to usearch's own copy of the runtime, and onnxruntime crashes with it.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)
    import usearch.index

    return usearch.index
