"""Reader and writer for the part of ONNX's file format that rewriting needs: protocol buffers, nodes and tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray

Field: TypeAlias = tuple[int, int | bytes]
"""A field's number and value: an integer, or the bytes of a text, a tensor's content or another message."""

FLOAT, UINT8, INT8, INT64 = 1, 2, 3, 7  # of a tensor's content
OURS = "com.microsoft"
_VARINT, _BYTES = 0, 2
_LAYOUTS = {FLOAT: "<f4", UINT8: "u1", INT8: "i1", INT64: "<i8"}


@dataclass(eq=False)
class Node:
    """An operation; `attributes` are kept as they came."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    attributes: list[bytes] = field(default_factory=list)
    domain: str = ""
    raw: bytes | None = None

    @classmethod
    def read(cls, raw: bytes) -> Node:
        node = cls("", [], [], raw=raw)
        for number, value in fields_of(raw):
            if number in (1, 2, 4, 7) and isinstance(value, bytes):
                text = value.decode()
                if number == 1:
                    node.inputs.append(text)
                elif number == 2:
                    node.outputs.append(text)
                elif number == 4:
                    node.kind = text
                else:
                    node.domain = text
        return node

    def numbers(self, name: str) -> tuple[int, ...]:
        """The whole numbers of an attribute of a node that was read; none where it has no such attribute."""
        for number, value in fields_of(self.raw or b""):
            if number == 5 and isinstance(value, bytes):
                parts = list(fields_of(value))
                if (1, name.encode()) in parts:
                    return tuple(signed for part in parts if part[0] == 8 for signed in _integers(part[1]))
        return ()

    def written(self) -> bytes:
        if self.raw is not None:
            return self.raw
        fields: list[Field] = [(1, name.encode()) for name in self.inputs]
        fields += [(2, name.encode()) for name in self.outputs]
        fields += [(4, self.kind.encode()), (7, self.domain.encode())]
        return message([*fields, *((5, attribute) for attribute in self.attributes)])


def tensor_name(raw: bytes) -> str:
    return next((value.decode() for number, value in fields_of(raw) if number == 8 and isinstance(value, bytes)), "")


def name_of(raw: bytes) -> str:
    """The name of an input or an output of a graph."""
    return next((value.decode() for number, value in fields_of(raw) if number == 1 and isinstance(value, bytes)), "")


def lies_elsewhere(raw: bytes) -> bool:
    """Whether a tensor's content is stored in another file, which only the model's own path leads to."""
    return any(number == 14 and value == 1 for number, value in fields_of(raw))


def array_of(raw: bytes, kind: int) -> NDArray[Any] | None:
    """A tensor's content; None where it is not of this kind, or not kept as plain bytes."""
    import numpy as np

    sizes: list[int] = []
    content, type_number = b"", 0
    for number, value in fields_of(raw):
        if number == 1:
            sizes += _integers(value)
        elif number == 2 and isinstance(value, int):
            type_number = value
        elif number == 9 and isinstance(value, bytes):
            content = value
    if type_number != kind or not content:
        return None
    return np.frombuffer(content, dtype=_LAYOUTS[kind]).reshape(sizes)


def tensor(name: str, content: NDArray[Any], kind: int) -> bytes:
    sizes: list[Field] = [(1, size) for size in content.shape]
    return message([*sizes, (2, kind), (8, name.encode()), (9, content.tobytes())])


def fields_of(raw: bytes) -> Iterator[Field]:
    """The fields of a message in order."""
    place = 0
    while place < len(raw):
        key, place = _varint(raw, place)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, place = _varint(raw, place)
            yield number, value
            continue
        if wire != _BYTES:
            raise ValueError(f"wire type {wire}")  # numbers of fixed width stand in no message that is read here
        size, place = _varint(raw, place)
        if place + size > len(raw):
            raise ValueError("a message cut short")
        yield number, raw[place : place + size]
        place += size


def _integers(value: int | bytes) -> list[int]:
    """One number of a repeated field, or all of them where they are packed."""
    return [value] if isinstance(value, int) else list(_varints(value))


def _varints(raw: bytes) -> Iterator[int]:
    place = 0
    while place < len(raw):
        value, place = _varint(raw, place)
        yield value


def _varint(raw: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[place]
        value |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return value, place
        shift += 7


def message(fields: list[Field]) -> bytes:
    parts: list[bytes] = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(_number(number << 3 | _VARINT) + _number(value))
        else:
            parts += [_number(number << 3 | _BYTES) + _number(len(value)), value]
    return b"".join(parts)


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
