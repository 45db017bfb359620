"""Select the facts about a user that are relevant to a sentence that may answer.

Irrelevant facts mislead the judge and give wrong reasons. Two small logistic regressions choose: the first by
similarities and shared words, before the judge reads; the second also by the judge's scores for the sentence with the
fact alone. `python benchmarks/judge/bearing.py` fits and measures them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.core.protocols import Encoder
from dragoman.decision.choose import Analyse
from dragoman.decision.groups import GENERAL, roots
from dragoman.decision.relations import user_values, with_relations

if TYPE_CHECKING:
    from dragoman.decision.joint import Option, PairScore

NEAR: Mapping[str, float] = {
    "to question": 4.26,
    "to sentence": 8.85,
    "added": 4.55,
    "shared": 1.34,
    "compared": 1.0,
    "bias": -4.6,
}
"""Log-odds that a fact bears on a sentence, before it is read."""
READ: Mapping[str, float] = {
    "to question": 5.45,
    "to sentence": 3.67,
    "added": 5.42,
    "shared": 0.82,
    "compared": 0.33,
    "says": -1.05,
    "lacks": -3.57,
    "silent": -1.11,
    "answers": 4.45,
    "bears": 2.76,
    "bias": -6.42,
}
"""The same, once the judge has read the sentence with the fact alone."""


_PROBES: Mapping[tuple[str, str], float] = {
    ("Dogs are welcome on the terrace.", "I have a labrador."): 0.235,
    ("Children under six travel free.", "My son is four."): 0.296,
    ("Dogs are welcome on the terrace.", "Children under six travel free."): 0.074,
}
"""Pairs of sentences with their cosine by the encoder that the weights were fitted on, to recognise that encoder."""
_SAME = 0.06


@dataclass(frozen=True, slots=True)
class Features:
    """Features of a fact and a sentence before the judge reads them together."""

    to_question: float
    """Similarity of fact and question."""
    to_sentence: float
    added: float
    """How much nearer the question comes to the sentence with the fact."""
    shared: float
    """Telling words that fact and sentence share, and not the question."""
    compared: float
    """Whether code finds a number, day or time of the fact to compare."""


class Bearing:
    """Predicts how probably facts are relevant to sentences."""

    def __init__(self, *, encoder: Encoder, analyse: Analyse) -> None:
        self._encoder = encoder
        self._analyse = analyse
        self._is_known: bool | None = None

    def is_trained_for(self) -> bool:
        """Whether the weights were fitted on this encoder's similarities."""
        if self._is_known is None:
            vectors = self._encoder.encode([text for pair in _PROBES for text in pair])
            cosines = [float(one @ other) for one, other in zip(vectors[::2], vectors[1::2], strict=True)]
            near = [abs(is_ - wanted) <= _SAME for is_, wanted in zip(cosines, _PROBES.values(), strict=True)]
            self._is_known = all(near)
        return self._is_known

    def features(self, question: str, options: Sequence[Option], facts: Sequence[str]) -> list[list[Features]]:
        """Return, for each option, the features of every fact."""
        count = len(facts)
        texts = [question, *facts, *(f"{fact} {question}" for fact in facts), *(o.sentence for o in options)]
        vectors = self._encoder.encode(texts)
        of_question, of_facts, both, units = (
            vectors[:1],
            vectors[1 : 1 + count],
            vectors[1 + count : 1 + 2 * count],
            vectors[1 + 2 * count :],
        )
        to_question = (of_facts @ of_question.T)[:, 0]
        to_sentence = of_facts @ units.T
        added = (both @ units.T) - (of_question @ units.T)
        words = roots(self._analyse(question)) | GENERAL
        own = [roots(self._analyse(fact)) - words for fact in facts]
        features = []
        for place, option in enumerate(options):
            sentence = roots(self._analyse(option.sentence))
            plain = with_relations(option.sentence, user_values([], question))
            features.append(
                [
                    Features(
                        float(to_question[i]),
                        float(to_sentence[i, place]),
                        float(added[i, place]),
                        float(len(own[i] & sentence)),
                        float(with_relations(option.sentence, user_values([fact], question)) != plain),
                    )
                    for i, fact in enumerate(facts)
                ]
            )
        return features


def likely(features: Features) -> float:
    """Return the probability that a fact is relevant to a sentence, before the judge reads them."""
    return _probability(NEAR, inputs(features))


def likely_when_read(features: Features, score: PairScore, bare: PairScore) -> float:
    """The same after reading: `score` is the judge's with the fact alone, `bare` its score without facts."""
    return _probability(READ, inputs(features) | read_inputs(score, bare))


def inputs(features: Features) -> dict[str, float]:
    """Return the inputs of the first regression."""
    return {
        "to question": features.to_question,
        "to sentence": features.to_sentence,
        "added": features.added,
        "shared": features.shared,
        "compared": features.compared,
    }


def read_inputs(score: PairScore, bare: PairScore) -> dict[str, float]:
    """Return further inputs of the second regression: how the scores with and without the fact differ."""
    gains = {name: chance - bare.verdict.get(name, 0.0) for name, chance in score.verdict.items()}
    return {
        "says": max(gains.get("yes", 0.0), gains.get("no", 0.0)),
        "lacks": gains.get("unknown", 0.0),
        "silent": gains.get("none", 0.0),
        "answers": score.answers - bare.answers,
        "bears": score.bears,
    }


def _probability(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    odds = weights["bias"] + sum(weights.get(name, 0.0) * value for name, value in features.items())
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, odds))))
