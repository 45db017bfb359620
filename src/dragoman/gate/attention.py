"""RAGate-MHA: a gate with a small attention encoder, trained on gate labels; decides in under a millisecond."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import LanguageModel, Reader
from dragoman.core.registry import gates
from dragoman.core.values import Context, Evidence, Source, Verdict
from dragoman.gate.features import WINDOW
from dragoman.gate.inputs import FIELDS, GateInput, Inputs
from dragoman.gate.verdicts import AWAITS_EVIDENCE, by_threshold
from dragoman.models.onnx.attention_scorer import OTHERS, TURNS, AttentionScorer, TextPiece
from dragoman.models.part import open_part

KIND = "gate.attention"
HEAD = "gate"
LABEL = "retrieve"
_CONTEXT = Inputs()
_MOST_TURNS = 9
_ASKED, _ASKS = "[asked]", "[asks]"
MARKS: tuple[str, ...] = (*(f"[turn-{number}]" for number in range(_MOST_TURNS + 1)), _ASKED, _ASKS)
"""Marker words for the shape of a dialogue: its turn number, whether the agent asked, whether the user asks."""


@dataclass(frozen=True, slots=True)
class AttentionReading:
    """Options that turn a dialogue into pieces for the encoder; the same in training and in use.

    `marks` adds marker words for the shape of the dialogue; `segments` gives each word the index of its turn or field;
    with `cross` the dialogue attends to the knowledge alone (contx x know), otherwise all fields form one sequence.
    `window` is the number of last turns that the markers describe (0: all), since an agent passes no more to its gate.
    """

    inputs: Inputs = _CONTEXT
    marks: bool = True
    segments: bool = True
    cross: bool = False
    window: int = WINDOW

    def __post_init__(self) -> None:
        if self.cross and set(self.inputs.fields) == {"know"}:
            raise ConfigError("contx x know has no context to read.", remedy='Set fields = ["contx", "know"].')
        if self.cross and "know" not in self.inputs.fields:
            raise ConfigError("contx x know has no knowledge to attend to.", remedy='Set fields = ["contx", "know"].')

    def pieces(self, gate_input: GateInput) -> tuple[TextPiece, ...]:
        """Return the pieces of one turn."""
        pieces = [TextPiece(" ".join(_marks(gate_input.context, self.window)))] if self.marks else []
        for field in self.inputs.fields:
            if field == "contx":
                pieces += self._turns(gate_input.context)
            else:
                segment = OTHERS + FIELDS.index(field) - 1 if self.segments else OTHERS
                text = self.inputs.text(field, gate_input)
                pieces.append(TextPiece(text, segment, apart=self.cross and field == "know"))
        return tuple(pieces)

    def _turns(self, context: Context) -> list[TextPiece]:
        """Return the view's turns in its order; segments count from the newest (1) in either order."""
        view = self.inputs.view
        turns = context.turns[-view.turns :] if view.turns else context.turns
        pieces = [
            TextPiece(view.line(turn), min(age, TURNS) if self.segments else 1)
            for age, turn in enumerate(reversed(turns), start=1)
        ]
        return pieces if view.order == "newest" else pieces[::-1]

    def to_json(self) -> dict[str, Any]:
        return {
            "inputs": self.inputs.to_json(),
            "marks": self.marks,
            "segments": self.segments,
            "cross": self.cross,
            "window": self.window,
        }

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> AttentionReading:
        return cls(
            Inputs.from_json(table["inputs"]),
            bool(table["marks"]),
            bool(table["segments"]),
            bool(table["cross"]),
            int(table.get("window", 0)),  # older parts counted every turn
        )


@gates.register("attention.v1")
class AttentionGate:
    """Gate with a part of `dragoman train gate-attention`: one score, a calibrated probability.

    The part names its input fields. `resp` needs a `reader`; `syn-resp` needs a reader or the agent's language model.
    With `know` the gate opens first and decides on the second call, with evidence. `threshold` replaces the part's.
    """

    def __init__(
        self,
        *,
        part: str,
        reader: Reader | None = None,
        language_model: LanguageModel | None = None,
        sources: tuple[Source, ...] = (),
        threshold: float | None = None,
        folder: Path | None = None,
    ) -> None:
        self._part = part
        self._reader = reader
        self._language_model = language_model
        self._sources = sources
        self._threshold = threshold
        self._folder = folder
        self._lock = threading.Lock()
        self._opened: tuple[AttentionScorer, AttentionReading] | None = None

    @property
    def threshold(self) -> float:
        """The probability at which the gate opens."""
        return self._open()[0].part.head(HEAD).threshold(LABEL) if self._threshold is None else self._threshold

    @property
    def reads_evidence(self) -> bool:
        """Whether the agent must call `decide` again with evidence."""
        return self._open()[1].inputs.reads_evidence

    def warm_up(self) -> None:
        """Load the weights."""
        self._open()[0].warm_up()

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        if not turns:
            return []
        scorer, reading = self._open()
        inputs = reading.inputs
        if inputs.reads_evidence and evidence is None:
            return [AWAITS_EVIDENCE] * len(turns)
        gate_inputs = inputs.gather(
            turns, evidence, reader=self._reader, language_model=self._language_model, sources=self._sources
        )
        head, threshold = scorer.part.head(HEAD), self.threshold
        scores = scorer.scores([reading.pieces(one) for one in gate_inputs])
        return [by_threshold(head.probability(score, LABEL), threshold) for score in scores]

    def _open(self) -> tuple[AttentionScorer, AttentionReading]:
        with self._lock:
            if self._opened is None:
                part = open_part(self._part, kind=KIND, folder=self._folder)
                self._opened = AttentionScorer(part), AttentionReading.from_json(part.options["reading"])
            return self._opened


def _marks(context: Context, window: int) -> list[str]:
    """Return the marker words of the last turn, over a window of last turns (0: all)."""
    history = context.turns[-window:-1] if window else context.history
    number = [turn.speaker for turn in history].count("user")
    before = history[-1] if history else None
    asked = before is not None and before.speaker == "agent" and _is_question(before.text)
    asks = _is_question(context.last)
    return [f"[turn-{min(number, _MOST_TURNS)}]", *([_ASKED] if asked else []), *([_ASKS] if asks else [])]


def _is_question(text: str) -> bool:
    return "?" in text or "？" in text
