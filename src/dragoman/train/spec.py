"""Recipe files as validated values: kind, input, model, loop, calibration, export."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

LAST = "last"
"""Value of `train.metric` that keeps the weights of the last epoch."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LoopSpec(_Strict):
    """Options of the training loop."""

    epochs: int = Field(default=4, ge=1)
    batch: int = Field(default=32, ge=1)
    accumulate: int = Field(default=1, ge=1)
    rate: float = Field(default=5e-5, gt=0)
    head_rate: float | None = Field(default=None, gt=0)
    """Learning rate of new weights (a head over a pre-trained trunk); default: `rate`."""
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    warmup: float = Field(default=0.1, ge=0, le=1)
    decay: float = Field(default=0.01, ge=0)
    clip: float = Field(default=1.0, gt=0)
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    seed: int = 1
    metric: str = "loss"
    """Measure on dev that selects the weights and stops training."""
    patience: int = Field(default=0, ge=0)
    """Number of epochs without improvement before training stops; 0: never."""
    save: int = Field(default=500, ge=1)
    """Steps between checkpoints; there is one after each epoch too."""


class BalanceSpec(_Strict):
    """Treatment of rare labels."""

    weight: Literal["none", "balanced"] | float = "none"
    """Weight of positives: a number, or negatives / positives."""
    focal: float = Field(default=0.0, ge=0)
    """Exponent of the focal loss; 0 is plain cross-entropy."""


class CalibrationSpec(_Strict):
    """Calibration of scores and choice of threshold, fitted on turns outside of training."""

    method: Literal["temperature", "platt", "isotonic", "none"] = "platt"
    threshold: Literal["f1", "half"] | float = "f1"
    folds: int = Field(default=0, ge=0)
    """Number of cross-fitting folds of the training part, each one more training, used with dev; 0: dev alone."""


class ExportSpec(_Strict):
    """Export: eight-bit weights if dev's metric falls by no more than `tolerance`."""

    int8: Literal["auto", "always", "never"] = "auto"
    tolerance: float = Field(default=0.005, ge=0)


class Recipe(_Strict):
    """Content of a recipe file; the learner's own types validate `input` and `model`."""

    kind: str
    about: str = ""
    name: str = ""
    licence: str = ""
    input: dict[str, Any] = {}
    model: dict[str, Any] = {}
    train: LoopSpec = LoopSpec()
    balance: BalanceSpec = BalanceSpec()
    calibrate: CalibrationSpec = CalibrationSpec()
    export: ExportSpec = ExportSpec()
    dev: float = Field(default=0.2, gt=0, lt=1)
    """Share of dialogues that is held out if no dev file is given."""
