"""Create a component from its kind and options, guided by the signature of its constructor.

Parameters named like one of the shared parts are given; those whose annotation is a role's protocol are components of
their own; every other one is an option, checked against its annotation.
"""

from __future__ import annotations

import builtins
import collections.abc
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from dragoman.core import protocols, values
from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.registry import REGISTRIES

Table: TypeAlias = Mapping[str, Any]

_ROLES: dict[object, str] = {
    protocols.Gate: "gate",
    protocols.Planner: "planner",
    protocols.Retriever: "retriever",
    protocols.Reader: "reader",
    protocols.Critic: "critic",
    protocols.Memory: "memory",
    protocols.LanguageModel: "model",
    protocols.Encoder: "encoder",
    protocols.Store: "store",
}


class Creator:
    """Builds components; one that an agent has at the top level is built once and shared by those that need it."""

    def __init__(self, parts: Mapping[str, object], tables: Mapping[str, Table], *, file: str = "agent.toml") -> None:
        self._parts = dict(parts)
        self._tables = tables
        self._file = file
        self._made: dict[str, object] = {}
        self._making: list[str] = []

    def give(self, **parts: object) -> None:
        """Add shared parts that were built after this creator."""
        self._parts.update(parts)

    def hold(self, **components: object) -> None:
        """Use existing components, by role, instead of building new ones."""
        self._made.update(components)

    def shared(self, role: str) -> Any:
        """The agent's own component of a role."""
        if role not in self._made:
            if role in self._making:
                raise ConfigError(
                    f"{self._file}: {' needs '.join([*self._making, role])}: a circle.",
                    remedy=f"Give '{self._making[-1]}' a {role} of its own.",
                )
            self._making.append(role)
            self._made[role] = self.create(role, self._tables[role], where=role)
            self._making.pop()
        return self._made[role]

    def create(self, role: str, table: Table, *, where: str) -> Any:
        """A new component of a role from a table with its kind and options."""
        options = {key: value for key, value in table.items() if key != "kind"}
        kind = table.get("kind", self._tables.get(role, {}).get("kind"))
        if not isinstance(kind, str):
            raise ConfigError(f"{self._file}: [{where}] has no kind.", remedy=f"Name a {role}.", key=where)
        factory = REGISTRIES[role].factory(kind)
        accepted = parameters(factory)
        arguments = {
            name: self._argument(name, parameter, options, where)
            for name, parameter in accepted.items()
            if name in options or name in self._parts or (parameter.required and parameter.role)
        }
        for name in options:
            if name not in accepted:
                settable = [other for other in accepted if other not in self._parts]
                raise UnknownNameError(f"option '{where}.{name}' of {kind} in {self._file}: option", name, settable)
        missing = [name for name, parameter in accepted.items() if parameter.required and name not in arguments]
        if missing:
            raise ConfigError(
                f"{self._file}: {kind} needs the option '{where}.{missing[0]}'.", remedy=f"Set it in [{where}]."
            )
        return factory(**arguments)

    def _argument(self, name: str, parameter: ConstructorParameter, options: Table, where: str) -> object:
        if name in options:
            value = options[name]
            if parameter.role and isinstance(value, str | Mapping):
                table = {"kind": value} if isinstance(value, str) else value
                return self.create(parameter.role, table, where=f"{where}.{name}")
            return self._checked(value, parameter, f"{where}.{name}")
        if name in self._parts:
            return self._parts[name]
        return self.shared(str(parameter.role))

    def _checked(self, value: object, parameter: ConstructorParameter, where: str) -> object:
        from pydantic import PydanticUserError, TypeAdapter, ValidationError
        from pydantic.errors import PydanticSchemaGenerationError

        try:
            return TypeAdapter(parameter.annotation).validate_python(value)
        except ValidationError as error:
            first = error.errors()[0]["msg"]
            raise ConfigError(
                f"{self._file}: '{where}' cannot be {value!r}: {first[:1].lower()}{first[1:]}.",
                remedy="Correct the value.",
                key=where,
            ) from error
        except (PydanticSchemaGenerationError, PydanticUserError):
            return value  # pydantic does not know the annotation: the component validates the value itself


class ConstructorParameter:
    """One keyword of a constructor: its type, whether it must be given, and the role it asks for, if any."""

    __slots__ = ("annotation", "required", "role")

    def __init__(self, annotation: Any, *, required: bool) -> None:
        self.annotation = annotation
        self.required = required
        union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
        members = typing.get_args(annotation) if union else (annotation,)
        self.role = next((_ROLES[member] for member in members if _is_role(member)), None)


def _is_role(member: object) -> bool:
    return isinstance(member, type) and member in _ROLES


@cache
def parameters(factory: Callable[..., object]) -> dict[str, ConstructorParameter]:
    """Return the keyword parameters of a class or function."""
    by_name = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            annotation = _evaluated(parameter.annotation, factory)
            by_name[name] = ConstructorParameter(annotation, required=parameter.default is parameter.empty)
    return by_name


def _evaluated(annotation: Any, factory: Callable[..., object]) -> Any:
    """An annotation as a type; names that a module imports only for its type checker are looked up here."""
    if annotation is inspect.Parameter.empty:
        return Any
    if not isinstance(annotation, str):
        return annotation
    module = sys.modules.get(factory.__module__)
    names = {**vars(typing), **vars(collections.abc), "Path": Path, **vars(values), **vars(protocols)}
    try:
        # Evaluates only the source text of an installed class, never text from a config.
        return eval(annotation, {**names, **vars(builtins), **(vars(module) if module else {})})
    except NameError:
        return Any


def options_of(role: str, kind: str, names: Sequence[str] = ()) -> tuple[str, ...]:
    """The options of a kind, for help texts: its parameters without the shared parts."""
    return tuple(name for name in parameters(REGISTRIES[role].factory(kind)) if name not in names)
