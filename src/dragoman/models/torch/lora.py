"""A low-rank adapter on a causal language model (LoRA; QLoRA where the base is in four bits): make, save, load.

The adapter is saved as PEFT saves it, so that other tools read it too; the base's weights stay where they are.
"""

from __future__ import annotations

import importlib
import json
import warnings
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from dragoman.core.errors import WeightsError
from dragoman.models.torch.causal_lm import Causal

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
FILES = (CONFIG, WEIGHTS)


@dataclass(frozen=True, slots=True)
class LoraSpec:
    """W + alpha / rank x B A on every linear layer but the output (`targets`: "all-linear", or names of layers)."""

    rank: int = 16
    alpha: int = 64
    dropout: float = 0.05
    targets: str | tuple[str, ...] = "all-linear"
    layers: int = 0
    """Adapt only the last so many layers, which trains faster: no gradient flows through those below. 0: all."""


def add_adapter(causal: Causal, spec: LoraSpec, *, seed: int) -> Causal:
    """The model with a fresh adapter, which changes nothing yet (B is zero); only the adapter is trained."""
    peft = _library()
    base = causal.model
    if getattr(base, "is_loaded_in_4bit", False):
        base = peft.prepare_model_for_kbit_training(base, use_gradient_checkpointing=False)
    last = _last(base, spec.layers)
    targets = spec.targets if isinstance(spec.targets, str) else list(spec.targets)
    if last is not None and isinstance(targets, str):  # which PEFT wants by name there
        targets = _linear(base)
    config = peft.LoraConfig(
        r=spec.rank,
        lora_alpha=spec.alpha,
        lora_dropout=spec.dropout,
        target_modules=targets,
        layers_to_transform=last,
        task_type="CAUSAL_LM",
    )
    torch.manual_seed(seed)
    return replace(causal, model=_adapted(base, config))


def save_adapter(causal: Causal, folder: Path, *, base: str) -> None:
    """Write the adapter's two files; `base` is what it is an adapter of, as the user named it."""
    config = causal.model.peft_config["default"].to_dict()
    config["base_model_name_or_path"] = base
    config["inference_mode"] = True
    text = json.dumps(config, indent=1, default=lambda value: sorted(value) if isinstance(value, set) else str(value))
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")
    state = _library().get_peft_model_state_dict(causal.model, save_embedding_layers=False)
    save_file({name: tensor.detach().float().cpu().contiguous() for name, tensor in state.items()}, folder / WEIGHTS)


def load_adapter(causal: Causal, folder: Path, *, merge: bool = False) -> Causal:
    """The model with a saved adapter. A merged one is quicker, and cannot be separated again."""
    peft = _library()
    try:
        table = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        state = load_file(folder / WEIGHTS)
        model = _adapted(causal.model, peft.LoraConfig(**_known_fields(table, peft.LoraConfig)))
        result = peft.set_peft_model_state_dict(model, state)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise WeightsError(
            f"The adapter in '{folder}' cannot be put on its base: {str(error).splitlines()[0][:200]}",
            remedy="Give the base that it was trained on.",
        ) from error
    odd = [*(name for name in result.missing_keys if "lora_" in name), *result.unexpected_keys]
    if odd:
        raise WeightsError(
            f"The adapter in '{folder}' is of another model: '{odd[0]}' does not fit.",
            remedy="Give the base that it was trained on.",
        )
    model.requires_grad_(False)
    model.eval()
    return replace(causal, model=model.merge_and_unload() if merge else model)


def _adapted(base: Any, config: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning)  # what PEFT asks transformers by an older name
        return _library().get_peft_model(base, config)


def _last(base: Any, layers: int) -> list[int] | None:
    """The numbers of the last layers; None for all of them."""
    count = int(base.config.num_hidden_layers)
    return list(range(count - layers, count)) if 0 < layers < count else None


def _linear(base: Any) -> list[str]:
    """The names of the linear layers inside the model's layers, in whatever precision they are."""
    inside = [(name, type(module).__name__) for name, module in base.named_modules() if ".layers." in name]
    return sorted({name.rpartition(".")[2] for name, kind in inside if "Linear" in kind})


def _library() -> Any:  # its types are those of its newest version alone
    return importlib.import_module("peft")


def _known_fields(table: dict[str, Any], config: Any) -> dict[str, Any]:
    """The fields of a saved config that this version of PEFT has, without the path of the base."""
    names = {one.name for one in fields(config) if one.init} - {"base_model_name_or_path"}
    return {name: value for name, value in table.items() if name in names and value is not None}
