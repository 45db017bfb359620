"""Regular expressions kept as data, one file a language: a new language is a new file.

In a file, a table maps names to lists of expressions, any of which may match; `<<name>>` inside one
stands for a fragment of the file's `[fragments]`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}|\\[a-zA-Z]")


class Lazy(Mapping[str, re.Pattern[str]]):
    """Expressions by name, compiled when first used: most turns need a few of them, and compiling all takes a while."""

    def __init__(self, expressions: Mapping[str, str], flags: Callable[[str], int] = lambda _: re.IGNORECASE) -> None:
        self._expressions = dict(expressions)
        self._flags = flags
        self._compiled: dict[str, re.Pattern[str]] = {}

    def __getitem__(self, name: str) -> re.Pattern[str]:
        compiled = self._compiled.get(name)
        if compiled is None:
            compiled = self._compiled[name] = re.compile(self._expressions[name], self._flags(name))
        return compiled

    def __iter__(self) -> Iterator[str]:
        return iter(self._expressions)

    def __len__(self) -> int:
        return len(self._expressions)


@cache
def read(package: str) -> dict[str, dict[str, Any]]:
    """Every language's file in a package, with its fragments put in."""
    languages = {}
    for entry in sorted(files(package).iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".toml"):
            content = tomllib.loads(entry.read_text(encoding="utf-8"))
            fragments = content.pop("fragments", {})
            for name, text in fragments.items():
                fragments[name] = _filled(text, fragments)
            languages[entry.name.removesuffix(".toml")] = _filled(content, fragments)
    return languages


def tables(name: str, flags: Callable[[str], int] = lambda _: re.IGNORECASE) -> Lazy:
    """One table of this package over all languages: each key's expressions joined into one pattern."""
    joined: dict[str, list[str]] = {}
    for content in read(__name__).values():
        for key, expressions in content.get(name, {}).items():
            joined.setdefault(key, []).extend(expressions)
    return Lazy({key: union(expressions) for key, expressions in joined.items()}, flags)


@cache
def words(name: str) -> dict[str, str]:
    """One table of words over all languages."""
    return {key: text for content in read(__name__).values() for key, text in content.get(name, {}).items()}


def groups(name: str) -> tuple[str, ...]:
    """One table's `groups` of words over all languages."""
    return tuple(group for content in read(__name__).values() for group in content.get(name, {}).get("groups", ()))


def union(expressions: list[str]) -> str:
    """One expression that matches where any of these does.

    Those without a letter that has two cases (Chinese ones) do not ignore case, which compiles several times as fast.
    """
    return "|".join(f"({'?:' if _is_cased(expression) else '?-i:'}{expression})" for expression in expressions)


def _is_cased(expression: str) -> bool:
    letters = _ESCAPE.sub("", expression)
    return letters.upper() != letters.lower()


def _filled(value: Any, fragments: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for name, text in fragments.items():
            value = value.replace(f"<<{name}>>", text)
        return value
    if isinstance(value, list):
        return [_filled(item, fragments) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, fragments) for key, item in value.items()}
    return value
