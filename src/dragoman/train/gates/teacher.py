"""A trained gate as a teacher: its probabilities are mixed into the labels of another gate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.core.registry import gates
from dragoman.core.values import Context
from dragoman.models.part import open_part

_AT_ONCE = 256


def teacher_probabilities(part: str | Path, turns: Sequence[Context]) -> list[float]:
    """The probabilities of a trained gate, of any kind, for the given turns."""
    role, _, name = open_part(part).kind.partition(".")
    if role != "gate":
        raise TrainingError(f"The teacher '{part}' is a {role}, not a gate.", remedy="Give the folder of a gate.")
    gate = gates.factory(f"{name}.v1")(part=str(part))
    if getattr(gate, "reads_evidence", False):
        raise TrainingError(
            f"The teacher '{part}' decides by what was found, and nothing is looked up for it here.",
            remedy="Give a gate that reads the dialogue alone.",
        )
    probabilities: list[float] = []
    for start in range(0, len(turns), _AT_ONCE):
        probabilities += [verdict.probability for verdict in gate.decide(turns[start : start + _AT_ONCE])]
    return probabilities


def refuse_folds(teacher: str | None, folds: int) -> None:
    """Raise an error for folds with a teacher, which has seen the held-out turns."""
    if teacher is not None and folds:
        raise ConfigError(
            "A teacher has learned from the turns that the folds hold out, so that their scores would not be honest.",
            remedy="Set calibrate.folds = 0: dev alone is calibrated on.",
        )


def soft_labels(labels: Sequence[float], probabilities: Sequence[float], share: float) -> list[float]:
    """(1 - share) x label + share x teacher's probability."""
    return [(1 - share) * label + share * soft for label, soft in zip(labels, probabilities, strict=True)]
