"""Open a unified part: check its base by hash, choose its runtime, and share that in the process."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias
from weakref import WeakValueDictionary

from dragoman.core.errors import ConfigError, WeightsError
from dragoman.models import weights as catalogue
from dragoman.models.base_weights import base_digest, is_gguf
from dragoman.models.part import Head, Part, open_part
from dragoman.models.unified.model import KIND, Order, TreeShape, TurnTokens, Unified
from dragoman.models.unified.source_names import BETWEEN, rename_part
from dragoman.models.unified.token_spelling import Spelling

Runtime: TypeAlias = Literal["auto", "torch", "llamacpp"]
Device: TypeAlias = Literal["auto", "cpu", "cuda"]
Precision: TypeAlias = Literal["auto", "float32", "bfloat16"]
LIGHT_ADAPTER = "adapter.gguf"
HEAD = "similarity"

_runtimes: WeakValueDictionary[tuple[object, ...], Unified] = WeakValueDictionary()
_opening = threading.Lock()


@dataclass(frozen=True, slots=True)
class UnifiedPart:
    """A unified part with its runtime, which everyone who opens it in this process shares."""

    part: Part
    shape: TreeShape
    runtime: Unified

    def offsets(self, which: Literal["context", "check", "average"]) -> dict[Order, float] | None:
        """Offsets on the log-probability of each order; None where the part has none of this kind."""
        table = self.part.options.get("offsets", {}).get(which)
        return None if table is None else offsets_of(table)

    @property
    def average(self) -> float:
        """The weight of the plan before reading in its mean with the plan after reading."""
        return float(self.part.options.get("average", 0.5))

    @property
    def ending(self) -> float:
        """The bias on the logit of a response's end."""
        return float(self.part.options.get("ending", 0.0))

    @property
    def talks(self) -> bool:
        """Whether it has learned to reply to turns without retrieval."""
        return bool(self.part.options.get("talks", True))

    @property
    def head(self) -> Head:
        """The calibration from expected similarity to relevance: the source's own, else the common one."""
        return self.part.heads.get(HEAD, Head(("similar",)))


class LazyUnified:
    """A unified part that is opened on first use, so that constructing a role is cheap.

    Inputs:
        part: its folder, or the name of a shipped one.
        check: whether plans are to be made after reading candidates, which llama.cpp cannot.
        runtime: torch, llamacpp, or auto: llama.cpp where the part has an adapter for it that it can run, else torch.
        base: the path of the base, if it moved since training.
        names: its sources by the agent's names, {USER = "MEMORY"}, where they differ.
    """

    def __init__(
        self,
        part: str | Path,
        *,
        names: Mapping[str, str] | None = None,
        folder: Path | None = None,
        runtime: Runtime = "auto",
        device: Device = "auto",
        base: str | None = None,
        check: bool = False,
    ) -> None:
        if check and runtime == "llamacpp":
            raise ConfigError(
                "llama.cpp cannot plan after reading candidates.", remedy='Set runtime = "torch", or aware = false.'
            )
        self._part = part
        self._folder = folder
        self._options: dict[str, Any] = {
            "names": names or {},
            "runtime": runtime,
            "device": device,
            "base": base,
            "check": check,
        }
        self._lock = threading.Lock()
        self._opened: UnifiedPart | None = None

    def get(self) -> UnifiedPart:
        """The part; its first use, or `warm_up`, loads the weights."""
        with self._lock:
            if self._opened is None:
                self._opened = open_unified(self._part, folder=self._folder, **self._options)
            return self._opened

    def warm_up(self) -> None:
        """Open the part and load the weights."""
        self.get().runtime.warm_up()


def open_unified(
    name: str | Path,
    *,
    names: Mapping[str, str] | None = None,
    folder: Path | None = None,
    runtime: Runtime = "auto",
    device: Device = "auto",
    precision: Precision = "auto",
    base: str | None = None,
    check: bool = False,
) -> UnifiedPart:
    """A part of kind `unified` with its runtime; see `LazyUnified`. Weights are loaded on first use."""
    part = rename_part(open_part(name, kind=KIND, folder=folder), names or {})
    if base is not None:
        part = replace(part, options={**part.options, "base": base})
    shape = TreeShape.from_json(part.options["shape"])
    runtime_name = _runtime_of(part, shape, runtime, check)
    identity = tuple(str(part.options.get(name)) for name in ("shape", "spelling", "end", "base", "base_sha256"))
    key = (*sorted(part.files.items()), *identity, runtime_name, device, precision)
    with _opening:
        runtime_of_part = _runtimes.get(key)
        if runtime_of_part is None:
            _check_base(part)
            runtime_of_part = _light(part) if runtime_name == "llamacpp" else _heavy(part, shape, device, precision)
            _runtimes[key] = runtime_of_part
    return UnifiedPart(part, shape, runtime_of_part)


def offsets_of(table: Mapping[str, float]) -> dict[Order, float]:
    """Offsets by order, of a table whose keys are source names joined with `>`."""
    return {tuple(key.split(BETWEEN)) if key else (): float(value) for key, value in table.items()}


def _runtime_of(part: Part, shape: TreeShape, runtime: Runtime, check: bool) -> Literal["torch", "llamacpp"]:
    if runtime == "torch":
        return "torch"
    obstacle = _obstacle(part, shape, check)
    if runtime == "auto":
        return "torch" if obstacle else "llamacpp"
    if obstacle:
        raise ConfigError(
            f"The part '{part.folder}' cannot run in llama.cpp: {obstacle}.", remedy='Set runtime = "torch".'
        )
    return "llamacpp"


def _obstacle(part: Part, shape: TreeShape, check: bool) -> str:
    """The reason why a part cannot run in llama.cpp; empty where it can."""
    if LIGHT_ADAPTER not in part.files:
        return f"it has no {LIGHT_ADAPTER}"
    if shape.layout == "paper":
        return "its response sees several branches at once (layout paper)"
    if part.options["spelling"].get("way") == "rows":
        return "its special tokens are new rows, which the base has not"
    if check:
        return "plans are to be made after reading candidates"
    if not is_gguf(catalogue.path(part.options["base"])):
        return f"its base '{part.options['base']}' is no GGUF file"
    return ""


def _check_base(part: Part) -> None:
    """Raise an error for another base than the part was trained on."""
    expected, base = part.options["base_sha256"], part.options["base"]
    if base_digest(base) != expected:
        raise WeightsError(
            f"The part '{part.folder}' was trained on other weights than '{base}' holds: their SHA-256 was {expected}.",
            remedy="Give the same weights as base, or train the part again on these.",
        )


def _heavy(part: Part, shape: TreeShape, device: Device, precision: Precision) -> Unified:
    from dragoman.models.torch.model import pick_device, require_torch

    require_torch("A unified model in torch")
    from dragoman.models.unified.torch_model import LoadedUnified, TorchUnified

    place = pick_device(device)

    def load() -> LoadedUnified:
        from dragoman.models.unified.vocabularies import tokenizer_vocabulary
        from dragoman.models.unified.weights import open_weights

        causal = open_weights(part, device=place, precision=precision)
        encode = tokenizer_vocabulary(causal.tokenizer).encode
        return LoadedUnified(causal, TurnTokens(shape, _spelling(part), encode, int(part.options["end"])))

    return TorchUnified(shape, load)


def _light(part: Part) -> Unified:
    from dragoman.models.unified.llama_model import LlamaUnified

    return LlamaUnified(part)


def _spelling(part: Part) -> Spelling:
    return Spelling.from_json(part.options["spelling"])
