"""Checkpoints of a training: weights, optimiser, random state and position, written atomically.

    checkpoint/EPOCH-STEP/model.safetensors       what is trained, and buffers; what is frozen only by its hash
    checkpoint/EPOCH-STEP/optimiser.safetensors   its moments, by the parameter's name
    checkpoint/EPOCH-STEP/state.json              position, best so far, random states, and what all of it is of
    best.safetensors                              the best weights so far by dev's metric

A checkpoint is made beside the others under another name, synced and renamed; then older ones go. So a kill at any
moment leaves one that is whole. A finished training keeps its state alone, and the best weights.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from dragoman.core.durable import sync_file, sync_folder
from dragoman.core.errors import TrainingError
from dragoman.train.contract import Corpus, Job
from dragoman.train.loop.optimiser import names_in_order
from dragoman.train.loop.randomness import random_states, set_random_states
from dragoman.train.recipe_files import referenced
from dragoman.train.training_folder import BEST

FORMAT = 1
FOLDER = "checkpoint"
_MODEL, _OPTIMISER, _STATE = "model.safetensors", "optimiser.safetensors", "state.json"
_WORDS_ONLY = {"about", "name", "licence", "export", "calibrate"}
"""What a recipe says that the loop's weights do not depend on."""


@dataclass(slots=True)
class TrainingState:
    """Position of a training: `batch` batches into `epoch` (from 0), `step` optimiser steps in all."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    loss: float = 0.0
    """The sum of the losses of this epoch's steps so far, for their mean."""
    stale: int = 0
    """Epochs since the best one."""
    best: float | None = None
    best_epoch: int | None = None
    measures: dict[str, float] = field(default_factory=dict)
    """Dev's measures at the best epoch."""
    latest: float | None = None
    seconds: float = 0.0
    log: int = 0
    finished: bool = False


def identity(job: Job) -> dict[str, str]:
    """Identity of a training as hashes: the recipe without its descriptions, the examples of each side, other files."""
    recipe = job.recipe.model_dump(mode="json", exclude=_WORDS_ONLY)
    beside = referenced(job.recipe)
    return {
        "recipe": _digest(json.dumps(recipe, sort_keys=True)),
        "training data": _digest(_corpus_text(job.train)),
        "dev data": _digest(_corpus_text(job.dev)),
        "auxiliary data": _digest(_corpus_text(job.aux)) if job.aux else "",
        "files that the recipe names": _digest(json.dumps(beside, sort_keys=True)) if beside else "",
    }


class Checkpoints:
    """The checkpoints of one training in its folder."""

    def __init__(self, folder: Path, of: Mapping[str, str]) -> None:
        self._folder = folder
        self._place = folder / FOLDER
        self._of = dict(of)
        self._frozen: str | None = None

    @property
    def kept(self) -> str:
        """The sentence of an error message that says where the last checkpoint is."""
        if self._newest() is None:
            return "No checkpoint was written yet."
        return f"The last good checkpoint is kept in '{self._folder}'."

    def load(self, model: torch.nn.Module, optimiser: torch.optim.Optimizer) -> TrainingState | None:
        """Restore the last checkpoint; None without one."""
        saved = self._newest()
        if saved is None:
            return None
        with _readable(saved):
            table = json.loads((saved / _STATE).read_text(encoding="utf-8"))
            self._refuse_other(table)
            state = TrainingState(**table["state"])
            if state.finished:
                return state
            if table["frozen"] != self._frozen_hash(model):
                raise self._other("the frozen weights")
            _put(_changing(model), load_file(saved / _MODEL))
            _put_moments(model, optimiser, load_file(saved / _OPTIMISER))
            set_random_states(table["random"])
        return state

    def save(self, model: torch.nn.Module, optimiser: torch.optim.Optimizer, state: TrainingState) -> None:
        """Write a checkpoint, then delete the older ones."""
        partial = self._place / f".partial-{os.getpid()}"
        target = self._place / f"{state.epoch:04d}-{state.step:08d}"
        with _writable(self._place):
            try:
                shutil.rmtree(partial, ignore_errors=True)
                partial.mkdir(parents=True)
                if not state.finished:
                    save_file(_copied(_changing(model)), partial / _MODEL)
                    save_file(dict(_moments(model, optimiser)), partial / _OPTIMISER)
                (partial / _STATE).write_text(self._state_text(model, state), encoding="utf-8")
                for file in partial.iterdir():
                    sync_file(file)
                sync_folder(partial)
                partial.rename(target)
                sync_folder(self._place)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
            for other in self._place.iterdir():
                if other != target:
                    shutil.rmtree(other, ignore_errors=True)

    def keep_best(self, model: torch.nn.Module) -> None:
        """Write the weights as the best so far."""
        partial = self._folder / f".{BEST}-{os.getpid()}"
        with _writable(self._folder):
            try:
                save_file(_copied(_all_weights(model)), partial)
                sync_file(partial)
                partial.replace(self._folder / BEST)
                sync_folder(self._folder)
            finally:
                partial.unlink(missing_ok=True)

    def load_best(self, model: torch.nn.Module) -> None:
        """Load the best weights into a model."""
        with _readable(self._folder / BEST):
            _put(_all_weights(model), load_file(self._folder / BEST))

    def _newest(self) -> Path | None:
        if not self._place.is_dir():
            return None
        whole = [place for place in self._place.iterdir() if not place.name.startswith(".")]
        return max(whole, key=lambda place: place.name, default=None)

    def _state_text(self, model: torch.nn.Module, state: TrainingState) -> str:
        table = {
            "format": FORMAT,
            "of": self._of,
            "torch": str(torch.__version__),
            "state": asdict(state),
            "frozen": self._frozen_hash(model),
            "random": random_states(),
        }
        return json.dumps(table) + "\n"

    def _frozen_hash(self, model: torch.nn.Module) -> str:
        """A hash of the frozen weights: a resumed training needs the same base."""
        if self._frozen is None:
            digest = hashlib.blake2b(digest_size=16)
            for name, parameter in model.named_parameters():
                if not parameter.requires_grad:
                    digest.update(name.encode())
                    raw = parameter.detach().cpu().contiguous().flatten().view(torch.uint8)
                    digest.update(raw.numpy().tobytes())
            self._frozen = digest.hexdigest()
        return self._frozen

    def _refuse_other(self, table: Mapping[str, Any]) -> None:
        version = table.get("format")
        if version != FORMAT:
            raise TrainingError(
                f"The checkpoint in '{self._place}' has the format {version!r}; this version reads {FORMAT}.",
                remedy="Go on with the version that wrote it, give --fresh to begin anew, or another --out.",
                path=str(self._place),
            )
        for what, digest in self._of.items():
            if table["of"].get(what, digest) != digest:  # an older version said less
                raise self._other(f"the {what}")

    def _other(self, what: str) -> TrainingError:
        return TrainingError(
            f"The checkpoint in '{self._place}' is of another training: {what} changed since. Nothing was overwritten.",
            remedy="Give --fresh to throw it away and begin anew, or another --out.",
            path=str(self._place),
        )


