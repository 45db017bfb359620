"""The trained critic: whether a reply is consistent with its evidence, as UniMS-RAG and SAFARI judge it.

The evidence with its title and headings and the reply are read together, [CLS] g [SEP] r [SEP] (SAFARI, App. C), by a
part that `train/learners/critic_nli.py` makes.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from dragoman.core.errors import ConfigError
from dragoman.core.registry import critics
from dragoman.core.values import Evidence
from dragoman.models.onnx.scorer import Scorer
from dragoman.models.part import open_part
from dragoman.text.claims import numbers, unsupported
from dragoman.text.sentences import sentences

KIND = "critic.nli"
HEAD = "consistent"
By: TypeAlias = Literal["text", "sentence"]
Guard: TypeAlias = Literal["none", "numbers", "claims"]

_UNSUPPORTED = 0.2
"""What a number or name that the evidence lacks leaves of the probability, as in the overlap critic."""
_QUESTION = re.compile(r"[?？]\s*[\"'”’)）]*$")


@critics.register("nli.v1")
class NliCritic:
    """Trained critic: the calibrated probability that a text is consistent with evidence; from one half on it is.

    `by = "sentence"` judges each sentence of the text that is no question and takes the least: stricter with long
    replies, and with replies that rest on several pieces too strict. `guard` multiplies the probability by 0.2 where
    the text holds a number (`numbers`), or a number or a name (`claims`), that the evidence lacks: that is sure where
    replies say only what one piece of evidence says, and costs right ones where they compare or add things of their
    own. Nothing is consistent with an empty text.
    """

    def __init__(self, *, part: str, by: By = "text", guard: Guard = "none", folder: Path | None = None) -> None:
        for name, value, choices in (("by", by, get_args(By)), ("guard", guard, get_args(Guard))):
            if value not in choices:
                raise ConfigError(
                    f"critic.nli: {name} = '{value}' is not known.", remedy=f"Use {' or '.join(choices)}."
                )
        self._part = part
        self._folder = folder
        self._by: By = by
        self._guard: Guard = guard
        self._opening = threading.Lock()
        self._scorer: Scorer | None = None

    def warm_up(self) -> None:
        """Open the part and load its weights."""
        self._open().warm_up()

    def consistency(self, pairs: Sequence[tuple[Evidence, str]]) -> list[float]:
        asked = [(row, claim) for row, (evidence, text) in enumerate(pairs) for claim in self._claims(evidence, text)]
        probabilities = [0.0] * len(pairs)
        if not asked:
            return probabilities
        texts = [(pairs[row][0].passage.indexed, claim) for row, claim in asked]
        least: dict[int, float] = {}
        for (row, _), probability in zip(asked, self._open().probabilities(texts, HEAD), strict=True):
            least[row] = min(least.get(row, 1.0), probability)
        for row, probability in least.items():
            evidence, text = pairs[row]
            probabilities[row] = (
                probability * _UNSUPPORTED if self._invents(text, evidence.passage.indexed) else probability
            )
        return probabilities

    def _invents(self, text: str, grounding: str) -> bool:
        """Whether the text holds a number or name (as `guard` says) that the evidence lacks."""
        if self._guard == "none":
            return False
        strange = unsupported(text, [grounding])
        return bool(strange if self._guard == "claims" else numbers(text).intersection(strange))

    def _claims(self, evidence: Evidence, text: str) -> Sequence[str]:
        """Return the parts of a text to judge: all of it, or its sentences that make a claim."""
        if not text.strip() or not evidence.text.strip():
            return ()
        if self._by == "text":
            return (text.strip(),)
        return [sentence for sentence in sentences(text) if not _QUESTION.search(sentence)] or (text.strip(),)

    def _open(self) -> Scorer:
        with self._opening:
            if self._scorer is None:
                self._scorer = Scorer(open_part(self._part, kind=KIND, folder=self._folder))
            return self._scorer
