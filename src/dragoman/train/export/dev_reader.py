"""Dev's scores by the exported model, computed once for both the choice of bits and the calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.models.onnx.scorer import Scorer, Text
from dragoman.models.part import Part
from dragoman.train.contract import Job, Progress

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

STAGE = "Measuring what was exported"
_AT_ONCE = 512


class ReadOnce(Scorer):
    """A `Scorer` that reports progress and caches scores, so that no text is read twice."""

    def __init__(self, part: Part, job: Job) -> None:
        super().__init__(part)
        self._job = job
        self._found: dict[tuple[str, Text], FloatArray] = {}

    def scores(self, texts: Sequence[Text], head: str) -> FloatArray:
        import numpy as np

        new = sorted((text for text in dict.fromkeys(texts) if (head, text) not in self._found), key=_length)
        for start in range(0, len(new), _AT_ONCE):  # sorted by length, since a pass takes texts of one length
            self._job.report(Progress(STAGE, start, len(new)))
            some = new[start : start + _AT_ONCE]
            scores = super().scores(some, head)
            self._found |= {(head, text): row for text, row in zip(some, scores, strict=True)}
        rows = [self._found[head, text] for text in texts]
        return np.stack(rows) if rows else super().scores((), head)


def _length(text: Text) -> int:
    return len(text) if isinstance(text, str) else len(text[0]) + len(text[1])
