"""Vectors of a shared source: a usearch HNSW graph over 8-bit copies; the store's own vectors give the scores.

Rows can be taken out one by one. The graph only unlinks a removed vector, so its place is overwritten
with a blank one before the file is written again.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.stores.index import Sidecar
from dragoman.stores.vectors import unpack

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

_CHUNK = 4096
_EXPANSION = 128
_BLANK = 2**62  # above any row number
_MOST_ERASED = 0.2  # taking out more than this share costs recall: the graph is built anew


class VectorIndex(Sidecar[bytes]):
    """Row numbers by nearness, about best first."""

    _graph: Any = None

    def search(self, direction: FloatArray, n: int) -> list[int]:
        """The numbers of about the n nearest rows."""
        with self.lock:
            if not len(self._graph):
                return []
            keys = self._graph.search(direction, min(n, len(self._graph)), threads=1).keys
        return [int(key) for key in keys]

    def __len__(self) -> int:
        with self.lock:
            return len(self._graph)

    def keeps_after_purge(self, removed: int) -> bool:
        return self._graph is None or removed <= _MOST_ERASED * len(self._graph)

    def _create(self, path: Path, rows: Iterator[tuple[int, bytes]], width: int) -> None:
        self._graph = _usearch().Index(
            ndim=width, metric="cos", dtype="i8", connectivity=16, expansion_add=96, expansion_search=_EXPANSION
        )
        self._add(rows)
        self._graph.save(str(path))

    def _open(self, path: Path) -> None:
        if not path.is_file():
            raise FileNotFoundError(str(path))
        graph: Any = _usearch().Index.restore(str(path))
        if graph is None:
            raise ValueError("not a vector index")
        graph.expansion_search = _EXPANSION
        self._graph = graph

    def _extend(self, name: str, rows: Iterator[tuple[int, bytes]]) -> str:
        from secrets import token_hex

        name = token_hex(8)
        self._add(rows)
        self._graph.save(str(self.folder / name))
        return name

    def _add(self, rows: Iterator[tuple[int, bytes]]) -> None:
        while chunk := list(islice(rows, _CHUNK)):
            # A row of another width comes from another encoder; it has its place in the store only.
            chunk = [(key, vector) for key, vector in chunk if len(vector) == 4 * self._graph.ndim]
            keys = np.array([key for key, _ in chunk], dtype=np.uint64)
            if known := [key for key in keys.tolist() if key in self._graph]:
                self._erase_keys(known)
            if len(keys):
                # One thread: with several, a row is now and then left without a way to it, and no two builds agree.
                self._graph.add(keys, unpack([vector for _, vector in chunk], self._graph.ndim), threads=1)

    def _erase(self, keys: Sequence[int], path: Path) -> None:
        self._erase_keys([key for key in keys if key in self._graph])
        self._graph.save(str(path))

    def _erase_keys(self, keys: Sequence[int]) -> None:
        if not keys:
            return
        blanks = np.arange(_BLANK, _BLANK + len(keys), dtype=np.uint64)
        blank = np.full((len(keys), self._graph.ndim), 1.0, dtype=np.float32)
        self._graph.remove(np.array(keys, dtype=np.uint64), threads=1)
        self._graph.add(blanks, blank, threads=1)
        self._graph.remove(blanks, threads=1)

    def _close(self) -> None:
        self._graph = None


def _usearch() -> Any:
    """The library; before it the system's C++ runtime.

    Its own copy of that runtime would serve whatever library comes next, such as onnxruntime, which then crashes.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)
    import usearch.index

    return usearch.index
