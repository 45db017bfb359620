"""Settings of a sweep, and the result of one trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RangeSpec(_Strict):
    """The values of one setting: a list, or a range."""

    values: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    log: bool = False
    kind: Literal["float", "int"] = "float"

    @model_validator(mode="after")
    def _one_of_both(self) -> RangeSpec:
        bounded = self.low is not None and self.high is not None
        if bounded == bool(self.values) or (self.low is None) != (self.high is None):
            raise ValueError("give either values, or low and high")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError("low must be less than high")
        if self.log and self.low is not None and self.low <= 0:
            raise ValueError("log needs a low above 0")
        return self


class SweepSpec(_Strict):
    """Search space of a sweep. A grid tries every combination of `values`; otherwise Optuna chooses `trials` times."""

    parameters: dict[str, RangeSpec] = Field(min_length=1)
    trials: int | None = Field(default=None, ge=1)
    seed: int = 1
    metric: str | None = None
    """Measure on dev that selects the best trial; default: `train.metric`, but see `deciding`."""

    @property
    def is_grid(self) -> bool:
        return self.trials is None

    @property
    def count(self) -> int:
        return len(list(self.combinations())) if self.trials is None else self.trials

    def combinations(self) -> Iterator[dict[str, Any]]:
        names = list(self.parameters)
        for values in product(*(self.parameters[name].values for name in names)):
            yield dict(zip(names, values, strict=True))


@dataclass(frozen=True, slots=True)
class Trial:
    """One training of a sweep: settings and score; `failed` is the reason of a failure."""

    number: int
    folder: Path
    settings: Mapping[str, Any]
    metrics: Mapping[str, float] = field(default_factory=dict)
    score: float | None = None
    failed: str = ""
