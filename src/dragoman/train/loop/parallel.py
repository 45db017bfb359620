"""Data-parallel training of one model, one GPU per process, started by torchrun or `accelerate launch`.

Each takes its share of the batches of a step; gradients are summed before the step, so that all stay alike and learn
what one process would with as many batches accumulated. The first one measures, logs and writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

T = TypeVar("T")


def rank() -> int:
    """The number of this process among those that train together; 0 where it is alone."""
    return int(os.environ.get("RANK", "0")) if size() > 1 else 0


def size() -> int:
    """The number of processes that train together."""
    return max(1, int(os.environ.get("WORLD_SIZE", "1")))


class Ranks:
    """Communication with the other training processes; does nothing in a single process."""

    def __init__(self, device: str) -> None:
        self.rank, self.size = rank(), size()
        self._device = device
        if self.size > 1:
            self._join()

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def share(self, batches: Sequence[T]) -> Sequence[T]:
        """The batches of a step that belong to this process."""
        return batches[self.rank :: self.size]

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Sum gradients over all processes."""
        if self.size == 1:
            return
        import torch

        learned = list(parameters)
        for one in learned:  # a process without a batch has none
            if one.grad is None:
                one.grad = torch.zeros_like(one)
        flat = torch.cat([one.grad.float().flatten() for one in learned if one.grad is not None])
        torch.distributed.all_reduce(flat)
        at = 0
        for one in learned:
            assert one.grad is not None
            one.grad.copy_(flat[at : at + one.numel()].view_as(one))
            at += one.numel()

    def total(self, number: float) -> float:
        """The sum of a number over all processes."""
        if self.size == 1:
            return number
        import torch

        tensor = torch.tensor([number], dtype=torch.float64, device=self._device)
        torch.distributed.all_reduce(tensor)
        return float(tensor)

    def broadcast(self, value: T) -> T:
        """The value of the first process, sent to all others."""
        if self.size == 1:
            return value
        import torch

        values = [value]
        torch.distributed.broadcast_object_list(values, src=0)
        return values[0]

    def wait(self) -> None:
        """Wait for all processes."""
        self.broadcast(None)

    def _join(self) -> None:
        import torch

        cuda = self._device.startswith("cuda")
        if cuda:
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        if not torch.distributed.is_initialized():
            torch.distributed.init_process_group("nccl" if cuda else "gloo")
