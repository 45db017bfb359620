"""A gate of a trained encoder: the last turns as one text, one score, a calibrated probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Reader
from dragoman.core.registry import gates
from dragoman.core.values import Context, Evidence, Verdict
from dragoman.gate.inputs import unaided
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
"""What a frozen encoder reads one by one: the user's turn, the agent's before it, and the view of the dialogue."""


@gates.register("encoder.v1")
class EncoderGate:
    """Decides by a part that `dragoman train gate-encoder` made: fine-tuned, or frozen with a logistic head.

    Evidence is not looked at. `threshold` stands in for the part's own. One that was trained to read a reply needs a
    `reader`, whose draft without evidence it reads. `max_tokens` reads no more than so many tokens where the part was
    trained with more: a decision takes time in proportion. The end is cut off, which is the oldest turn where the part
    reads the newest first.
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
        """The probability from which something is looked up."""
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
        replies = unaided(self._reader, turns) if scorer.part.options.get("reply") and turns else None
        verdicts = []
        for score in gate_scores(scorer, turns, replies)[:, 0]:
            probability = head.probability(float(score), LABEL)
            reason = f"probability {probability:.2f}, threshold {threshold:.2f}"
            verdicts.append(Verdict(probability >= threshold, probability, reason))
        return verdicts


def gate_scores(scorer: Scorer, turns: Sequence[Context], replies: Sequence[str] | None = None) -> FloatArray:
    """The log-odds of some turns before calibration, (N, 1); those of a frozen encoder are the sum of its fields'."""
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
    """What a fine-tuned encoder reads of some turns: the view, or, with replies, each reply and the view as a pair."""
    view = View.from_json(options["view"])
    if replies is None:
        return [view.text(context) for context in turns]
    return [(" ".join(reply.split()), view.text(context)) for context, reply in zip(turns, replies, strict=True)]


def field_texts(turns: Sequence[Context], options: Mapping[str, Any], field: Field) -> list[Text]:
    """One field of some turns; empty where there is nothing."""
    if field == "view":
        return gate_texts(turns, options)
    if field == "last":
        return [context.last for context in turns]
    return [context.history[-1].text if context.history else "" for context in turns]


def field_head(field: Field) -> str:
    """The output of the model that scores a field."""
    return f"{HEAD}_{field}"
