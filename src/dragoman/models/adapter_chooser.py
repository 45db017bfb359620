"""A trained part that is an adapter on a language model: the probability of its first option against the second.

It runs in the embedded llama.cpp where the base is a GGUF file and the part has its adapter in that format too, else
in torch.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from dragoman.core.errors import ConfigError, WeightsError
from dragoman.core.protocols import LanguageModel
from dragoman.core.registry import models
from dragoman.core.values import Prompt
from dragoman.models import weights as catalogue
from dragoman.models.base_weights import base_digest, is_gguf
from dragoman.models.part import Part

Runtime: TypeAlias = Literal["auto", "torch", "llamacpp"]
LIGHT_ADAPTER = "adapter.gguf"
_LEAST = 1e-300


class Chooser:
    """Runs the language model of a part. `base` is the path of the base weights, if they moved since training."""

    def __init__(
        self,
        part: Part,
        *,
        base: str | None = None,
        runtime: Runtime = "auto",
        device: Literal["auto", "cpu", "cuda"] = "auto",
        batch: int = 8,
    ) -> None:
        self.part = part
        self.options: tuple[str, ...] = tuple(part.options["options"])
        self._base = base or str(part.options["base"])
        self._runtime = runtime
        self._device: Literal["auto", "cpu", "cuda"] = device
        self._batch = batch
        self._lock = threading.Lock()
        self._model: LanguageModel | None = None

    def warm_up(self) -> None:
        """Load the weights."""
        model: Any = self._load()
        model.warm_up()

    def probabilities(self, prompts: Sequence[Prompt], head: str) -> list[float]:
        """The calibrated probability of the first of the two options, for each prompt."""
        decided = self.part.head(head)
        return [decided.probability(score) for score in self.scores(prompts)]

    def scores(self, prompts: Sequence[Prompt]) -> list[float]:
        """The log-odds of the first option against the second, before calibration."""
        if not prompts:
            return []
        yes, no = self.options
        return [
            math.log(max(chosen[yes], _LEAST)) - math.log(max(chosen[no], _LEAST))
            for chosen in self._load().choose(prompts, self.options)
        ]

    def close(self) -> None:
        """Free the weights."""
        with self._lock:
            model: Any = self._model
            self._model = None
        if model is not None:
            model.close()

    def _load(self) -> LanguageModel:
        with self._lock:
            if self._model is None:
                self._model = self._build()
            return self._model

    def _build(self) -> LanguageModel:
        self._check_base()
        window = int(self.part.options["tokens"])
        # by their names, so that torch is nowhere near a component that does not need it
        model: LanguageModel
        if self._is_light():
            adapter, window = str(self.part.file(LIGHT_ADAPTER)), max(window, 256)
            light = models.factory("llamacpp.v1")
            model = light(weights=self._base, adapter=adapter, context_tokens=window, parallel=1)
        else:
            heavy = models.factory("hf.v1")
            options = {"weights": self._base, "adapter": str(self.part.folder), "device": self._device}
            model = heavy(**options, context_tokens=window, batch=self._batch)
        return model

    def _is_light(self) -> bool:
        if self._runtime == "torch":
            return False
        obstacle = "" if LIGHT_ADAPTER in self.part.files else f"it has no {LIGHT_ADAPTER}"
        if not obstacle and not is_gguf(catalogue.path(self._base)):
            obstacle = f"its base '{self._base}' is no GGUF file"
        if obstacle and self._runtime == "llamacpp":
            raise ConfigError(
                f"The part '{self.part.folder}' cannot run in llama.cpp: {obstacle}.", remedy='Set runtime = "torch".'
            )
        return not obstacle

    def _check_base(self) -> None:
        """Refuse another base than the adapter was trained on."""
        expected = self.part.options["base_sha256"]
        if base_digest(self._base) != expected:
            raise WeightsError(
                f"The part '{self.part.folder}' was trained on other weights than '{self._base}' holds: "
                f"their SHA-256 was {expected}.",
                remedy="Give the same weights as base, or train the part again on these.",
            )
