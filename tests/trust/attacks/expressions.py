"""Every regular expression of the package, with the methods that it is used by."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from inspect import signature
from itertools import islice, product
from pathlib import Path
from types import ModuleType

import pytest

import dragoman
from dragoman.decision.applies import LONGEST_FACT
from dragoman.decision.clauses import LONGEST_BETWEEN
from dragoman.memory import patterns as memory_patterns
from dragoman.memory.english.fragments import LONGEST_FRAGMENT
from dragoman.memory.facts import LONGEST_SENTENCE
from dragoman.memory.recall.question_forms import LONGEST_QUESTION
from dragoman.text import lazy_re
from dragoman.text import patterns as text_patterns
from dragoman.text.forget.requests import MOST_CHARACTERS
from dragoman.text.lazy_re import LazyPattern
from dragoman.text.patterns import Lazy

from ...agent_files import REMEMBERING

ROOT = Path(dragoman.__file__).parent
FULL = ("thanks", "farewell", "wellbeing", "greeting", "acknowledgement")
"""Entries of `form` that only `fullmatch` is asked of."""
ANCHORED = ("forget", "remember", "everything", "question_start")
"""Entries of `form` that only `match` is asked of."""
BOUNDS = {
    "dragoman.memory.facts._QUOTED": LONGEST_SENTENCE,
    "dragoman.memory.facts._AROUND instruction": LONGEST_SENTENCE,
    "dragoman.memory.chinese._AROUND instruction": LONGEST_SENTENCE,
    "dragoman.memory.english.relations._AROUND instruction": LONGEST_SENTENCE,
    "dragoman.decision.clauses._ALTERNATIVE": LONGEST_BETWEEN,
    "dragoman.memory.recall.matters._ASKED": LONGEST_QUESTION,
    "dragoman.memory.recall.question_forms._CLOSING": LONGEST_QUESTION,
    "dragoman.memory.recall.question_forms._SLOTS": LONGEST_QUESTION,
    "dragoman.decision.facts._YES": LONGEST_FACT,
    "dragoman.decision.questions._PRICE": LONGEST_FACT,
    "dragoman.decision.questions._PAY": LONGEST_FACT,
    "dragoman.decision.questions._FORBID": LONGEST_FACT,
    "dragoman.decision.questions._REQUIRE": LONGEST_FACT,
    "dragoman.decision.questions._TARGETS": LONGEST_FACT,
    "dragoman.text.forget.chinese._MOVED": MOST_CHARACTERS,
}
"""Expressions whose every caller bounds the text, with the most characters that reach them."""
AGENT = (
    REMEMBERING
    + """
[[sources]]
name = "DOCUMENTS"
description = "rules"
path = "documents"
"""
)
RULES = """# Pier

Children under 6 travel free. Dogs over 40 kg pay 5 francs. The vegan menu costs 12 francs and contains peanuts. Members
with a disability card and one companion pay half. Nobody under 1.40 m may use the slide. Pupils need a school pass.

# 码头

六岁以下儿童免费。身高不足1.4米的不得使用滑梯。宠物犬体重超过40公斤收费5元。凭残疾证的本人和一名陪同人员半价。
素食套餐含花生。怀孕32到35周的乘客须带医生证明。
"""
TURNS = (
    *("My son Sam is 9.", "He is 130 cm tall.", "May he use the slide?", "I have a dog called Rex, 45 kg."),
    *("What does my dog pay?", "I am vegan and allergic to peanuts.", "Can I eat the menu?", "sorry, I meant 50 kg"),
    *("I have two children. No, three children.", "My companion has a disability card. What do we pay?"),
    *("Is it dearer for my son than for my daughter?", "I have 3 cats", "actually 4 cats", "my wife is 40"),
    *("Can my wife and my 5-year-old ride free?", "Which is cheaper, the slide or the menu?"),
    *("How much does Rex pay compared to Sam?", "I lost my school pass. May I ride?", "Forget that I have 3 cats."),
    *("我儿子小明9岁，身高1.3米。", "他可以玩滑梯吗？", "我有一只狗，45公斤。", "我的狗要付多少钱？", "不对，是50公斤"),
    *("我对花生过敏，我吃素。", "我能吃素食套餐吗？", "我妈妈有残疾证，陪同的人要付钱吗？", "我怀孕34周了。"),
    *("我可以坐船吗？", "我女儿5岁，要买票吗？", "我孩子的学校证可以用吗", "忘记我有一只狗。"),
)
"""A conversation that reaches rules, facts, corrections and comparisons in both languages."""
_USES = {"match": "match", "fullmatch": "fullmatch"}
_WORD = "ann"
"""What a run-time word of an expression is taken to be."""
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
    """What functions give to `re.sub`, `re.search` and the like, with a word in the place of what only they know."""
    for call in _calls():
        for text in call.texts:
            yield Expression(call.where, re.compile(text, call.flags), (call.method,))


def unwritten() -> set[str]:
    """The functions that use an expression which cannot be told from their source."""
    return {call.where.rpartition(":")[0] for call in _calls() if not call.texts}


@contextmanager
def reached(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """The most characters of a text that reach each of `BOUNDS` meanwhile."""
    longest: dict[str, int] = {}
    with monkeypatch.context() as patched:
        for place in BOUNDS:
            module, _, name = place.partition(" ")[0].rpartition(".")
            for inner, pattern in _lazy(vars(importlib.import_module(module))[name]):
                if f"{module}.{name} {inner}".strip().startswith(place):
                    for method in _METHODS:
                        run = getattr(pattern.compiled(), method)
                        patched.setattr(pattern, method, _measured(run, place, longest, method), raising=False)
        yield longest


def _measured(run: Callable[..., object], place: str, longest: dict[str, int], method: str) -> Callable[..., object]:
    def measured(*arguments: object) -> object:
        text, *places = arguments[1:] if method in ("sub", "subn") else arguments
        within = slice(*(places if method not in ("sub", "subn", "split") else ()) or (None,))
        longest[place] = max(longest.get(place, 0), len(str(text)[within]))
        return run(*arguments)

    return measured


def _lazy(value: object, depth: int = 5) -> Iterator[tuple[str, LazyPattern]]:
    """The patterns in a table of a module that compile at first use, with their places."""
    inside: Iterable[tuple[object, object]] = ()
    if isinstance(value, LazyPattern):
        yield "", value
    elif isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, (tuple, list)):
        inside = enumerate(value)
    for key, inner in inside if depth else ():
        yield from ((f"{key} {name}".strip(), pattern) for name, pattern in _lazy(inner, depth - 1))


@contextmanager
def built(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Expression]]:
    """The expressions that the package compiles meanwhile, by whichever function of `re`."""
    found: list[Expression] = []
    compiled = re._compile

    def compiling(pattern: str, flags: int) -> re.Pattern[str]:
        made = compiled(pattern, flags)
        frame = sys._getframe(2)
        if isinstance(pattern, str) and frame.f_globals.get("__name__", "").startswith("dragoman."):
            method = _USES.get(sys._getframe(1).f_code.co_name, "finditer")
            where = f"{frame.f_globals['__name__']}:{frame.f_lineno}"
            found.append(Expression(where, made, (method,)))
        return made

    with monkeypatch.context() as patched:
        patched.setattr(re, "_compile", compiling)
        yield found


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


def _patterns(value: object, depth: int = 5) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The patterns in a value of a module: in tables, in values with fields, and in what a cached function reads."""
    inside: Iterable[tuple[object, object]] = ()
    if isinstance(value, LazyPattern):
        yield "", value.compiled()
    elif isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield "", value
    elif isinstance(value, (dict, Lazy)):
        inside = value.items()
    elif isinstance(value, (tuple, list)):
        inside = enumerate(value)
    elif is_dataclass(value) and not isinstance(value, type):
        inside = ((field.name, getattr(value, field.name)) for field in fields(value))
    elif (parameters := _parameters_of_cached(value)) == ["language"]:
        inside = [(language, value(language)) for language in ("en", "zh")]
    elif parameters == []:
        inside = [("", value())]
    for key, inner in inside if depth else ():
        yield from ((f"{key} {name}".strip(), pattern) for name, pattern in _patterns(inner, depth - 1))


