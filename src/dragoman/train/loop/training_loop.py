"""The training loop: batches, loss, gradient, optimiser step, dev's measures after each epoch, best weights.

The task defines model and loss. A training that is killed at any moment resumes from its last checkpoint and ends with
the same weights: all its state is in the checkpoint, and `task.batches` depends only on the epoch's number (from 0).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import monotonic

import torch

from dragoman.core.errors import TrainingError, UnknownNameError
from dragoman.train.contract import Job, Progress, Task
from dragoman.train.loop.checkpoint import Checkpoints, TrainingState, identity
from dragoman.train.loop.logs import Logs, Silent
from dragoman.train.loop.optimiser import adamw, factor, set_rate, trainable
from dragoman.train.loop.out_of_memory import (
    BATCH,
    is_out_of_memory,
    largest_fitting,
    memory_error,
    release,
    told_of_dev,
)
from dragoman.train.loop.parallel import Ranks
from dragoman.train.loop.randomness import own_chance, repeatable

_SHOWN_ROWS = 32


def fit(task: Task, job: Job, *, folder: Path | None = None) -> Mapping[str, float]:
    """Train a task; its model ends with the best weights. Returns dev's measures of them.

    Checkpoints, the log and the best weights lie in `folder`, the job's own where none is given. A task may name
    parameters, or modules that hold them, as `head_parameters`: they get `train.head_rate`. One whose batches are made
    by tokens says how many as `batch_tokens`, and those of each row as `sizes`: what is said where memory runs out.
    """
    place = job.folder if folder is None else folder
    stage = "Training" if folder is None or folder == job.folder else f"Training {folder.name}"
    with own_chance(job.recipe.train.seed), repeatable(job.device):
        return _Loop(task, job, place, stage).run()


class _Loop:
    """State of a running training."""

    def __init__(self, task: Task, job: Job, folder: Path, stage: str) -> None:
        self._task = task
        self._job = job
        self._spec = job.recipe.train
        self._folder = folder
        self._stage = stage
        self._ranks = Ranks(job.device)
        self._model = _on(task.model, job.device)
        self._learned = list(trainable(self._model).values())
        self._optimiser = adamw(self._model, self._spec, getattr(task, "head_parameters", ()))
        self._saved = Checkpoints(folder, identity(job))
        self._state = TrainingState()
        self._total = 0

    def run(self) -> Mapping[str, float]:
        self._state = state = self._saved.load(self._model, self._optimiser) or TrainingState()
        self._ranks.wait()  # until all have read what the first one will replace
        if not state.finished:
            began = monotonic() - state.seconds
            with self._logs(state) as logs:
                while not state.finished:
                    self._epoch(logs, began)
        self._ranks.wait()  # for the first one, which writes
        self._saved.load_best(self._model)
        self._model.eval()
        return dict(state.measures)

    def _epoch(self, logs: Logs | Silent, began: float) -> None:
        """Run the rest of an epoch: its steps, then dev's measures."""
        state, spec = self._state, self._spec
        groups = self._groups(state.epoch)
        self._total = len(groups) * spec.epochs
        self._model.train()
        for number in range(state.batch, len(groups)):
            loss, rate = self._step(groups[number], number)
            state.step, state.batch, state.loss = state.step + 1, number + 1, state.loss + loss
            state.seconds = monotonic() - began
            logs.step(step=state.step, epoch=state.epoch + 1, loss=loss, rate=rate, seconds=state.seconds)
            self._report(loss)
            if state.step % spec.save == 0 and state.batch < len(groups):
                state.log = logs.length()
                self._save()
        mean = state.loss / len(groups)
        is_best, measures = self._judge()
        logs.epoch(step=state.step, epoch=state.epoch + 1, loss=mean, measures=measures, best=is_best)
        self._report(mean)
        state.epoch, state.batch, state.loss = state.epoch + 1, 0, 0.0
        state.finished = state.epoch >= spec.epochs or 0 < spec.patience <= state.stale
        state.seconds, state.log = monotonic() - began, logs.length()
        self._save()

    def _logs(self, state: TrainingState) -> Logs | Silent:
        return Logs(self._folder, length=state.log, step=state.step) if self._ranks.is_first else Silent()

    def _save(self) -> None:
        if self._ranks.is_first:
            self._saved.save(self._model, self._optimiser, self._state)

    def _groups(self, epoch: int) -> list[list[Sequence[int]]]:
        """The batches of an epoch, grouped by optimiser step."""
        batches = [batch for batch in self._task.batches(epoch) if len(batch)]
        if not batches:
            raise TrainingError(
                f"There is nothing to train on: epoch {epoch + 1} has no batch.", remedy="Give more examples."
            )
        size = self._spec.accumulate * self._ranks.size
        return [batches[i : i + size] for i in range(0, len(batches), size)]

    def _step(self, group: Sequence[Sequence[int]], number: int) -> tuple[float, float]:
        """Run one optimiser step over a group of batches; returns its loss and learning rate."""
        at, mine = 0, self._ranks.share(group) or group
        try:
            rows = sum(len(batch) for batch in group)
            total = 0.0
            for at, batch in enumerate(self._ranks.share(group)):
                loss = self._backward(batch, len(batch) / rows, number * self._spec.accumulate + at)
                total += loss * len(batch) / rows
            self._ranks.sum_gradients(self._learned)
            total = self._ranks.total(total)
            norm = torch.nn.utils.clip_grad_norm_(self._learned, self._spec.clip)
            if not bool(torch.isfinite(norm)):
                raise self._diverged("gradient", float(norm), number * self._spec.accumulate + at, mine[at])
            share = factor(self._spec.schedule, self._state.step, total=self._total, warmup=self._spec.warmup)
            rate = set_rate(self._optimiser, share)
            self._optimiser.step()
            self._optimiser.zero_grad(set_to_none=True)
            return total, rate
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        # Out of the block above, whose traceback holds what filled the memory.
        raise self._ran_out(mine[at], number * self._spec.accumulate + at)

    def _backward(self, batch: Sequence[int], share: float, number: int) -> float:
        """Compute the loss and gradient of one batch, scaled by its share of the step."""
        with self._autocast():
            loss = self._task.loss(batch)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise self._diverged("loss", value, number, batch)
        (loss * share).backward()  # type: ignore[no-untyped-call]
        return value

    def _judge(self) -> tuple[bool, dict[str, float]]:
        """Measure dev, and store the weights if they are the best so far."""
        state, metric = self._state, self._spec.metric
        self._model.eval()
        measures: dict[str, float] = {}
        if self._ranks.is_first:
            measures = self._measured()
        measures = self._ranks.broadcast(measures)
        if metric not in measures:
            raise UnknownNameError("train.metric", metric, measures, remedy="Set one of these, with --fresh.")
        value = measures[metric]
        if math.isnan(value):
            raise TrainingError(
                f"'{metric}' on dev is not a number after epoch {state.epoch + 1}, so that no weights can be chosen.",
                remedy="Give a dev file that has every label, or another train.metric; then begin with --fresh.",
            )
        state.latest = value
        is_best = state.best is None or (value < state.best if metric == "loss" else value > state.best)
        if is_best:
            if self._ranks.is_first:
                self._saved.keep_best(self._model)
            state.best, state.best_epoch, state.measures, state.stale = value, state.epoch + 1, measures, 0
        else:
            state.stale += 1
        return is_best, measures

    def _measured(self) -> dict[str, float]:
        try:
            with torch.no_grad():
                return {name: float(value) for name, value in self._task.measure().items()}
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise told_of_dev(self._state.epoch + 1, self._saved.kept, self._job.device) from error

    def _autocast(self) -> AbstractContextManager[object]:
        """Use half precision if requested, or by default on a GPU that supports it."""
        precision = self._spec.precision
        on_gpu = self._job.device != "cpu"
        if precision == "bfloat16" or (precision == "auto" and on_gpu and torch.cuda.is_bf16_supported()):
            return torch.autocast("cuda" if on_gpu else "cpu", dtype=torch.bfloat16)
        return nullcontext()

    def _report(self, loss: float) -> None:
        state = self._state
        self._job.report(Progress(self._stage, state.step, self._total, loss, state.latest))

    def _diverged(self, what: str, value: float, number: int, batch: Sequence[int]) -> TrainingError:
        rows = tuple(int(row) for row in batch)
        names = ", ".join(map(str, rows[:_SHOWN_ROWS])) + (", …" if len(rows) > _SHOWN_ROWS else "")
        epoch = self._state.epoch + 1
        return TrainingError(
            f"The {what} is {value} in epoch {epoch}, batch {number + 1} (rows {names}). {self._saved.kept}",
            remedy=f"Look at those rows, or set a lower train.rate (it is {self._spec.rate:g}) with --fresh or another "
            "--out.",
            epoch=epoch,
            batch=number + 1,
            rows=rows,
        )

    def _ran_out(self, batch: Sequence[int], number: int) -> TrainingError:
        """Find the batch size that fits, after the failed step has released its memory."""
        self._optimiser.zero_grad(set_to_none=True)
        release()

        def attempt(rows: Sequence[int]) -> None:
            try:
                with self._autocast():
                    loss = self._task.loss(rows)
                loss.backward()  # type: ignore[no-untyped-call]
            finally:
                self._optimiser.zero_grad(set_to_none=True)

        fits = largest_fitting(batch, attempt)
        where = f"in epoch {self._state.epoch + 1}, batch {number + 1}"
        tokens, own = self._tokens_of(batch[:fits]), getattr(self._task, "batch_setting", None)
        setting = own(batch) if own is not None else BATCH
        return memory_error(self._spec, len(batch), fits, where, self._job.device, tokens=tokens, setting=setting)

    def _tokens_of(self, rows: Sequence[int]) -> int | None:
        """The number of tokens of some rows, or of a whole batch without rows; None if the task does not count
        tokens."""
        most: int | None = getattr(self._task, "batch_tokens", None)
        return most if most is None or not rows else sum(self._task.sizes[row] for row in rows)  # type: ignore[attr-defined]  # beside batch_tokens


def _on(model: torch.nn.Module, device: str) -> torch.nn.Module:
    """Move a model to its device unless it is there, since quantised models refuse to be moved."""
    parameter = next(model.parameters(), None)
    return model if parameter is None or parameter.device.type == device.partition(":")[0] else model.to(device)
