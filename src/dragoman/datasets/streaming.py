"""Streaming of one large JSON value: memory use is that of the largest record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from dragoman.core.errors import InputError, MissingExtraError
from dragoman.core.examples import Problem
from dragoman.datasets.reading import FileRow, open_bytes

Step: TypeAlias = type[int] | type[str] | str
"""One step of the path to records: `int` enters a list, `str` all values of an object, a text that key's value."""

_CHUNK = 64 * 1024
_DEEPEST = 64
_STARTS = {"start_map": dict, "start_array": list}
_ENDS = frozenset({"end_map", "end_array"})


def json_records(file: Path, *where: Step, holds: str) -> Iterator[FileRow | Problem]:
    """Yield the records at the path `where` (`int` alone: the members of a list). `holds` describes the expected file.

    If the file is truncated or no JSON, the records before that place come first, then a problem.
    """
    ijson = _ijson()
    records = _Records(file, where, holds)
    events = ijson.sendable_list()
    # With exact numbers, one of thousands of digits crashes the C parser; this way it is an overflow, and reported.
    parser = ijson.basic_parse_coro(events, use_float=True)
    with open_bytes(file) as stream:
        failure = ""
        while not failure:
            chunk = stream.read(_CHUNK)
            try:
                if chunk:
                    parser.send(chunk)
                else:
                    parser.close()
            except ijson.JSONError as error:
                failure = _reason(error) if chunk else "the file breaks off here: its JSON has no end"
            yield from records.take(events)  # also those of a chunk that is bad further on
            del events[:]
            failure = failure or records.failure
            if not chunk:
                break
    if failure:
        yield Problem(str(file), records.count + 1, failure)
    elif not records.reached:
        raise records.mismatch()


class _Records:
    """Builds records from parsing events and rejects files with another outer structure."""

    def __init__(self, file: Path, where: tuple[Step, ...], holds: str) -> None:
        self.count = 0
        self.reached = False
        self.failure = ""
        self._file = file
        self._where = where
        self._holds = holds
        self._outer: list[str | None] = []  # the keys on the way to the current record; None inside a list
        self._open: list[dict[str, object] | list[object]] = []  # the containers of the current record
        self._key = ""
        self._skipped = 0

    def take(self, events: Iterable[tuple[str, object]]) -> Iterator[FileRow]:
        """Yield the records that these events complete."""
        for event, value in events:
            if self._open:
                if self._inside(event, value):
                    yield self._row(self._open.pop())
            elif self._skipped or not self._on_path():
                self._skip(event, value)
            elif len(self._outer) == len(self._where) and event not in _ENDS and event != "map_key":
                if event in _STARTS:
                    self._open.append(_STARTS[event]())
                else:
                    yield self._row(value)
            else:
                self._approach(event, value)
            if self.failure:
                return

    def mismatch(self) -> InputError:
        return InputError(
            f"'{self._file}' does not hold {self._holds}.", remedy="Give a file of this set, as it was released."
        )

    def _inside(self, event: str, value: object) -> bool:
        """Process an event of the current record; returns whether it ends the record."""
        if event == "map_key":
            self._key = str(value)
            return False
        if event in _ENDS:
            if len(self._open) == 1:
                return True
            self._open.pop()
            return False
        new = _STARTS[event]() if event in _STARTS else value
        top = self._open[-1]
        if isinstance(top, dict):
            top[self._key] = new
        else:
            top.append(new)
        if event in _STARTS:
            self._open.append(new)  # type: ignore[arg-type]  # it was made a container two lines above
            if len(self._open) > _DEEPEST:
                self.failure = f"a record nests deeper than {_DEEPEST} levels"
        return False

    def _approach(self, event: str, value: object) -> None:
        """Descend through the outer containers along `where`."""
        if event == "map_key":
            self._outer[-1] = str(value)
        elif event in _ENDS:
            self._outer.pop()
        elif event not in _STARTS:
            raise self.mismatch()
        else:
            wants_list = self._where[len(self._outer)] is int
            if wants_list != (event == "start_array"):
                raise self.mismatch()
            self._outer.append(None)
            self.reached = self.reached or len(self._outer) == len(self._where)

    def _on_path(self) -> bool:
        """Whether the current entry of the outer containers is on the path to a record."""
        if not self._outer:
            return True
        step = self._where[len(self._outer) - 1]
        return not isinstance(step, str) or self._outer[-1] in (None, step)

    def _skip(self, event: str, value: object) -> None:
        if event in _STARTS:
            self._skipped += 1
        elif event in _ENDS and self._skipped:
            self._skipped -= 1
        elif not self._skipped and (event in _ENDS or event == "map_key"):
            self._approach(event, value)

    def _row(self, record: object) -> FileRow:
        self.count += 1
        return FileRow(self._file, self.count, record, tuple(key for key in self._outer if key is not None))


def _reason(error: Exception) -> str:
    """Return the first line of the parser's message."""
    message = error.args[0] if error.args else ""
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    first = text.partition("\n")[0].strip().rstrip(".")
    if "UTF8" in first:
        return "not UTF-8: save the file in that encoding"
    return f"not JSON: {first.removeprefix('parse error: ').removeprefix('lexical error: ')}"


def _ijson() -> ModuleType:
    try:
        import ijson
    except ImportError as error:
        raise MissingExtraError(
            "Reading this data set needs ijson, which is not installed.",
            remedy="Run: pip install dragoman[eval]",
            extra="eval",
        ) from error
    return ijson  # type: ignore[no-any-return]  # it brings no types
