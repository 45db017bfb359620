"""The folder of a run: a line a turn and system, appended a batch at a time, so that a killed run goes on where it was.

    rows/SET/SYSTEM.jsonl    what was said and why; the same bytes on every run of a system without chance
    times/SET/SYSTEM.jsonl   its twin: the seconds of each note

The embedded language model writes two replies at once and rounds by which two these are, so that a few of its replies
differ from run to run.

Times are written first, so that every row has its times; what a kill tore or left without its twin is cut off when
the folder is opened for writing again. Written lines survive a kill at once, a power failure after a second.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import IO

from dragoman.core.errors import InputError, StoreCorruptError, StoreError, StoreFullError
from dragoman.core.file_lock import lock_folder
from dragoman.evaluate.results import Outcome
from dragoman.evaluate.running.outcome_lines import outcome_lines, outcome_of

_UNSAFE = re.compile(r"[^a-z0-9]+")
_SYNC_SECONDS = 1.0
_BAD_LINE = (ValueError, KeyError, TypeError, IndexError, InputError)
MANIFEST = "run.json"


def file_name(name: str) -> str:
    """A readable, unique and portable file name for a set or system."""
    slug = _UNSAFE.sub("-", name.lower()).strip("-")[:48].strip("-")
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    return f"{slug}-{digest}" if slug else digest


class RunFolder:
    """The rows of a run. Entering it, needed only for writing, locks and repairs the folder."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock: IO[str] | None = None
        self._lengths: dict[tuple[str, str], int] = {}
        self._synced = monotonic()
        self._waiting: set[Path] = set()

    def __enter__(self) -> RunFolder:
        if self.path.is_file():
            raise StoreError(f"'{self.path}' is a file.", remedy="Give a folder with --out.", path=str(self.path))
        with file_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = lock_folder(self.path / ".lock", f"Another process is writing the run in '{self.path}'.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.sync()
        finally:
            if self._lock is not None:
                self._lock.close()
                self._lock = None

    def done(self, block: str, system: str) -> int:
        """The number of stored turns."""
        key = block, system
        if key not in self._lengths:
            rows, times = self._files(block, system)
            with file_errors(rows):
                self._lengths[key] = self._mended(rows, times) if self._lock else _whole_lines(rows)[0]
        return self._lengths[key]

    def append(self, block: str, system: str, outcomes: Sequence[Outcome]) -> None:
        """Append a batch: all of it or, on failure, nothing."""
        if not outcomes:
            return
        if self._lock is None:
            raise StoreError(f"The run in '{self.path}' is open for reading.", remedy="Enter the RunFolder first.")
        before = self.done(block, system)
        files = self._files(block, system)
        lines = [outcome_lines(outcome) for outcome in outcomes]
        del self._lengths[block, system]  # until both are written; otherwise the next call cuts the longer file
        with file_errors(files[0]):
            for file, texts in ((files[1], [times for _, times in lines]), (files[0], [row for row, _ in lines])):
                file.parent.mkdir(parents=True, exist_ok=True)
                _add(file, "".join(f"{text}\n" for text in texts))
        self._lengths[block, system] = before + len(outcomes)
        self._waiting.update(files)
        if monotonic() - self._synced > _SYNC_SECONDS:
            self.sync()

    def outcomes(self, block: str, system: str) -> Iterator[Outcome]:
        """The stored outcomes, one turn at a time."""
        rows, times = self._files(block, system)
        if not rows.is_file():
            return
        with file_errors(rows), rows.open("rb") as lines:
            twins = times.open("rb") if times.is_file() else None
            try:
                for number, line in enumerate(lines, 1):
                    if not line.endswith(b"\n"):
                        return  # torn, or being written
                    twin = twins.readline() if twins else b""
                    yield self._outcome(rows, number, line, twin if twin.endswith(b"\n") else None)
            finally:
                if twins:
                    twins.close()

    def drop(self, block: str | None = None, system: str | None = None) -> None:
        """Delete the rows of one system on one set, or all rows."""
        named = block is not None and system is not None
        files = self._files(block, system) if block is not None and system is not None else self._all_files()
        with file_errors(self.path):
            for file in files:
                file.unlink(missing_ok=True)
        self._lengths = {} if not named else {key: n for key, n in self._lengths.items() if key != (block, system)}
        self._waiting.difference_update(files)

    def sync(self) -> None:
        """Flush appended rows to the disk."""
        for file in sorted(self._waiting):
            with file_errors(file), file.open("r+b") as opened:
                os.fsync(opened.fileno())
        self._waiting.clear()
        self._synced = monotonic()

    def write(self, name: str, text: str) -> Path:
        """Write a small file of the run atomically."""
        return write_whole(self.path / name, text)

    def discard(self, *names: str) -> None:
        """Delete small files, where they exist."""
        for name in names:
            with file_errors(self.path / name):
                (self.path / name).unlink(missing_ok=True)

    def read(self, name: str) -> str | None:
        """The text of a small file, None where there is none."""
        with file_errors(self.path / name):
            try:
                return (self.path / name).read_text(encoding="utf-8")
            except FileNotFoundError:
                return None

    def _files(self, block: str, system: str) -> tuple[Path, Path]:
        place = Path(file_name(block)) / f"{file_name(system)}.jsonl"
        return self.path / "rows" / place, self.path / "times" / place

    def _all_files(self) -> tuple[Path, ...]:
        return tuple(file for kind in ("rows", "times") for file in (self.path / kind).glob("*/*.jsonl"))

    def _outcome(self, rows: Path, number: int, line: bytes, times: bytes | None) -> Outcome:
        try:
            text = line.decode("utf-8", "surrogatepass")
            return outcome_of(text, None if times is None else times.decode("utf-8", "surrogatepass"))
        except _BAD_LINE as error:
            raise StoreCorruptError(
                f"Line {number} of '{rows}' is not a turn of a run: {error}.",
                remedy="Run again with --fresh, which measures everything anew.",
                path=str(rows),
            ) from error

    def _mended(self, rows: Path, times: Path) -> int:
        """Remove torn lines, cut both files to the same length, and return that number of lines."""
        count = min(_whole_lines(rows)[0], _whole_lines(times)[0])
        for file in (rows, times):
            length = _whole_lines(file, count)[1]
            if file.is_file() and file.stat().st_size != length:
                os.truncate(file, length)
        return count


@contextmanager
def file_errors(file: Path) -> Iterator[None]:
    """Translate errors of the operating system about a file into ours."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFullError(
                f"The disk that holds '{file}' is full; every turn that was written before is kept.",
                remedy="Free some space and run the same command again: it goes on from there.",
                path=str(file),
            ) from error
        raise StoreError(
            f"'{file}' cannot be read or written: {error.strerror or error}.",
            remedy="Check that the folder is there and that you may write to it, or choose another with --out.",
            path=str(file),
        ) from error


def write_whole(path: Path, text: str) -> Path:
    """Replace a file atomically."""
    part = path.with_name(f".{path.name}.part")
    with file_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as opened:
                opened.write(text.encode("utf-8", "surrogatepass"))
                opened.flush()
                os.fsync(opened.fileno())
            part.replace(path)
        except BaseException:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise
    return path


def _add(file: Path, text: str) -> None:
    """Append to a file; on failure the file stays as it was."""
    with file.open("ab", buffering=0) as opened:
        before = opened.seek(0, os.SEEK_END)
        data = memoryview(text.encode("utf-8", "surrogatepass"))
        try:
            while data:
                data = data[opened.write(data) :]
        except BaseException:
            with suppress(OSError):  # a torn line is cut when the folder is next opened
                opened.truncate(before)
            raise


def _whole_lines(file: Path, most: int | None = None) -> tuple[int, int]:
    """Count the whole lines of a file, up to `most`, and return where the last one ends."""
    count = end = 0
    last = b""
    try:
        with file.open("rb") as opened:
            for line in opened:
                if count == most or not line.endswith(b"\n"):
                    break
                count, end, last = count + 1, end + len(line), line
    except FileNotFoundError:
        return 0, 0
    if most is None and last and not last.startswith(b"{"):  # what a power failure leaves: the length without the bytes
        return count - 1, end - len(last)
    return count, end
