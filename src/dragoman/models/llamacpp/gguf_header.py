"""Metadata of a GGUF file by key, read without loading the model."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Collection
from pathlib import Path
from typing import Any

from dragoman.core.errors import WeightsError

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Format codes of `struct` for the numeric types of a GGUF file."""
_TEXT, _ARRAY = 8, 9


def read_metadata(file: Path, keys: Collection[str]) -> dict[str, Any]:
    """The values of the given keys; keys that the file lacks are left out."""
    try:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            return _HeaderReader(mapped).metadata(keys)
    except OSError as error:
        raise WeightsError(f"'{file}' cannot be read: {error.strerror}.", remedy="Give a GGUF file.") from error
    except (struct.error, UnicodeDecodeError, ValueError, KeyError) as error:
        raise WeightsError(f"'{file}' is not a GGUF file, or is damaged.", remedy="Fetch or copy it again.") from error


class _HeaderReader:
    """Sequential reader of a file's header."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self._bytes = mapped
        self._at = 0

    def metadata(self, keys: Collection[str]) -> dict[str, Any]:
        if self._bytes[:4] != b"GGUF":
            raise ValueError("not a GGUF file")
        self._at = 8  # the mark and the version
        _, count = self._number("Q"), self._number("Q")
        values: dict[str, Any] = {}
        for _ in range(count):
            if len(values) == len(keys):
                break
            key = self._text()
            value = self._value(self._number("I"), kept=key in keys)
            if key in keys:
                values[key] = value
        return values

    def _value(self, kind: int, *, kept: bool) -> Any:
        if kind == _TEXT:
            return self._text() if kept else self._pass(self._number("Q"))
        if kind != _ARRAY:
            return self._number(_NUMBERS[kind])
        inner, count = self._number("I"), self._number("Q")
        if inner in _NUMBERS:
            code = f"<{count}{_NUMBERS[inner]}"
            if not kept:
                return self._pass(struct.calcsize(code))
            values = struct.unpack_from(code, self._bytes, self._at)
            self._at += struct.calcsize(code)
            return values
        return tuple(self._value(inner, kept=kept) for _ in range(count))

    def _number(self, code: str) -> Any:
        (value,) = struct.unpack_from(f"<{code}", self._bytes, self._at)
        self._at += struct.calcsize(f"<{code}")
        return value

    def _text(self) -> str:
        size = self._number("Q")
        content = self._bytes[self._at : self._at + size]
        if len(content) != size:
            raise ValueError("the file ends too early")
        self._at += size
        return content.decode("utf-8", "replace")

    def _pass(self, size: int) -> None:
        self._at += size
