"""Gate with a trained encoder: the last turns as one text, one score, a calibrated probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Reader
from dragoman.core.registry import gates
from dragoman.core.values import Context, Evidence, Verdict
from dragoman.gate.inputs import unaided_drafts
from dragoman.gate.verdicts import by_threshold
from dragoman.models.onnx.scorer import LazyScorer, Scorer, Text
from dragoman.text.view import View

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

KIND = "gate.encoder"
HEAD = "gate"
LABEL = "retrieve"
_FEWEST = 8
Field: TypeAlias = Literal["last", "before", "view"]
FIELDS: tuple[Field, ...] = get_args(Field)
"""Fields that a frozen encoder embeds separately: the user's turn, the agent's turn before it, the whole view."""


@gates.register("encoder.v1")
class EncoderGate:
    """Gate with a part of `dragoman train gate-encoder`: fine-tuned, or frozen with a logistic head.

    It does not use evidence. `threshold` replaces the part's. A part trained on replies needs a `reader` that drafts
    one without evidence. `max_tokens` truncates the input further than in training, since time grows with its length;
    the end is cut off, which is the oldest turn if the part reads the newest first.
    """

    def __init__(
        self,
        *,
        part: str,
        reader: Reader | None = None,
        threshold: float | None = None,
        max_tokens: int | None = None,
        folder: Path | None = None,
    ) -> None:
        if max_tokens is not None and max_tokens < _FEWEST:
            raise ConfigError(
                f"gate.encoder: max_tokens = {max_tokens} leaves nothing to read.", remedy=f"Give at least {_FEWEST}."
            )
        self._scorer = LazyScorer(part, kind=KIND, folder=folder, max_tokens=max_tokens)
        self._reader = reader
        self._threshold = threshold

    @property
    def threshold(self) -> float:
        """The probability at which the gate opens."""
        return self._scorer.get().part.head(HEAD).threshold(LABEL) if self._threshold is None else self._threshold

    def warm_up(self) -> None:
        """Load the weights."""
        self._scorer.warm_up()

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        scorer = self._scorer.get()
        head = scorer.part.head(HEAD)
        threshold = self.threshold
        replies = unaided_drafts(self._reader, turns) if scorer.part.options.get("reply") and turns else None
        scores = gate_scores(scorer, turns, replies)[:, 0]
        return [by_threshold(head.probability(float(score), LABEL), threshold) for score in scores]


def gate_scores(scorer: Scorer, turns: Sequence[Context], replies: Sequence[str] | None = None) -> FloatArray:
    """Return the log-odds of turns before calibration, (N, 1); a frozen encoder sums those of its fields."""
    options = scorer.part.options
    fields = options.get("fields")
    if not fields:
        return scorer.scores(gate_texts(turns, options, replies), HEAD)
    parts = [scorer.scores(field_texts(turns, options, field), field_head(field)) for field in fields]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def gate_texts(
    turns: Sequence[Context], options: Mapping[str, Any], replies: Sequence[str] | None = None
) -> list[Text]:
    """Return the inputs of a fine-tuned encoder: the view, or with replies the pair of reply and view."""
    view = View.from_json(options["view"])
    if replies is None:
        return [view.text(context) for context in turns]
    return [(" ".join(reply.split()), view.text(context)) for context, reply in zip(turns, replies, strict=True)]


def field_texts(turns: Sequence[Context], options: Mapping[str, Any], field: Field) -> list[Text]:
    """Return the texts of one field; empty if a turn has none."""
    if field == "view":
        return gate_texts(turns, options)
    if field == "last":
        return [context.last for context in turns]
    return [context.history[-1].text if context.history else "" for context in turns]


def field_head(field: Field) -> str:
    """Return the name of the model output that scores a field."""
    return f"{HEAD}_{field}"
