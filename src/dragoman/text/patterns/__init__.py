"""Regular expressions kept as data, one file a language: a new language is a new file.

In a file, a table maps names to lists of expressions, any of which may match; `<<name>>` inside one
stands for a fragment of the file's `[fragments]`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any


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


def tables(name: str) -> dict[str, re.Pattern[str]]:
    """One table of this package over all languages: each key's expressions joined into one pattern."""
    joined: dict[str, list[str]] = {}
    for content in read(__name__).values():
        for key, expressions in content.get(name, {}).items():
            joined.setdefault(key, []).extend(expressions)
    return {key: union(expressions) for key, expressions in joined.items()}


def union(expressions: list[str], flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """One pattern that matches where any of the expressions does."""
    return re.compile("|".join(f"(?:{expression})" for expression in expressions), flags)


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
