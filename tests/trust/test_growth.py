"""No text that a user chooses makes a regular expression, or a rule over text, take more than linear time."""

from __future__ import annotations

import re

import pytest

from dragoman.core.values import Context, Turn
from dragoman.memory.facts import facts
from dragoman.server.turns.forget_requests import asks_to_forget
from dragoman.text import claims
from dragoman.text.circles import loops
from dragoman.text.forgetting import forget_texts
from dragoman.text.form import form
from dragoman.text.query import standalone
from dragoman.text.reference import leaning
from dragoman.text.sentences import sentences

from . import expressions, growth

pytestmark = pytest.mark.trust

OURS = {"dragoman.stores.sqlite.database._GIVEN": "reads the statements of the stores alone"}
"""Expressions that no text from outside reaches, with the reason."""


def broken(found):
    """What is wrong with expressions, a line each; an expression that occurs again is tried once."""
    tried = {}
    for each in found:
        key = (each.pattern.pattern, each.pattern.flags, each.methods)
        if key not in tried and each.where not in OURS:
            tried[key] = each, next(growth.defects(each.pattern, each.methods), None)
    assert len(tried) > 10
    return [f"{each.where}: {defect}" for each, defect in tried.values() if defect is not None]


@pytest.mark.parametrize(
    "text",
    [
        r"(a+)+$",
        r"(?:ha|haha+|[\s,.!])+x",
        r"(?:嗯+|哦+)+吗",
        r"(?:a|b|ab)*c",
        r"\s+$",
        r"\d+(?:[.,]\d+)?\s*francs",
        r"i have [^.]+? allergy",
        r"^.*please .*please .+$",
        r"thanks(?: for \w+(?: \w+){0,5}[ ]*)*",
    ],
)
def test_a_pattern_that_backtracks_is_found(text):
    assert next(growth.defects(re.compile(text)), None) is not None


@pytest.mark.parametrize(
    "text", [r"(?<!\s)\s++x", r"(?<!\d)\d++(?:[.,]\d++)?+ ?francs", r"(?<!a)(?:ha)++!", r"\b(?:yes|no)\b", r"[a-z]++"]
)
def test_a_linear_pattern_is_left_alone(text):
    assert list(growth.defects(re.compile(text))) == []


@pytest.mark.slow
def test_every_expression_of_the_pattern_files_is_linear():
    assert broken(expressions.in_files()) == []


@pytest.mark.slow
def test_every_expression_of_the_modules_is_linear():
    assert broken([*expressions.in_modules(), *expressions.in_calls()]) == []


def test_the_expressions_of_all_files_and_modules_are_collected():
    where = " ".join(each.where for each in [*expressions.in_files(), *expressions.in_modules()])
    for part in ("en.toml form.thanks", "zh.toml form.", "memory/patterns/en.toml", "memory/patterns/zh.toml"):
        assert part in where
    for part in ("text.form._P thanks", "memory.facts._AROUND lead", "text.sentences._END", "agent.turns._ESCAPE"):
        assert f"dragoman.{part}" in where


PUMPS = [
    "嗯", "哈", "ha", "ha ", "thanks for a a ", "that kind ", "what a nice ", "it ", "it possible ",
    "the dog. it ", "这个", "我的狗。它", "a…", "...", "A-", "Hundred ", "1", "1,", "1.", "i like ",
    "i have ", "my favourite ", "我刚", "please forget my ", "if you may i ask", " ", "\n", ", ", "lol ",
    " since", "do i like ", "Ann Bo ", "- ", "?", "“", "why? ", "# a\n", "我对",
]  # fmt: skip
RULES = {
    "form": form,
    "to_forget": asks_to_forget,
    "facts": facts,
    "sentences": sentences,
    "leaning": leaning,
    "standalone": lambda text: standalone(Context((Turn("user", text), Turn("agent", text), Turn("user", "And it?")))),
    "names": claims.names,
    "numbers": claims.numbers,
    "unsupported": lambda text: claims.unsupported(text, [text]),
    "loops": loops,
}
LONGEST, SHORTER = 32_000, 4_000


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_a_turn_of_the_greatest_length_is_read_in_linear_time(rule):
    slow = []
    for pump in PUMPS:
        attack = growth.Attack("", pump, " x?")
        seconds = timed(rule, attack.text(LONGEST))
        if seconds > 0.4:
            before = timed(rule, attack.text(SHORTER), at_least=0.05)
            if seconds / max(before, 1e-6) > 24:  # eight times the length: linear is 8, quadratic 64
                slow.append((pump, round(seconds, 2), round(before, 4)))
    assert slow == []


def timed(rule, text, **options):
    def run():
        forget_texts()
        RULES[rule](text)

    return growth.seconds_of(run, 5.0, **options)


def test_a_long_chain_of_turns_that_lean_on_each_other_is_resolved_once():
    turns = (Turn("user", "why?"), Turn("agent", "ok")) * 200
    assert growth.seconds_of(lambda: standalone(Context((*turns, Turn("user", "why?")))), 5.0) < 2.0
