"""Frozen dataclasses to JSON values and back, by their type hints."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast

from dragoman.core.errors import InputError

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
T = TypeVar("T")
SPARSE = "sparse"
"""Metadata of a dataclass field that JSON leaves out at its default."""
_SCALARS = {bool, int, float, str, type(None)}


def encode(value: object) -> Json:
    """Encode a value as JSON; raises an error for anything but our dataclasses and JSON types."""
    kind: Any = type(value)
    if kind in _SCALARS:
        return cast(Json, value)
    names = _fields(kind)
    if names is not None:
        encoded = {name: encode(getattr(value, name)) for name in names}
        for name, default in _sparse(kind):
            if getattr(value, name) != default:
                encoded[name] = encode(getattr(value, name))
        return encoded
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return sorted((encode(item) for item in value), key=str)
    raise TypeError(f"{kind.__name__} has no JSON form")


@cache
def _fields(kind: type) -> tuple[str, ...] | None:
    """The field names of a dataclass, cached per class: a trace holds hundreds of values."""
    if not is_dataclass(kind):
        return None
    return tuple(field.name for field in fields(kind) if not field.metadata.get(SPARSE))


@cache
def _sparse(kind: type) -> tuple[tuple[str, object], ...]:
    """Return fields written only if they differ from their default, so that older files and hashes stay valid."""
    return tuple((field.name, field.default) for field in fields(kind) if field.metadata.get(SPARSE))


def decode(cls: type[T], data: Json) -> T:
    """The inverse of `encode` for a dataclass; a missing field takes its default, a wrong one is an error."""
    return cast(T, _decode(cls, data, cls.__name__))


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _decode(hint: Any, data: Json, where: str) -> object:  # noqa: PLR0911, PLR0912 - one branch a kind of type
    if isinstance(hint, type) and is_dataclass(hint):
        if not isinstance(data, dict):
            raise InputError(f"{where} must be a JSON object, not {type(data).__name__}.")
        hints = _hints(hint)
        unknown = set(data) - set(hints)
        if unknown:
            raise InputError(f"{where} has the unknown field '{sorted(unknown)[0]}'.")
        values = {name: _decode(hints[name], item, f"{where}.{name}") for name, item in data.items()}
        try:
            return hint(**values)
        except TypeError as error:
            raise InputError(f"{where} is incomplete: {error}.") from error
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if _SCALARS.issubset(arguments):
            return data  # declared as `Json`: needs no decoding
        return _decode_union(arguments, data, where)
    if origin is tuple and isinstance(data, list):
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_decode(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(data))
        return tuple(_decode(arg, item, where) for arg, item in zip(arguments, data, strict=True))
    if origin is frozenset and isinstance(data, list):
        return frozenset(_decode(arguments[0], item, where) for item in data)
    if origin is not None and isinstance(data, dict) and issubclass(origin, Mapping):
        return {key: _decode(arguments[1], item, f"{where}.{key}") for key, item in data.items()}
    if origin is typing.Literal and data in arguments:
        return data
    if hint is float and isinstance(data, int | float) and not isinstance(data, bool):
        return float(data)
    if isinstance(hint, type) and isinstance(data, hint):
        return data
    raise InputError(f"{where} has the wrong type: {type(data).__name__}.")


def _decode_union(arguments: tuple[Any, ...], data: Json, where: str) -> object:
    for argument in arguments:
        if argument is type(None):
            if data is None:
                return None
            continue
        try:
            return _decode(argument, data, where)
        except InputError:
            continue
    raise InputError(f"{where} fits none of its types.")