def _parameters_of_cached(value: object) -> list[str] | None:
    own = getattr(value, "__module__", "").startswith("dragoman.") and hasattr(value, "cache_info")
    return list(signature(value).parameters) if own else None


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


@dataclass(frozen=True, slots=True)
class _Call:
    where: str
    texts: tuple[str, ...]
    flags: int
    method: str


def _calls() -> Iterator[_Call]:
    """The calls of functions of `re`, or of what stands in for it, within functions of the package."""
    for module in _modules():
        names = dict(vars(module))
        for function in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))):
            if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            local = _local(function, names)
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and node.args and _is_of_re(node.func, names):
                    flags = [_value(each, names) for each in (*node.args[1:], *(pair.value for pair in node.keywords))]
                    yield _Call(
                        f"{module.__name__}.{function.name}:{node.lineno}",
                        _texts(node.args[0], names, local),
                        next((int(each) for each in flags if isinstance(each, re.RegexFlag)), 0),
                        _USES.get(node.func.attr, "finditer"),
                    )


def _local(function: ast.AST, names: dict[str, object]) -> dict[str, ast.expr | tuple[str, ...]]:
    """What a function assigns to its names, and the texts that its loops over tables of the module give them."""
    local: dict[str, ast.expr | tuple[str, ...]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            local |= {target.id: node.value for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.For):
            rows = _value(node.iter, names)
            targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
            for place, target in enumerate(targets if isinstance(rows, (tuple, list)) else ()):
                cells = [row[place] if isinstance(node.target, ast.Tuple) else row for row in rows]
                if isinstance(target, ast.Name) and all(isinstance(cell, str) for cell in cells):
                    local[target.id] = tuple(cells)
    return local


def _is_of_re(function: ast.expr, names: dict[str, object]) -> bool:
    if not (isinstance(function, ast.Attribute) and function.attr in {*_METHODS, "compile"}):
        return False
    return isinstance(function.value, ast.Name) and names.get(function.value.id) in (re, lazy_re)


def _texts(node: ast.expr, names: dict[str, object], local: dict[str, ast.expr | tuple[str, ...]]) -> tuple[str, ...]:
    """The expressions that a piece of source may stand for; none where that cannot be told."""
    if isinstance(node, ast.IfExp):
        return (*_texts(node.body, names, local), *_texts(node.orelse, names, local))
    if isinstance(node, ast.JoinedStr):
        pieces = [
            (part.value,) if isinstance(part, ast.Constant) else _texts(part.value, names, local) or (_WORD,)
            for part in node.values
        ]
        return tuple("".join(row) for row in islice(product(*pieces), 8))
    value = _value(node, names)
    if isinstance(value, str):
        return (value,)
    if isinstance(node, ast.Name) and node.id in local:
        found = local[node.id]
        others = {name: each for name, each in local.items() if name != node.id}
        return found if isinstance(found, tuple) else _texts(found, names, others)
    return (f"{_WORD}|anne",) if "re.escape" in ast.unparse(node) else ()


def _value(node: ast.expr, names: dict[str, object]) -> object:
    try:
        return eval(compile(ast.Expression(node), "source", "eval"), dict(names))
    except Exception:  # noqa: BLE001 - it needs what the function alone knows
        return None
