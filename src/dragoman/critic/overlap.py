"""Untrained critic: shared words and meaning, with a penalty for numbers, names and denials of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dragoman.core.protocols import Encoder, warm
from dragoman.core.registry import critics
from dragoman.core.values import Evidence
from dragoman.text.claims import negated, unsupported
from dragoman.text.sentences import sentences


@critics.register("overlap.v1")
class OverlapCritic:
    """Consistency by the words and meaning that a text shares with its evidence.

    Numbers and names that the evidence lacks, and a denial where the nearest sentence affirms, each
    cost a factor. It cannot tell a subtle contradiction; a trained NLI critic can.
    """

    def __init__(self, *, encoder: Encoder, analyse: Callable[[str], tuple[str, ...]], slope: float = 8.0) -> None:
        self._encoder = encoder
        self._analyse = analyse
        self._slope = slope

    def warm_up(self) -> None:
        """Load the encoder."""
        warm(self._encoder)

    def consistency(self, pairs: Sequence[tuple[Evidence, str]]) -> Sequence[float]:
        if not pairs:
            return []
        units = [sentences(evidence.text) or (evidence.text,) for evidence, _ in pairs]
        vectors = self._encoder.encode(
            [text for (_, reply), row in zip(pairs, units, strict=True) for text in (reply, *row)]
        )
        scores, start = [], 0
        for (evidence, text), row in zip(pairs, units, strict=True):
            end = start + 1 + len(row)
            cosines = vectors[start + 1 : end] @ vectors[start]
            scores.append(self._one(evidence, text, row[int(cosines.argmax())], float(cosines.max())))
            start = end
        return scores

    def _one(self, evidence: Evidence, text: str, nearest: str, cosine: float) -> float:
        reply_words = set(self._analyse(text))
        evidence_words = set(self._analyse(evidence.passage.indexed))
        share = len(reply_words & evidence_words) / len(reply_words) if reply_words else 0.0
        closeness = 0.5 * share + 0.5 * max(0.0, cosine)
        probability = 1.0 / (1.0 + math.exp(-self._slope * (closeness - 0.5)))
        if unsupported(text, [evidence.passage.indexed]):
            probability *= 0.2
        if closeness > 0.5 and negated(text) != negated(nearest):
            probability *= 0.3
        return probability
