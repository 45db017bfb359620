"""Confidence of replies: the papers' least logit, the least probability, and the calibrated confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dragoman.core.errors import ConfigError
from dragoman.core.registry import metrics
from dragoman.core.trace import Refinement, Trace
from dragoman.core.values import Draft
from dragoman.evaluate.contract import About, Judged, Scores, mean_scores

_NOTES = {"logit": "min_logit", "probability": "min_probability"}


@metrics.register("confidence.v1")
class Confidence:
    """The mean probability that a system gives to its own replies."""

    @property
    def about(self) -> About:
        return About("confidence", "none", (0.0, 1.0), "the mean of Reply.confidence")

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        return mean_scores(np.array([float(turn.reply.confidence) for turn in turns]))


@metrics.register("least.v1")
class Least:
    """The mean over generated replies of what their least likely token got: RAGate's confidence.

    `of="logit"` is the figure of the paper's tables, the least raw logit of the greedy tokens. It has no bounds and no
    meaning across models. It is read from `min_logit` in the notes of the draft that became the reply. The embedded
    llama.cpp runtime does not report raw logits; with its option `least` it notes `min_probability`, which
    `of="probability"` reads: the paper's words ("minimum probabilities") rather than its code. Replies that were
    not generated, or whose model noted nothing, do not count; where no turn counts there is no value.
    """

    def __init__(self, *, of: str = "logit") -> None:
        if of not in _NOTES:
            raise ConfigError(f"metric.least: of is '{of}'.", remedy=f"Give one of {', '.join(_NOTES)}.")
        self._of = of

    @property
    def about(self) -> About:
        bounds = (-math.inf, math.inf) if self._of == "logit" else (0.0, 1.0)
        return About(f"least {self._of}", "none", bounds, "RAGate, section 4 and Table 3")

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        values = [least(turn.reply.trace, _NOTES[self._of]) for turn in turns]
        details = (
            {} if any(value is not None for value in values) else {"missing": f"no draft notes {_NOTES[self._of]}"}
        )
        return mean_scores(np.array([math.nan if value is None else value for value in values]), dict(details))


def least(trace: Trace, note: str) -> float | None:
    """Return a note of the last draft of a turn, or None."""
    draft = last_draft(trace)
    value = draft.notes.get(note) if draft is not None else None
    return float(value) if isinstance(value, int | float) and not math.isnan(value) else None


def last_draft(trace: Trace) -> Draft | None:
    """Return the draft that became the reply: the reader's, or that of the last refinement."""
    draft = None
    for note in trace:
        if isinstance(note.value, Draft):
            draft = note.value
        elif isinstance(note.value, Refinement):
            draft = note.value.draft
    return draft
