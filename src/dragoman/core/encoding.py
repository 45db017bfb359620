"""Vectors of what is searched, by an encoder that may read it otherwise than what is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder, FloatArray
    from dragoman.core.values import About


def passage_vectors(encoder: Encoder, texts: Sequence[str], *, about: About = "world") -> FloatArray:
    """Vectors for the rows of a source: by `encode_passages` where an encoder has it, else by `encode`.

    Both lie in one space, so that questions, which are always encoded by `encode`, may be compared with them.
    Statements about the user or the bot are few, and their cosine decides: they are read as questions are.
    """
    if about != "world":
        return encoder.encode(texts)
    vectors: FloatArray = getattr(encoder, "encode_passages", encoder.encode)(texts)
    return vectors
