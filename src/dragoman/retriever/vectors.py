"""Query vectors: the turn's own vector, or for a follow-up its mean with the vector of turn and context.

The turn alone holds the question, the turn with its context the topic; `benchmarks/retrieval/retrieval.py` measures
either alone. A trained mix weighs the last turn, the dialogue and the given evidence.
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
"""Components of a mix."""
EQUAL: Mapping[str, float] = MappingProxyType({})


def query_texts(search: SourceSearch) -> dict[str, str]:
    """Return the texts whose vectors are combined for a search, by component."""
    if search.asked != "mix":
        return {"turn": search.query.turn, "text": search.query.text}
    texts = {"last": search.query.turn, "history": search.query.text}
    return texts | {"given": search.given} if search.given else texts


def query_vectors(
    encoder: Encoder, source_searches: Sequence[SourceSearch], weights: Mapping[str, float] = EQUAL
) -> FloatArray:
    """Return one unit vector per search, with one call of the encoder; the default weight of a component is 1."""
    import numpy as np

    search_texts = [query_texts(search) for search in source_searches]
    texts = list(dict.fromkeys(text for parts in search_texts for text in parts.values()))
    encoded = encoder.encode(texts)
    place = {text: i for i, text in enumerate(texts)}
    mixed = np.zeros((len(search_texts), encoded.shape[1]), dtype=np.float32)
    for row, parts in enumerate(search_texts):
        for name, text in parts.items():
            mixed[row] += weights.get(name, 1.0) * encoded[place[text]]
    lengths = np.linalg.norm(mixed, axis=1, keepdims=True)
    unit: FloatArray = (mixed / np.maximum(lengths, 1e-12)).astype(np.float32)
    return unit
