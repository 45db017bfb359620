"""Out of memory: find the batch size that fits, and name it in the error."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence

import torch

from dragoman.core.errors import TrainingError
from dragoman.train.spec import LoopSpec

BATCH = "train.batch"
_CPU = ("can't allocate memory", "not enough memory", "defaultcpuallocator")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, on either device."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _CPU)


def largest_fitting(batch: Sequence[int], attempt: Callable[[Sequence[int]], None]) -> int:
    """The largest number of rows, by halving, with which an attempt succeeds; 0 if even one row fails."""
    rows = len(batch) // 2
    while rows:
        failed = False
        try:
            attempt(batch[:rows])
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            failed = True  # not retried in here: the traceback still holds what filled the memory
        release()
        if not failed:
            return rows
        rows //= 2
    return 0


def release() -> None:
    """Collect garbage and free the cached memory of a GPU."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def memory_error(
    spec: LoopSpec,
    tried: int,
    fits: int,
    where: str,
    device: str,
    *,
    tokens: int | None = None,
    setting: str = BATCH,
) -> TrainingError:
    """The error that names the batch size that fits, and the accumulation that keeps the optimiser's steps the same.

    Where batches are made by tokens, `tokens` are those of the rows that fit, or of a batch where none does. Where
    several tasks have batches of their own, `setting` is that of the one that failed.
    """
    what = f"Memory ran out on {_place(device)} {where}, with {tried} rows at a time."
    if tokens is not None:
        return _told_by_tokens(spec, what, tried, fits, tokens)
    if not fits:
        return TrainingError(
            f"{what} Not even one row fits.",
            remedy="Take shorter inputs or a smaller model, or a device with more memory.",
            fits=0,
        )
    if setting != BATCH:
        return TrainingError(
            f"{what} {fits} {'rows fit' if fits > 1 else 'row fits'}.",
            remedy=f"Give --set {setting}={fits} with --fresh.",
            fits=fits,
        )
    parts = -(-spec.batch // fits) * spec.accumulate
    return TrainingError(
        f"{what} {fits} {'rows fit' if fits > 1 else 'row fits'}.",
        remedy=f"Give --set train.batch={fits} --set train.accumulate={parts} (the same rows a step) with --fresh.",
        fits=fits,
        accumulate=parts,
    )


def told_of_dev(epoch: int, kept: str, device: str) -> TrainingError:
    """The error for memory that ran out on dev, which uses the same batch size; `kept` names what was saved."""
    return TrainingError(
        f"Memory ran out on {_place(device)} while dev was measured after epoch {epoch}. {kept}",
        remedy="Free some memory and run the same command again; or set a smaller train.batch (of a unified model: "
        "model.batch_tokens) with --fresh.",
    )


def _told_by_tokens(spec: LoopSpec, what: str, tried: int, fits: int, tokens: int) -> TrainingError:
    if not fits:  # a row may be as wide as a batch, however little lies in it
        return TrainingError(
            f"{what} Not even one fits, in a batch of {tokens} tokens.",
            remedy=f"Give --set model.batch_tokens={max(64, tokens // 2)} or less, --set model.checkpointing=true, "
            "shorter inputs or a smaller model, with --fresh.",
            fits=0,
        )
    parts = -(-tried // fits) * spec.accumulate
    return TrainingError(
        f"{what} {fits} of them fit, {tokens} tokens.",
        remedy=f"Give --set model.batch_tokens={max(64, tokens)} --set train.accumulate={parts} (about the same rows a "
        "step), or --set model.checkpointing=true, with --fresh.",
        fits=fits,
        accumulate=parts,
    )


def _place(device: str) -> str:
    return "this machine" if device == "cpu" else "the GPU"