def _changing(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The tensors that training changes: trained parameters, and buffers (some layers count in them)."""
    learned = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    return {**learned, **dict(model.named_buffers())}


def _all_weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """All weights of a model; for a model with an adapter only the adapter, since the base is stored elsewhere."""
    if any(hasattr(module, "peft_config") for module in model.modules()):
        return _changing(model)
    return {name: value for name, value in model.state_dict().items() if isinstance(value, torch.Tensor)}


def _copied(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Contiguous copies of the weights that share no memory, as safetensors requires."""
    return {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in weights.items()}


def _put(weights: Mapping[str, torch.Tensor], saved: Mapping[str, torch.Tensor]) -> None:
    """Copy saved tensors into a model's own."""
    odd = sorted(set(saved) ^ set(weights)) or [name for name in saved if saved[name].shape != weights[name].shape]
    if odd:
        raise TrainingError(
            f"The saved weights are of another model: '{odd[0]}' does not fit.",
            remedy="Give --fresh to begin anew, or another --out.",
        )
    with torch.no_grad():
        for name, place in weights.items():
            place.copy_(saved[name])


def _moments(model: torch.nn.Module, optimiser: torch.optim.Optimizer) -> Iterator[tuple[str, torch.Tensor]]:
    for name, parameter in names_in_order(model, optimiser):
        for what, value in optimiser.state.get(parameter, {}).items():
            yield f"{name}/{what}", torch.as_tensor(value).detach().to("cpu", copy=True).contiguous()


def _put_moments(model: torch.nn.Module, optimiser: torch.optim.Optimizer, saved: Mapping[str, torch.Tensor]) -> None:
    by_name: dict[str, dict[str, torch.Tensor]] = {}
    for key, value in saved.items():
        name, _, what = key.rpartition("/")
        by_name.setdefault(name, {})[what] = value
    order = [name for name, _ in names_in_order(model, optimiser)]
    state = {number: by_name[name] for number, name in enumerate(order) if name in by_name}
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


def _corpus_text(corpus: Corpus) -> str:
    files = [dict(origin) for origin in corpus.origin]
    return json.dumps([files, [example.id for example in corpus.examples]], sort_keys=True, default=str)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@contextmanager
def _readable(place: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise TrainingError(
            f"What was saved in '{place}' cannot be read: {error}.",
            remedy="Give --fresh to begin anew, or another --out.",
            path=str(place),
        ) from error


@contextmanager
def _writable(place: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise TrainingError(
            f"No checkpoint could be written to '{place}': {error}. The one before is kept.",
            remedy="Free some space, then run the same command again: it goes on from there.",
            path=str(place),
        ) from error
