"""Query vectors: of a turn that stands alone, its own; of a follow-up, the mean with what it carries.

The turn alone says what is asked, the turn with its topic says of what; either alone loses half of it
(`benchmarks/retrieval.py` prints by how much). A trained mix weighs the last turn, the dialogue and the given evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from dragoman.core.protocols import Encoder
from dragoman.retriever.search import SourceSearch

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

MIX = ("last", "history", "given")
"""What a mix is made of."""
EQUAL: Mapping[str, float] = MappingProxyType({})


def spoken(search: SourceSearch) -> dict[str, str]:
    """The texts whose vectors make up that of a search, by what they are."""
    if search.asked != "mix":
        return {"turn": search.query.turn, "text": search.query.text}
    found = {"last": search.query.turn, "history": search.query.text}
    return found | {"given": search.given} if search.given else found


def query_vectors(encoder: Encoder, asked: Sequence[SourceSearch], weights: Mapping[str, float] = EQUAL) -> FloatArray:
    """One unit vector a search, in one call of the encoder; texts without a weight weigh 1."""
    import numpy as np

    said = [spoken(search) for search in asked]
    texts = list(dict.fromkeys(text for parts in said for text in parts.values()))
    encoded = encoder.encode(texts)
    place = {text: i for i, text in enumerate(texts)}
    mixed = np.zeros((len(said), encoded.shape[1]), dtype=np.float32)
    for row, parts in enumerate(said):
        for name, text in parts.items():
            mixed[row] += weights.get(name, 1.0) * encoded[place[text]]
    lengths = np.linalg.norm(mixed, axis=1, keepdims=True)
    unit: FloatArray = (mixed / np.maximum(lengths, 1e-12)).astype(np.float32)
    return unit
