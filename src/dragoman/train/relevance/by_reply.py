"""Labels by similarity to the reply, for sets with replies and without evidence labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dragoman.core.codec import Json
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.train.relevance.candidate_pools import CandidatePool
from dragoman.train.relevance.methods import Judged, Unanswered


class ReplyLabels:
    """Cosine of candidate and gold reply by a sentence encoder, at least 0.

    Only training has the reply. A candidate close to it is most likely its evidence, as in ConvAI2's personas.
    """

    def __init__(self, weights: str = "all-minilm-l6-v2-int8") -> None:
        self._weights = weights
        self._encoder = OnnxEncoder(weights=weights)

    @property
    def about(self) -> Mapping[str, Json]:
        return {"method": "reply", "version": 1, "encoder": self._weights}

    def judge(self, pools: Sequence[CandidatePool]) -> list[Judged]:
        replies = [pool.example.gold.reply or "" for pool in pools]
        candidates = [passage.indexed for pool in pools for passage in pool.candidates]
        texts = list(dict.fromkeys((*filter(str.strip, replies), *candidates)))
        vectors = dict(zip(texts, self._encoder.encode(texts), strict=True)) if texts else {}
        return [
            [min(1.0, max(0.0, float(vectors[passage.indexed] @ vectors[reply]))) for passage in pool.candidates]
            if reply in vectors
            else Unanswered("the turn has no reply")
            for pool, reply in zip(pools, replies, strict=True)
        ]
