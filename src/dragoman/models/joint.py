"""A joint scorer on onnxruntime: question, user's fact and sentence read together, five decisions of one pass.

`answers`: does the sentence hold what the question asks for, perhaps only together with the fact. `bears`: does the
fact change what the sentence means for the answer. `verdict`: what both say to a yes-or-no question. `needs`: does a
reply to the question need the fact. `entails`: does the evidence support a claim.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dragoman.core.environment import cores
from dragoman.models.onnx.scorer import shared_session
from dragoman.models.onnx.session import batches, clean, open_tokenizer
from dragoman.models.part import Part, open_part

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

KIND: Final = "joint"
ANSWERS, BEARS, VERDICT, NEEDS, ENTAILS = "answers", "bears", "verdict", "needs", "entails"
VERDICTS: Final = ("yes", "no", "unknown", "none")
ENTAILMENTS: Final = ("entailed", "neutral", "contradicted")
HEADS: Final = {ANSWERS: (ANSWERS,), BEARS: (BEARS,), VERDICT: VERDICTS, NEEDS: (NEEDS,), ENTAILS: ENTAILMENTS}
"""Every head with its labels."""
_BETWEEN = " [SEP] "
"""Between a question and a fact: the tokenizer knows it as its own mark."""


@dataclass(frozen=True, slots=True)
class JointScore:
    """Probabilities of one reading; `bears` is 0 without a fact.

    `verdict` goes over yes, no, unknown (a missing fact about the user decides) and none (not a matter of yes or no,
    or the sentence does not decide); it sums to 1.
    """

    answers: float
    bears: float
    yes: float
    no: float
    unknown: float
    none: float

    @property
    def verdict(self) -> str:
        """The likeliest verdict."""
        return max(VERDICTS, key=lambda label: float(getattr(self, label)))


class JointScorer:
    """Runs a part of kind `joint`. A pair's score does not depend on what is scored beside it.

    `max_tokens` is how much of a pair is read, at most what the part was trained with.
    """

    def __init__(
        self, part: Part | str | Path, *, batch: int = 32, threads: int | None = None, max_tokens: int | None = None
    ) -> None:
        self.part = part if isinstance(part, Part) else open_part(part, kind=KIND)
        self._batch = batch
        self._threads = threads or min(cores(), 8)
        trained = int(self.part.options.get("max_tokens", 192))
        self._max_tokens = trained if max_tokens is None else min(max_tokens, trained)
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def warm_up(self) -> None:
        """Load the weights."""
        self._load()

    def score(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[JointScore]:
        """The scores of (fact or "", sentence) pairs for a question."""
        scores = self.read([(pair_text(question, fact), text) for fact, text in pairs], (ANSWERS, BEARS, VERDICT))
        verdicts = self._softmax(VERDICT, scores[VERDICT])
        return [
            JointScore(
                self._probability(ANSWERS, scores[ANSWERS][row][0]),
                self._probability(BEARS, scores[BEARS][row][0]) if fact.strip() else 0.0,
                *verdicts[row],
            )
            for row, (fact, _) in enumerate(pairs)
        ]

    def needs(self, question: str, facts: Sequence[str]) -> list[float]:
        """How likely a reply to the question, which may have its history before it, needs each fact."""
        scores = self.read([(question, fact) for fact in facts], (NEEDS,))[NEEDS]
        return [self._probability(NEEDS, row[0]) for row in scores]

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float, float]]:
        """For (evidence, claim) pairs: how likely the claim is entailed, neutral, contradicted."""
        rows = self._softmax(ENTAILS, self.read(list(pairs), (ENTAILS,))[ENTAILS])
        return [(row[0], row[1], row[2]) for row in rows]

    def read(self, texts: Sequence[tuple[str, str]], heads: Sequence[str]) -> dict[str, FloatArray]:
        """The scores of some heads before calibration, (N, labels) each, from one pass."""
        import numpy as np

        widths = {head: len(self.part.head(head).labels) for head in heads}
        outputs = {head: np.zeros((len(texts), width), dtype=np.float32) for head, width in widths.items()}
        if not texts:
            return outputs
        session, tokenizer = self._load()
        cut = self._max_tokens
        encodings = tokenizer.encode_batch([(clean(first, cut), clean(second, cut)) for first, second in texts])
        wanted = {tensor.name for tensor in session.get_inputs()}
        lengths = [len(encoding.ids) for encoding in encodings]
        for rows in batches(sorted(range(len(lengths)), key=lambda row: lengths[row]), lengths, self._batch):
            ids = np.array([encodings[row].ids for row in rows], dtype=np.int64)  # (B, T)
            types = np.array([encodings[row].type_ids for row in rows], dtype=np.int64)
            feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
            batch_outputs = session.run(list(heads), {name: value for name, value in feed.items() if name in wanted})
            for head, scores in zip(heads, batch_outputs, strict=True):
                outputs[head][rows] = scores
        return outputs

    def _probability(self, head: str, score: float) -> float:
        return self.part.head(head).probability(float(score))

    def _softmax(self, head: str, scores: FloatArray) -> list[list[float]]:
        return softmax(scores, temperature_of(self.part, head)).tolist()  # type: ignore[no-any-return]

    def _load(self) -> tuple[Any, Any]:
        import numpy  # noqa: F401  # onnxruntime imports it from the inside out: two threads at once would fail

        with self._loading:
            if self._loaded is None:
                tokenizer = open_tokenizer(self.part.file("tokenizer.json").parent, self._max_tokens)
                self._loaded = shared_session(self.part, self._threads), tokenizer
        return self._loaded


def pair_text(question: str, fact: str) -> str:
    """A question with a fact beside it, the first of the two texts of a reading."""
    return f"{question}{_BETWEEN}{fact}" if fact.strip() else question


def temperature_of(part: Part, head: str) -> float:
    """Return the temperature that divides the scores of a multi-class head."""
    return float(part.options.get("temperatures", {}).get(head, 1.0))


def softmax(scores: FloatArray, temperature: float = 1.0) -> FloatArray:
    """Scores as probabilities over the last axis."""
    import numpy as np

    raised = np.exp((scores - scores.max(axis=-1, keepdims=True)) / temperature)
    shares: FloatArray = raised / raised.sum(axis=-1, keepdims=True)
    return shares
