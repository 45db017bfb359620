"""Every regular expression of the package, with the methods that it is used by."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import dragoman
from dragoman.decision.applies import LONGEST_FACT
from dragoman.memory import patterns as memory_patterns
from dragoman.memory.facts import LONGEST_SENTENCE
from dragoman.memory.fragments import LONGEST_FRAGMENT
from dragoman.text import patterns as text_patterns
from dragoman.text.forget_requests import MOST_CHARACTERS
from dragoman.text.patterns import Lazy

ROOT = Path(dragoman.__file__).parent
FULL = ("thanks", "farewell", "wellbeing", "greeting", "acknowledgement")
"""Entries of `form` that only `fullmatch` is asked of."""
ANCHORED = ("forget", "remember", "everything", "question_start")
"""Entries of `form` that only `match` is asked of."""
BOUNDS = {
    "dragoman.memory.facts._QUOTED": LONGEST_SENTENCE,
    "dragoman.memory.facts._AROUND instruction": LONGEST_SENTENCE,
    "dragoman.memory.chinese._AROUND instruction": LONGEST_SENTENCE,
    "dragoman.memory.relations._AROUND instruction": LONGEST_SENTENCE,
    "dragoman.decision.facts._YES": LONGEST_FACT,
    "dragoman.decision.questions._PRICE": LONGEST_FACT,
    "dragoman.decision.questions._PAY": LONGEST_FACT,
    "dragoman.decision.questions._FORBID": LONGEST_FACT,
    "dragoman.decision.questions._REQUIRE": LONGEST_FACT,
    "dragoman.decision.questions._TARGETS": LONGEST_FACT,
    "dragoman.text.forget_grammar_zh._MOVED": MOST_CHARACTERS,
}
"""Expressions whose every caller bounds the text, with the most characters that reach them."""
_USES = {"match": "match", "fullmatch": "fullmatch"}
_METHODS = frozenset({"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"})


@dataclass(frozen=True, slots=True)
class Expression:
    """A pattern, where it stands, how it is used (`growth.METHODS`), and the most characters that reach it."""

    where: str
    pattern: re.Pattern[str]
    methods: tuple[str, ...]
    longest: int | None = None


def in_files() -> Iterator[Expression]:
    """The expressions of the pattern files, each alone and joined over languages as they run."""
    for language, content in text_patterns.read(text_patterns.__name__).items():
        for table, entries in content.items():
            for name, value in entries.items() if table not in ("spelling", "sayings", "synonyms") else ():
                for number, text in enumerate(value):
                    flags = 0 if table == "offers" and name in ("who", "where") else re.IGNORECASE
                    where = f"text/patterns/{language}.toml {table}.{name}[{number}]"
                    yield Expression(where, re.compile(text, flags), _methods_of(table, name))
    for language, rules in memory_patterns.RULES.items():
        for number, rule in enumerate(rules):
            where = f"memory/patterns/{language}.toml rule {number} ({rule.slot})"
            yield Expression(where, rule.pattern, ("match",))
    for number, relation in enumerate(
        dict.fromkeys(each for row in memory_patterns.RELATIONS.values() for each in row)
    ):
        where = f"memory/patterns/en.toml relation {number} ({' '.join(sorted(relation.verbs))}: {relation.slot})"
        yield Expression(where, relation.pattern, ("match",))
    for kind, method in (("elliptic", "fullmatch"), ("embedded", "finditer")):
        for number, rewrite in enumerate(memory_patterns.REWRITES[kind]):
            where = f"memory/patterns/en.toml {kind} {number} ({rewrite.sentence})"
            yield Expression(where, rewrite.pattern, (method,), LONGEST_FRAGMENT)


def in_modules() -> Iterator[Expression]:
    """The patterns that modules hold, by name or within a table, compiled as they run."""
    for module in _modules():
        uses = _uses(Path(module.__file__))
        for name, value in vars(module).items():
            for inner, pattern in _patterns(value):
                place = f"{name} {inner}".strip()
                methods = tuple(sorted(uses.get(place) or uses.get(name, {"finditer", "fullmatch"})))
                if isinstance(value, Lazy) and place not in uses:
                    table = "form" if module.__name__ == "dragoman.text.form" else ""
                    methods = _methods_of(table, inner)
                longest = BOUNDS.get(f"{module.__name__}.{place}") or BOUNDS.get(f"{module.__name__}.{name}")
                yield Expression(f"{module.__name__}.{place}", pattern, methods, longest)


def in_calls() -> Iterator[Expression]:
    """The literals that are given to `re.sub`, `re.search` and the like anywhere in the source."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re"):
                continue
            text = node.args[0]
            if node.func.attr in _METHODS and isinstance(text, ast.Constant) and isinstance(text.value, str):
                flags = re.IGNORECASE if "IGNORECASE" in ast.unparse(node) else re.NOFLAG
                method = _USES.get(node.func.attr, "finditer")
                where = f"{path.relative_to(ROOT)}:{node.lineno}"
                yield Expression(where, re.compile(text.value, flags), (method,))


def _methods_of(table: str, name: str) -> tuple[str, ...]:
    if table == "form" and name in FULL:
        return ("fullmatch",)
    if table == "form" and name in ANCHORED:
        return ("match",)
    return ("finditer",)


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(dragoman.__path__, "dragoman."):
        try:
            yield importlib.import_module(found.name)
        except ImportError:  # an extra that is not installed
            continue


def _patterns(value: object, depth: int = 2) -> Iterator[tuple[str, re.Pattern[str]]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield "", value
    elif depth and isinstance(value, (dict, Lazy)):
        for key, inner in value.items():
            yield from ((f"{key} {name}".strip(), pattern) for name, pattern in _patterns(inner, depth - 1))
    elif depth and isinstance(value, (tuple, list)):
        for number, inner in enumerate(value):
            yield from ((f"{number} {name}".strip(), pattern) for name, pattern in _patterns(inner, depth - 1))


def _uses(path: Path) -> dict[str, set[str]]:
    """How a module uses the patterns that it names, alone or by a key of a table, where that can be seen."""
    uses: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Attribute) and node.attr in _METHODS):
            continue
        held = node.value
        if isinstance(held, ast.Name):
            uses[held.id].add(_USES.get(node.attr, "finditer"))
        elif isinstance(held, ast.Subscript) and isinstance(held.slice, ast.Constant):
            uses[f"{ast.unparse(held.value)} {held.slice.value}"].add(_USES.get(node.attr, "finditer"))
    return uses
