"""Label file in the making: a kill loses at most one batch, and the resumed file has the same bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from pydantic import ValidationError

from dragoman.core.errors import InputError, StoreLockedError
from dragoman.core.file_lock import try_lock
from dragoman.train.relevance.candidate_pools import TurnToLabel
from dragoman.train.relevance.label_file import (
    Header,
    LabelRow,
    header_line,
    read_header,
    read_labels,
    read_row,
    row_line,
)
from dragoman.train.training_folder import writing

BATCH = 16
"""Turns that a method sees at once, and that are written at once. A batch that was cut off is done again whole, so that
a model whose answers depend on what is asked beside them meets the same batches as in a run that nothing stopped."""
_SPOKEN = 4


class UnfinishedFile:
    """`OUT.part`, locked by one process, truncated to its last whole batch, and renamed to `OUT` at the end."""

    def __init__(self, out: Path, header: Header, turns: Sequence[TurnToLabel], *, fresh: bool = False) -> None:
        self._out = out
        self._part = out.with_name(f"{out.name}.part")
        self._header = header
        self._turns = turns
        self._fresh = fresh
        self._file: IO[bytes] | None = None
        self.rows: list[LabelRow] = []
        """Rows of the file, in the order of the turns."""
        self.is_finished = False

    def __enter__(self) -> UnfinishedFile:
        if self._out.is_dir():
            raise InputError(f"{self._out} is a folder.", remedy="Name a file with --out.")
        if self._out.exists() and not self._fresh:
            self._take_finished()
            return self
        with writing(self._part):
            self._part.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._part.open("a+b")
            try:
                _lock(self._file, self._part)
                if self._fresh:
                    self._file.truncate(0)
                    self._out.unlink(missing_ok=True)
                self._take_part(self._file)
            except BaseException:
                self._file.close()
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def add(self, rows: Iterable[LabelRow]) -> None:
        """Write the labels of a batch."""
        assert self._file is not None
        new = list(rows)
        with writing(self._part):
            self._file.write(b"".join(map(row_line, new)))
            self._file.flush()
        self.rows += new

    def finish(self) -> None:
        """Flush everything to the disk and rename the file."""
        assert self._file is not None
        assert len(self.rows) == len(self._turns)
        with writing(self._out):
            os.fsync(self._file.fileno())
            self._part.replace(self._out)
        self.is_finished = True

    def _take_finished(self) -> None:
        labels = read_labels(self._out)
        self._refuse_other(labels.header, self._out)
        self.rows, self.is_finished = list(labels.rows), True

    def _take_part(self, file: IO[bytes]) -> None:
        """Keep the whole batches of an earlier run."""
        file.seek(0)
        first = file.readline()
        try:
            if not first.endswith(b"\n"):
                raise ValueError("a header that was cut off")
            header = read_header(first)
        except ValueError:  # pydantic's is one
            file.truncate(0)  # nothing but a header was lost
            file.write(header_line(self._header))
            file.flush()
            return
        self._refuse_other(header, self._part)
        ends = [len(first)]
        for turn in self._turns:
            line = file.readline()
            row = _sound(line, turn)
            if row is None:
                break
            self.rows.append(row)
            ends.append(ends[-1] + len(line))
        if len(self.rows) < len(self._turns):
            del self.rows[len(self.rows) // BATCH * BATCH :]
        file.truncate(ends[len(self.rows)])
        file.seek(0, os.SEEK_END)

    def _refuse_other(self, header: Header, place: Path) -> None:
        """Raise an error if the file holds labels of other turns or by another method."""
        before, now = (each.model_dump(mode="json", exclude={"dragoman"}) for each in (header, self._header))
        differences = list(_unequal(before, now))
        if differences:
            more = f" (and {len(differences) - _SPOKEN} more)" if len(differences) > _SPOKEN else ""
            raise InputError(
                f"{place} holds other labels: {'; '.join(differences[:_SPOKEN])}{more}. Nothing was changed.",
                remedy="Give --fresh to throw them away and begin anew, or another --out.",
                file=str(place),
                differences=tuple(differences),
            )


def _sound(line: bytes, turn: TurnToLabel) -> LabelRow | None:
    """Parse a line as the labels of the turn at its index; None if it is truncated or of another turn."""
    try:
        row = read_row(line) if line.endswith(b"\n") else None
    except ValidationError:
        return None
    return row if row is not None and (row.id, row.sha256) == (turn.example.id, turn.sha256) else None


def _unequal(before: Any, now: Any, path: str = "") -> Iterable[str]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys((*before, *now)):
            yield from _unequal(before.get(key), now.get(key), f"{path}.{key}" if path else str(key))
    elif before != now:
        yield f"{path} was {_short(before)}, is now {_short(now)}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _lock(file: IO[bytes], path: Path) -> None:
    """Lock the file; the lock ends with the process."""
    with suppress(FileNotFoundError):  # finished and renamed a moment ago
        if try_lock(file) and os.fstat(file.fileno()).st_ino == path.stat().st_ino:
            return
    raise StoreLockedError(
        f"Another process is writing {path}.", remedy="Wait until it is done, or choose another --out.", path=str(path)
    )
