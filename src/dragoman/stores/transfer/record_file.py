"""A whole store as a compressed JSON-lines file, with counts and a digest after each scope and at the end."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from dragoman.core.errors import StoreCorruptError
from dragoman.core.private_files import make_private_file
from dragoman.core.values import Scope
from dragoman.stores.transfer.portable import (
    START,
    Position,
    Record,
    RecordSource,
    RecordTally,
    Summary,
    from_json,
    line,
    to_json,
    total,
)

if TYPE_CHECKING:
    from dragoman.core.codec import Json

FORMAT = 1


def write_file(path: Path, store: RecordSource, *, identity: str) -> Summary:
    """Write every scope and return the summary."""
    parts: dict[Scope, Summary] = {}
    make_private_file(path)
    with gzip.open(path, "wb", compresslevel=3) as file:
        file.write(line({"dragoman": "store", "format": FORMAT, "store": identity}))
        for scope in store.scopes():
            tally = RecordTally()
            for record, _ in store.records(scope):
                encoded = line(to_json(record))
                if not tally.passages + tally.turns + tally.kept:
                    file.write(line({"scope": [scope.tenant, scope.user]}))
                tally.add(encoded, record)
                file.write(encoded)
            part = tally.summary()
            if not part.is_empty:
                file.write(line({"end": cast("Json", asdict(part))}))
                parts[scope] = part
        whole = total(parts)
        file.write(line({"whole": cast("Json", asdict(whole))}))
    return whole


class RecordFile:
    """Reader of such a file, with the methods of a store; reading the scopes in order takes one pass."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._under_way: Iterator[dict[str, Json]] = iter(())

    def check(self) -> Summary:
        """Compare everything with the counts and digests inside; refuse a truncated or changed file."""
        parts: dict[Scope, Summary] = {}
        scope, tally, whole = None, RecordTally(), None
        for value in self._lines():
            if "scope" in value:
                scope, tally = _scope(value), RecordTally()
            elif "end" in value:
                part = tally.summary()
                if scope is None or asdict(part) != value["end"]:
                    raise self._damaged("a scope is not what its digest says")
                parts[scope] = part
            elif "whole" in value:
                whole = value["whole"]
            elif "dragoman" not in value:
                record = from_json(value)
                try:
                    tally.add(line(value), record)
                except UnicodeEncodeError as error:
                    raise self._damaged("it holds a lone surrogate") from error
        summary = total(parts)
        if whole is None or asdict(summary) != whole:
            raise self._damaged("it ends too early")
        return summary

    def scopes(self) -> Sequence[Scope]:
        return [_scope(value) for value in self._lines() if "scope" in value]

    def records(self, scope: Scope, after: Position = START) -> Iterator[tuple[Record, Position]]:
        """The records of a scope; a position counts those of the file in `passage`."""
        for number, value in enumerate(self._scope_lines(scope), start=1):
            if "end" in value:
                return
            if number > after.passage:
                yield from_json(value), Position(passage=number)

    def _scope_lines(self, scope: Scope) -> Iterator[dict[str, Json]]:
        """The lines after the heading of a scope: on from where the last one was read, or else from the beginning."""
        for _ in range(2):
            for value in self._under_way:
                if "scope" in value and _scope(value) == scope:
                    return self._under_way
            self._under_way = self._lines()
        return iter(())

    def _lines(self) -> Iterator[dict[str, Json]]:
        try:
            with gzip.open(self._path, "rb") as file:
                first = self._line(file)
                if first.get("dragoman") != "store" or first.get("format") != FORMAT:
                    raise self._damaged("it is of another kind or of a newer version")
                yield first
                for text in cast(BinaryIO, file):
                    value = json.loads(text)
                    if not isinstance(value, dict) or not ("scope" not in value or _is_scope(value["scope"])):
                        raise self._damaged("a line is not a record")
                    yield value
        except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
            raise self._damaged(type(error).__name__) from error

    def _line(self, file: gzip.GzipFile) -> dict[str, Json]:
        content = json.loads(file.readline() or b"{}")
        return content if isinstance(content, dict) else {}

    def _damaged(self, why: str) -> StoreCorruptError:
        return StoreCorruptError(
            f"'{self._path}' is not a whole copy of a store: {why}.", remedy="Use another backup.", path=str(self._path)
        )


def _is_scope(value: Json) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(name, str) for name in value)


def _scope(value: dict[str, Json]) -> Scope:
    tenant, user = cast("list[str]", value["scope"])
    return Scope(tenant, user)
