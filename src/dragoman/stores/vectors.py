"""The stored form of vectors: unit length, 32-bit floats, little-endian bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dragoman.core.errors import InputError

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

DTYPE = np.dtype("<f4")


def pack(vectors: FloatArray | None, count: int) -> list[bytes | None]:
    """One BLOB per row; None for a missing vector, and for a zero vector, which has no direction."""
    if vectors is None:
        return [None] * count
    matrix = np.asarray(vectors, dtype=np.float64)
    if matrix.ndim != 2 or len(matrix) != count or not matrix.shape[1]:
        raise InputError(
            f"{count} passages came with vectors of shape {matrix.shape}.",
            remedy="Give an array of shape (passages, dimensions).",
        )
    if not np.isfinite(matrix).all():
        raise InputError("A vector holds a number that is not finite.", remedy="Check the encoder's output.")
    lengths = np.linalg.norm(matrix, axis=1)
    units = (matrix / np.where(lengths > 0, lengths, 1)[:, None]).astype(DTYPE)
    return [unit.tobytes() if length > 0 else None for unit, length in zip(units, lengths, strict=True)]


def unit(vector: Sequence[float]) -> FloatArray:
    """A query's vector at unit length, so that a dot product is the cosine; zero stays zero."""
    query = np.asarray(vector, dtype=np.float64)
    if query.ndim != 1 or not np.isfinite(query).all():
        raise InputError(
            f"A query vector of shape {query.shape} cannot be searched.", remedy="Give one row of finite numbers."
        )
    length = np.linalg.norm(query)
    return (query / length if length > 0 else query).astype(DTYPE)


def unpack(blobs: Sequence[bytes], dimensions: int) -> FloatArray:
    """BLOBs of one width as a matrix."""
    return np.frombuffer(b"".join(blobs), dtype=DTYPE).reshape(len(blobs), dimensions)
