"""AdamW over groups of parameters, and the schedule of its learning rate."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

import torch

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.train.spec import LoopSpec

BETAS = (0.9, 0.999)


def factor(schedule: str, step: int, *, total: int, warmup: float) -> float:
    """The factor of the learning rate at a step (from 0): rising to 1 during warm-up, then by the schedule."""
    rise = round(warmup * total)
    if step < rise:
        return (step + 1) / rise
    if schedule == "constant":
        return 1.0
    gone = min(1.0, (step - rise) / max(1, total - rise))
    return 1.0 - gone if schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * gone))


def trainable(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """The parameters that are learned, by name."""
    parameters = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    if not parameters:
        raise TrainingError("The model has no parameter that is trained.", remedy="Freeze less of it.")
    return parameters


def adamw(model: torch.nn.Module, spec: LoopSpec, heads: Collection[str] = ()) -> torch.optim.AdamW:
    """AdamW with a separate learning rate for `heads` (names of parameters or modules).

    Vectors (biases, norms) do not decay. Each group remembers its full rate as `base`.
    """
    parameters = trainable(model)
    _refuse_unknown(heads, [name for name, _ in model.named_parameters()])
    groups = []
    for is_head in (False, True):
        for decays in (True, False):
            chosen = [
                parameter
                for name, parameter in parameters.items()
                if _is_of(name, heads) == is_head and (parameter.ndim >= 2) == decays
            ]
            rate = (spec.head_rate or spec.rate) if is_head else spec.rate
            if chosen:
                decay = spec.decay if decays else 0.0
                groups.append({"params": chosen, "lr": rate, "base": rate, "weight_decay": decay})
    on_gpu = all(parameter.is_cuda and parameter.is_floating_point() for parameter in parameters.values())
    return torch.optim.AdamW(groups, betas=BETAS, fused=on_gpu)  # one kernel a group: a third of the time


def set_rate(optimiser: torch.optim.Optimizer, share: float) -> float:
    """Set the learning rate of every group; returns that of the first group, for the log."""
    for group in optimiser.param_groups:
        group["lr"] = group["base"] * share
    return float(optimiser.param_groups[0]["lr"])


def names_in_order(model: torch.nn.Module, optimiser: torch.optim.Optimizer) -> Iterator[tuple[str, torch.Tensor]]:
    """The optimiser's parameters with their names, in its own order."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    for group in optimiser.param_groups:
        for parameter in group["params"]:
            yield names[id(parameter)], parameter


def _is_of(name: str, heads: Collection[str]) -> bool:
    return any(name == head or name.startswith(f"{head}.") for head in heads)


def _refuse_unknown(heads: Collection[str], names: Collection[str]) -> None:
    for head in heads:
        if not any(_is_of(name, (head,)) for name in names):
            raise ConfigError(f"The task names the head '{head}', which its model does not have.", remedy="Mend it.")
