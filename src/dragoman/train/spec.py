"""A recipe file as typed, checked values: what is learned, from which view of a turn, with which model and loop."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

LAST = "last"
"""As `train.metric`: the weights of the last epoch, whatever dev says; not a figure of the part."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LoopSpec(_Strict):
    """The loop: how long, how fast, when to stop."""

    epochs: int = Field(default=4, ge=1)
    batch: int = Field(default=32, ge=1)
    accumulate: int = Field(default=1, ge=1)
    rate: float = Field(default=5e-5, gt=0)
    head_rate: float | None = Field(default=None, gt=0)
    """The rate of what is trained from scratch (a head over a pre-trained trunk); as `rate` where it is not given."""
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    warmup: float = Field(default=0.1, ge=0, le=1)
    decay: float = Field(default=0.01, ge=0)
    clip: float = Field(default=1.0, gt=0)
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    seed: int = 1
    metric: str = "loss"
    """The measure on dev that decides which weights are kept, and when to stop."""
    patience: int = Field(default=0, ge=0)
    """Stop after so many epochs without a better one; 0: never."""
    save: int = Field(default=500, ge=1)
    """A checkpoint every so many steps, and after each epoch."""


class BalanceSpec(_Strict):
    """What to do about rare labels."""

    weight: Literal["none", "balanced"] | float = "none"
    """How much a positive counts: a number, or negatives / positives."""
    focal: float = Field(default=0.0, ge=0)
    """The exponent of the focal loss; 0 is plain cross-entropy."""


class CalibrationSpec(_Strict):
    """How scores become probabilities, and where a yes begins; both are fitted on turns that were not trained on."""

    method: Literal["temperature", "platt", "isotonic", "none"] = "platt"
    threshold: Literal["f1", "half"] | float = "f1"
    folds: int = Field(default=0, ge=0)
    """Fit on held-out folds of the training part (so many trainings more) together with dev; 0: on dev alone."""


class ExportSpec(_Strict):
    """What the light runtime gets: eight-bit weights where dev's metric falls by no more than `tolerance`."""

    int8: Literal["auto", "always", "never"] = "auto"
    tolerance: float = Field(default=0.005, ge=0)


class Recipe(_Strict):
    """What a recipe file says. `input` and `model` are the learner's own tables, checked by its own types."""

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
    """The share of dialogues that is held out where no dev file is given."""
