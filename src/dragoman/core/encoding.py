"""Encode passages, with an encoder that may treat passages differently from questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder, FloatArray
    from dragoman.core.values import About, Passage, Source


def passage_vectors(encoder: Encoder, texts: Sequence[str], *, about: About = "world") -> FloatArray:
    """Vectors for the rows of a source: by `encode_passages` where an encoder has it, else by `encode`.

    Both lie in one space, so that questions, which are always encoded by `encode`, may be compared with them.
    Statements about the user or the bot are few, and their cosine decides: they are read as questions are.
    """
    if about != "world":
        return encoder.encode(texts)
    vectors: FloatArray = getattr(encoder, "encode_passages", encoder.encode)(texts)
    return vectors


def by_about(passages: Sequence[Passage], sources: Sequence[Source]) -> dict[About, list[Passage]]:
    """Group passages by what their source is about, in their order; an unknown source counts as `world`."""
    about = {source.name: source.about for source in sources}
    groups: dict[About, list[Passage]] = {}
    for passage in passages:
        groups.setdefault(about.get(passage.source, "world"), []).append(passage)
    return groups
