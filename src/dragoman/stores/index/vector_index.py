"""Vectors of a shared source: usearch HNSW graphs over 8-bit copies; the store's own vectors give the scores.

A shard that nobody changes is read from its file where it lies, so that processes share the memory. Rows can be taken
out one by one. The graph only unlinks a removed vector, so its place is overwritten with a blank one before the file is
written again.
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
_ALONE, _AMONG = 128, 64  # how far a graph is searched, alone and as one of several
_EXACT = 32  # looking at this many times as many vectors as are wanted costs no more than a way through the graph
_BLANK = 2**62  # above any row number
_MOST_ERASED = 0.1  # taking out more than this share at once leaves rows without a way to them: it is built anew


@dataclass(slots=True)
class VectorPart:
    """One opened shard; usearch searches a graph from one thread at a time."""

    graph: Any
    last: int
    fixed: bool
    """Whether the graph lies in its file, where changing it would end the process."""
    length: int = 0
    lock: Lock = field(default_factory=Lock)

    def __len__(self) -> int:
        return len(self.graph)

    def search(self, direction: FloatArray, expansion: int, n: int) -> list[tuple[float, int]]:
        """Distances and row numbers of about the n nearest rows."""
        with self.lock:
            if not len(self.graph):
                return []
            self.graph.expansion_search = expansion
            exact = _EXACT * n >= len(self.graph)
            found = self.graph.search(direction, min(n, len(self.graph)), threads=1, exact=exact)
        return list(zip(found.distances.tolist(), found.keys.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class VectorView:
    """The vectors of a source as they were at one moment."""

    parts: Sequence[VectorPart]

    def search(self, direction: FloatArray, n: int) -> list[int]:
        """The numbers of about the n nearest rows of all shards."""
        expansion = _ALONE if len(self.parts) == 1 else _AMONG
        asks = [partial(part.search, direction, expansion) for part in self.parts]
        return [key for _, key in merged(asks, n, first=expansion)]


class VectorIndex(Sidecar[bytes, VectorPart]):
    """Row numbers by nearness."""

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
        if not shard.rows:  # usearch cannot read an empty graph where it lies
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
    """Add rows, those that are there already in their new place; the highest key."""
    each, last = iter(rows), 0
    while chunk := list(islice(each, _CHUNK)):
        # A row of another width comes from another encoder; it has its place in the store only.
        chunk = [(key, vector) for key, vector in chunk if len(vector) == 4 * graph.ndim]
        keys = np.array([key for key, _ in chunk], dtype=np.uint64)
        if known := [key for key in keys.tolist() if key in graph]:
            _erase_keys(graph, known)
        if len(keys):
            last = max(last, int(keys.max()))
            # One thread: with several, a row is now and then left without a way to it, and no two builds agree.
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
    """The library; before it the system's C++ runtime.

    Its own copy of that runtime would serve whatever library comes next, such as onnxruntime, which then crashes.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)
    import usearch.index

    return usearch.index
