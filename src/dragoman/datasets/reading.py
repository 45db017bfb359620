"""File reading for the loaders: one record at a time, with a problem in place of each wrong record."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from dragoman.core.errors import InputError
from dragoman.core.examples import Problem
from dragoman.core.values import Passage
from dragoman.datasets.read_progress import telling

_LONGEST_LINE = 16 * 2**20
_SHOWN = 5
_SURROGATE = "\\ud"
_WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Record(BaseModel):
    """Base of external records: declared fields are required and typed, other fields are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")


class FileRow(NamedTuple):
    """One record of a file; `number` is its line or its index, from 1."""

    file: Path
    number: int
    record: object
    keys: tuple[str, ...] = ()

    def error(self, what: str) -> Problem:
        """Return a problem that excludes the record or one of its turns."""
        return Problem(str(self.file), self.number, what)

    def warning(self, what: str) -> Problem:
        """Return a problem of a record that is kept."""
        return Problem(str(self.file), self.number, what, "warning")


class OneFile:
    """Base of sets in one file whose turns hold their own candidates."""

    def __init__(self, file: Path) -> None:
        self._file = Path(file)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._file,)

    def passages(self) -> Iterator[Passage]:
        return iter(())


M = TypeVar("M", bound=BaseModel)


def parsed(rows: Iterable[FileRow | Problem], model: type[M]) -> Iterator[tuple[FileRow, M] | Problem]:
    """Yield each record as its model, or a problem if it does not fit."""
    for row in rows:
        if isinstance(row, Problem):
            yield row
            continue
        try:
            yield row, model.model_validate(row.record)
        except ValidationError as error:
            yield row.error(explain(error))


def explain(error: ValidationError) -> str:
    """Return pydantic's first error in one line: place, expectation and value."""
    faults = error.errors(include_url=False)
    first = faults[0]
    place = ".".join(str(step) for step in first["loc"]) or "the record"
    got = "" if first["type"] == "missing" else f", not {shorten(first['input'])}"
    more = f" ({len(faults) - 1} more such faults)" if len(faults) > 1 else ""
    return f"{place}: {first['msg']}{got}{more}"


def shorten(value: object, width: int = 40) -> str:
    """Return the representation of a value, truncated."""
    written = repr(value)
    return written if len(written) <= width else f"{written[: width - 1]}…"


def text_lines(file: Path) -> Iterator[FileRow | Problem]:
    """Yield the lines of a text file; empty ones are skipped but counted."""
    with open_bytes(file) as stream:
        number = 0
        while line := stream.readline(_LONGEST_LINE + 1):
            number += 1
            if len(line) > _LONGEST_LINE:
                raise InputError(
                    f"Line {number} of '{file}' is longer than {_LONGEST_LINE // 2**20} MiB.",
                    remedy="This set is read by lines: give the file as it was released.",
                )
            try:
                text = line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                yield Problem(str(file), number, f"not UTF-8: byte 0x{line[error.start]:02x} at {error.start}")
                continue
            if text.strip():
                yield FileRow(file, number, text)


def json_lines(file: Path) -> Iterator[FileRow | Problem]:
    """Yield the records of a JSON lines file."""
    first = True
    for row in text_lines(file):
        if isinstance(row, Problem):
            yield row
            continue
        line = str(row.record)
        if first and line.lstrip().startswith("["):
            raise InputError(f"'{file}' does not hold JSON lines but one JSON list.", remedy="Give a .jsonl file.")
        first = False
        try:
            record = json.loads(line)
            if _SURROGATE in line.casefold():
                json.dumps(record, ensure_ascii=False).encode()
            yield row._replace(record=record)
        except json.JSONDecodeError as error:
            yield row.error(f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos}")
        except UnicodeEncodeError:
            yield row.error("a text holds half a character: a surrogate without its partner")
        except (RecursionError, ValueError):
            yield row.error("not JSON that can be read: it nests too deep, or a number is too long")


def check_file(file: Path) -> None:
    """Raise an error if the path is not a readable file, naming what is there."""
    if file.is_dir():
        inside = sorted(entry.name for entry in file.iterdir())
        listed = ", ".join(inside[:_SHOWN]) + (", …" if len(inside) > _SHOWN else "")
        raise InputError(f"'{file}' is a folder.", remedy=f"Name one file of it: {listed or 'it is empty'}.")
    if not file.exists():
        near = file.parent
        while not near.exists():
            near = near.parent
        raise InputError(f"There is no file '{file}'.", remedy=f"Check the path: '{near}' is there.", file=str(file))


def open_bytes(file: Path) -> BinaryIO:
    """Open a file after its byte order mark; raise an error if it is clearly not UTF-8."""
    check_file(file)
    try:
        stream = telling(file)
    except OSError as error:
        raise InputError(f"'{file}' cannot be read: {error.strerror}.", remedy="Check its permissions.") from error
    head = stream.read(4096)
    what = ""
    if not head:
        what = "is empty"
    elif head.startswith(_WIDE_MARKS):
        what = "is UTF-16 or UTF-32 text"
    elif b"\x00" in head:
        what = "is a binary file"
    if what:
        stream.close()
        raise InputError(f"'{file}' {what}.", remedy="Give the file as it was released, in UTF-8.")
    stream.seek(len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0)
    return stream
