"""BERTScore: how near the words of a reply come to those of the gold reply, by the vectors of any local encoder."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from dragoman.core.errors import ConfigError
from dragoman.core.registry import metrics
from dragoman.evaluate.contract import About, Judged, Scores, mean_scores

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

BertScoreValue: TypeAlias = Literal["precision", "recall", "f1"]
Triple: TypeAlias = tuple[float, float, float]
_PARTS: tuple[BertScoreValue, ...] = ("precision", "recall", "f1")
_TURNS_AT_ONCE = 256


@runtime_checkable
class TokenEncoder(Protocol):
    """An encoder that also tells the state of every token; `OnnxEncoder` is one."""

    def tokens(self, texts: Sequence[str]) -> Sequence[FloatArray]:
        """An array (tokens, dimensions) of unit rows for each text; no rows for a text without tokens."""
        ...

    def pieces(self, texts: Sequence[str]) -> Sequence[Sequence[str]]:
        """The names of those tokens: what rarity is counted over."""
        ...


@metrics.register("bertscore.v1")
class BertScore:
    """The mean over turns of BERTScore's precision, recall or F1.

    With `idf` rare word pieces of the references weigh more. The last layer's states are used and the values are not
    rescaled against a baseline, so they are comparable between systems under the same encoder, not with the figures of
    a paper that used another one. An empty reply is worth 0. Without an encoder it only describes itself.
    """

    def __init__(self, *, encoder: TokenEncoder | None, part: BertScoreValue = "f1", idf: bool = False) -> None:
        if part not in _PARTS:
            raise ConfigError(f"metric.bertscore: part is '{part}'.", remedy=f"Give one of {', '.join(_PARTS)}.")
        # not isinstance: newer Pythons do not see there what a wrapper passes on
        if encoder is not None and not all(callable(getattr(encoder, method, None)) for method in ("tokens", "pieces")):
            raise ConfigError(
                f"metric.bertscore: the encoder {type(encoder).__name__} gives no vectors of tokens.",
                remedy="Use encoder.onnx, or one with the methods tokens and pieces.",
            )
        self._encoder = encoder
        self._part: BertScoreValue = part
        self._idf = idf

    @property
    def about(self) -> About:
        low = 0.0 if self._part == "f1" else -1.0
        name = {"precision": "P", "recall": "R", "f1": "F1"}[self._part]
        return About(f"BERTScore {name}", "up", (low, 1.0), "Zhang et al. 2020, section 3", frozenset({"reply"}))

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        if self._encoder is None:
            raise ConfigError("metric.bertscore has no encoder.", remedy="Name one, as in encoder = 'onnx'.")
        rows = [row for row, turn in enumerate(turns) if turn.example.gold.reply is not None]
        replies = [turns[row].reply.text for row in rows]
        references = [turns[row].example.gold.reply or "" for row in rows]
        per_turn = np.full(len(turns), np.nan)
        per_turn[rows] = [
            triple[_PARTS.index(self._part)]
            for triple in bertscore(replies, references, encoder=self._encoder, idf=self._idf)
        ]
        return mean_scores(per_turn)


def bertscore(
    replies: Sequence[str], references: Sequence[str], *, encoder: TokenEncoder, idf: bool = False
) -> list[Triple]:
    """Precision, recall and F1 of each pair."""
    rarity = _rarity(encoder.pieces(references)) if idf else None
    triples: list[Triple] = []
    pairs = list(zip(replies, references, strict=True))
    for start in range(0, len(pairs), _TURNS_AT_ONCE):
        part = pairs[start : start + _TURNS_AT_ONCE]
        texts = list(dict.fromkeys(text for pair in part for text in pair))
        vectors = dict(zip(texts, encoder.tokens(texts), strict=True))
        weights: dict[str, list[float]] = {}
        if rarity is not None:
            unseen = math.log(len(references) + 1)
            for text, pieces in zip(texts, encoder.pieces(texts), strict=True):
                weights[text] = [rarity.get(piece, unseen) for piece in pieces]
        triples += [greedy_match(vectors[one], vectors[two], weights.get(one), weights.get(two)) for one, two in part]
    return triples


def greedy_match(
    reply: FloatArray,
    reference: FloatArray,
    reply_weights: Sequence[float] | None = None,
    reference_weights: Sequence[float] | None = None,
) -> Triple:
    """Greedy matching of unit vectors: R and P are weighted means of each token's best cosine, F1 their harmonic mean.

    F1 is 0 where P or R is not positive: a harmonic mean of numbers of both signs says nothing.
    """
    import numpy as np

    if not len(reply) or not len(reference):
        return 0.0, 0.0, 0.0
    cosines = reply @ reference.T  # (reply tokens, reference tokens)
    precision = _mean(cosines.max(axis=1), reply_weights)  # P_BERT
    recall = _mean(cosines.max(axis=0), reference_weights)  # R_BERT
    precision, recall = (float(np.clip(value, -1.0, 1.0)) for value in (precision, recall))
    if precision <= 0 or recall <= 0:
        return precision, recall, 0.0
    return precision, recall, 2 * precision * recall / (precision + recall)  # F_BERT


def _mean(values: FloatArray, weights: Sequence[float] | None) -> float:
    if weights is None or not math.fsum(weights):
        return float(values.mean(dtype=float))
    return math.fsum(float(v) * w for v, w in zip(values, weights, strict=True)) / math.fsum(weights)


def _rarity(references: Sequence[Sequence[str]]) -> Mapping[str, float]:
    """The inverse document frequency of each piece over the references, smoothed by one as the authors do."""
    counts = Counter(piece for pieces in references for piece in set(pieces))
    return {piece: math.log((len(references) + 1) / (count + 1)) for piece, count in counts.items()}
