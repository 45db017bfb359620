"""Find tensors of an ONNX file whose content lies in other files: a model of a stranger could name any file here.

New versions of onnxruntime refuse paths that lead out of the model's folder; the oldest that we run with does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from dragoman.core.errors import WeightsError

Message: TypeAlias = Literal["model", "graph", "node", "attribute", "tensor", "sparse", "function"]
_INNER: dict[Message, dict[int, Message]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "function": {7: "node", 11: "attribute"},
    "tensor": {},
}
"""The fields of each message that hold another one, by number."""
_DATA_LOCATION, _EXTERNAL_DATA = 14, 13
_DEEPEST = 100


def check_self_contained(file: Path) -> None:
    """Raise for a model with content in other files, and for one that is no ONNX file."""
    try:
        outside = _lies_outside(memoryview(file.read_bytes()), "model", 0)
    except (ValueError, IndexError) as error:
        raise WeightsError(f"'{file.name}' is damaged, or is no ONNX model.", remedy="Get it again.") from error
    if outside:
        raise WeightsError(
            f"'{file.name}' takes weights from other files.", remedy="Ask who made it for one file that holds them all."
        )


def _lies_outside(raw: memoryview, kind: Message, depth: int) -> bool:
    if depth > _DEEPEST:
        raise ValueError("nested too deep")
    for number, value in _fields(raw):
        if kind == "tensor":
            if number == _EXTERNAL_DATA or (number == _DATA_LOCATION and value == 1):
                return True
        elif (
            number in _INNER[kind]
            and isinstance(value, memoryview)
            and _lies_outside(value, _INNER[kind][number], depth + 1)
        ):
            return True
    return False


def _fields(raw: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    place = 0
    while place < len(raw):
        key, place = _varint(raw, place)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, place = _varint(raw, place)
            yield number, value
            continue
        if wire == 2:
            size, place = _varint(raw, place)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")
        if place + size > len(raw):
            raise ValueError("cut short")
        yield number, raw[place : place + size]
        place += size


def _varint(raw: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = raw[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("a number without end")
