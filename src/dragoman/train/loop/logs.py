"""Logs of a training: JSON lines per step and epoch, and TensorBoard events.

A run that is taken up again from a checkpoint cuts off what was written after it, so that no line stands twice.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol

from dragoman.core.errors import TrainingError

FILE = "log.jsonl"
EVENTS = "tensorboard"
_log = logging.getLogger("dragoman.train")


class Events(Protocol):
    """Protocol of a sink of curves: numbers by name at a step."""

    def add(self, step: int, values: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


class Silent:
    """A log that discards everything, for processes beside the one that writes."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def step(self, *, step: int, epoch: int, loss: float, rate: float, seconds: float) -> None:
        pass

    def epoch(self, *, step: int, epoch: int, loss: float, measures: Mapping[str, float], best: bool) -> None:
        pass

    def length(self) -> int:
        return 0


class Logs:
    """The log of one training, cut to the length that its checkpoint recorded."""

    def __init__(self, folder: Path, *, length: int = 0, step: int = 0) -> None:
        self._path = folder / FILE
        self._length = length
        self._step = step
        self._file: BinaryIO | None = None
        self._events: Events | None = None

    def __enter__(self) -> Logs:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("ab")
            self._file.truncate(min(self._length, self._file.tell()))
            self._file.seek(0, os.SEEK_END)
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self._events = _events(self._path.parent / EVENTS, self._step)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._events is not None:
            self._events.close()
        if self._file is not None:
            self._file.close()

    def step(self, *, step: int, epoch: int, loss: float, rate: float, seconds: float) -> None:
        """Log one optimiser step."""
        self._write({"step": step, "epoch": epoch, "loss": loss, "rate": rate, "seconds": round(seconds, 3)})
        self._draw(step, {"train/loss": loss, "train/rate": rate})

    def epoch(self, *, step: int, epoch: int, loss: float, measures: Mapping[str, float], best: bool) -> None:
        """Log the end of an epoch: mean loss and dev's measures."""
        dev = {name: float(value) for name, value in measures.items()}
        self._write({"step": step, "epoch": epoch, "train_loss": loss, "dev": dev, "best": best})
        self._draw(step, {f"dev/{name}": value for name, value in dev.items()})

    def length(self) -> int:
        """Length of the log on the disk in bytes."""
        if self._file is None:
            return self._length
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            return self._file.tell()
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def _write(self, line: Mapping[str, object]) -> None:
        assert self._file is not None, "Logs is used in a with block"
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def _draw(self, step: int, values: Mapping[str, float]) -> None:
        if self._events is not None:
            self._events.add(step, values)


class TensorBoard:
    """Events for TensorBoard; those after `step` that an earlier process wrote are declared void."""

    def __init__(self, folder: Path, step: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._event = Event
        self._writer = EventFileWriter(str(folder))
        if step:
            start = SessionLog(status=SessionLog.START)
            self._writer.add_event(Event(wall_time=time.time(), step=step + 1, session_log=start))

    def add(self, step: int, values: Mapping[str, float]) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        entries = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        self._writer.add_event(self._event(wall_time=time.time(), step=step, summary=Summary(value=entries)))

    def close(self) -> None:
        self._writer.close()


def _events(folder: Path, step: int) -> Events | None:
    try:
        return TensorBoard(folder, step)
    except ImportError:
        _log.info("tensorboard is not installed: only %s is written", FILE)
        return None


def _unwritable(path: Path, error: OSError) -> TrainingError:
    return TrainingError(
        f"'{path}' cannot be written: {error.strerror or error}. What was saved before is kept.",
        remedy="Free some space or choose another --out, and run the same command again.",
        path=str(path),
    )
