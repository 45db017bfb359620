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
from dragoman.text.sentences import sentences

KIND = "critic.nli"
HEAD = "consistent"
By: TypeAlias = Literal["text", "sentence"]

_QUESTION = re.compile(r"[?？]\s*[\"'”’)）]*$")


@critics.register("nli.v1")
class NliCritic:
    """Trained critic: the calibrated probability that a text is consistent with evidence; from one half on it is.

    `by = "sentence"` judges each sentence of the text that is no question and takes the least: stricter with long
    replies, and with replies that rest on several pieces too strict. Nothing is consistent with an empty text.
    """

    def __init__(self, *, part: str, by: By = "text", folder: Path | None = None) -> None:
        if by not in get_args(By):
            raise ConfigError(f"critic.nli: by = '{by}' is not known.", remedy=f"Use {' or '.join(get_args(By))}.")
        self._part = part
        self._folder = folder
        self._by: By = by
        self._opening = threading.Lock()
        self._scorer: Scorer | None = None

    def warm_up(self) -> None:
        """Open the part and load its weights."""
        self._open().warm_up()

    def consistency(self, pairs: Sequence[tuple[Evidence, str]]) -> list[float]:
        asked = [(row, claim) for row, (evidence, text) in enumerate(pairs) for claim in self._claims(evidence, text)]
        if not asked:
            return [0.0] * len(pairs)
        texts = [(pairs[row][0].passage.indexed, claim) for row, claim in asked]
        least: dict[int, float] = {}
        for (row, _), probability in zip(asked, self._open().probabilities(texts, HEAD), strict=True):
            least[row] = min(least.get(row, 1.0), probability)
        return [least.get(row, 0.0) for row in range(len(pairs))]

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
