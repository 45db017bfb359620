"""Default gate: closed for small talk and for turns that only state facts about the user."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dragoman.core.protocols import Encoder
from dragoman.core.registry import gates
from dragoman.core.values import Context, Evidence, Verdict
from dragoman.text.form import SOCIAL, Form, form
from dragoman.text.inferences import tells_a_plan

_SMALL_TALK = (
    "Hello!",
    "Hi, nice to see you again.",
    "Good morning to you!",
    "How are you today?",
    "Thank you very much for your help!",
    "Thanks, that was really kind.",
    "Goodbye, see you later!",
    "Have a nice day!",
    "Okay, sounds good.",
    "Great, I understand.",
    "Haha, that is funny.",
    "You are very helpful.",
    "Lovely weather today.",
    "I am so happy today.",
    "Nice to meet you.",
    "I see, never mind.",
)
_CLEAR = {
    "remember": Verdict(False, 0.02, "asks to remember"),
    "forget": Verdict(False, 0.02, "asks to forget"),
    "pastime": Verdict(False, 0.1, "asks for a pastime"),
    "question": Verdict(True, 0.97, "asks something"),
}
_MIDPOINT, _SLOPE = 0.45, 12.0
"""Logistic curve from the likeness to small talk to the probability that the gate opens."""


@gates.register("similarity.v1")
class SimilarityGate:
    """Gate that opens for questions, and for other turns unless they resemble small talk or state a fact to remember.

    In doubt it opens: a needless retrieval costs milliseconds, a missing one costs the answer.
    """

    def __init__(self, *, encoder: Encoder, threshold: float = 0.5) -> None:
        self._encoder = encoder
        self._threshold = threshold

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        forms = [form(context.last) for context in turns]
        verdicts = [self._clear(shape, context) for shape, context in zip(forms, turns, strict=True)]
        unclear = [i for i, verdict in enumerate(verdicts) if verdict is None]
        likeness = self._likeness([turns[i].last for i in unclear])
        for i, cosine in zip(unclear, likeness, strict=True):
            probability = 1.0 / (1.0 + math.exp(_SLOPE * (cosine - _MIDPOINT)))
            verdicts[i] = Verdict(probability >= self._threshold, probability, f"small-talk likeness {cosine:.2f}")
        return [verdict for verdict in verdicts if verdict is not None]

    def _clear(self, shape: Form, context: Context) -> Verdict | None:
        if shape.act in SOCIAL:
            return Verdict(False, 0.02, shape.act)
        if shape.act == "statement":
            if tells_a_plan(context.last):
                return Verdict(self._threshold <= 0.6, 0.6, "tells a plan")
            return None if context.learned.is_empty else Verdict(False, 0.1, "tells of the user")
        clear = _CLEAR[shape.act]
        return Verdict(clear.probability >= self._threshold, clear.probability, clear.reason)

    def _likeness(self, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        vectors = self._encoder.encode([*_SMALL_TALK, *texts])
        prototypes, turns = vectors[: len(_SMALL_TALK)], vectors[len(_SMALL_TALK) :]
        # one by one: a product of matrices rounds by their size, and a turn's figure would depend on its batch
        return [float((prototypes @ vector).max()) for vector in turns]
