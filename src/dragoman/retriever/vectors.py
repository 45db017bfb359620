"""Query vectors: of a turn that stands alone, its own; of a follow-up, the mean with what it carries.

The turn alone says what is asked, the turn with its topic says of what; either alone loses half of it
(`benchmarks/retrieval.py` prints by how much).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.core.protocols import Encoder
from dragoman.text.query import SearchText

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray


def query_vectors(encoder: Encoder, queries: Sequence[SearchText]) -> FloatArray:
    """One unit vector a query, in one call of the encoder."""
    import numpy as np

    texts = list(dict.fromkeys(text for query in queries for text in (query.turn, query.text)))
    encoded = encoder.encode(texts)
    place = {text: i for i, text in enumerate(texts)}
    turns = encoded[[place[query.turn] for query in queries]]
    wholes = encoded[[place[query.text] for query in queries]]
    mean = turns + wholes
    lengths = np.linalg.norm(mean, axis=1, keepdims=True)
    unit: FloatArray = (mean / np.maximum(lengths, 1e-12)).astype(np.float32)
    return unit
