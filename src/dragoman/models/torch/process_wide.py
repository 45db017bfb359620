"""Process-wide settings that several threads change at the same time: TF32, attention kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch


class FirstInLastOut:
    """Counted context manager: the first thread to enter changes a setting, the last to leave restores it."""

    def __init__(self, changed: Callable[[], AbstractContextManager[object]]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._inside = 0
        self._open: AbstractContextManager[object] | None = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                opened = self._changed()
                opened.__enter__()
                self._open = opened
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._open is not None:
                opened, self._open = self._open, None
                opened.__exit__(None, None, None)


@contextmanager
def _tf32() -> Iterator[None]:
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.fp32_precision = before


_quick = FirstInLastOut(_tf32)


def allow_tf32(device: str) -> AbstractContextManager[object]:
    """Use TF32 for float32 products inside the block, on a GPU, where it is several times as fast."""
    return _quick if device.startswith("cuda") else nullcontext()
