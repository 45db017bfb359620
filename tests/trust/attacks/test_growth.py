"""No text that a user chooses makes a regular expression, or a rule over text, take more than linear time."""

from __future__ import annotations

import re

import pytest
from tests.effort import assert_linear, lines_of, seconds_of

import dragoman
from dragoman.core.caches import clear_caches
from dragoman.core.values import Context, Turn
from dragoman.decision.applies import LONGEST_FACT, LONGEST_RULE, applies
from dragoman.decision.chinese.applies import decide as decide_in_chinese
from dragoman.decision.joint import MOST_FACTS
from dragoman.decision.relations import user_values
from dragoman.memory.correction import corrected
from dragoman.memory.facts import LONGEST_SENTENCE, facts
from dragoman.server.turns.forget_requests import asks_to_forget
from dragoman.text import claims
from dragoman.text.analyse import forget_texts
from dragoman.text.ask_back import DEPENDS, resumed
from dragoman.text.circles import loops
from dragoman.text.forget.requests import MOST_CHARACTERS, forget_request, means_everything
from dragoman.text.form import form
from dragoman.text.query import standalone
from dragoman.text.question_kind import question_kind
from dragoman.text.quotations import own_words
from dragoman.text.reference import leaning
from dragoman.text.second_person import second_person
from dragoman.text.sentences import sentences

from . import expressions, growth

pytestmark = pytest.mark.trust

OURS = {"dragoman.stores.sqlite.database._GIVEN": "reads the statements of the stores alone"}
"""Expressions that no text from outside reaches, with the reason."""
UNWRITTEN = {
    "dragoman.text.lazy_re.compiled": "the patterns of the modules",
    "dragoman.text.patterns.__getitem__": "the pattern files",
    "dragoman.memory.patterns._compiled": "the pattern files",
    "dragoman.decision.chinese.words._table": "the patterns of the modules, which read this table",
    "dragoman.planner.prompted._mentioned": "names of sources, escaped, between two classes without a repeat",
    "dragoman.models.scripted._first_match": "what a script of the operator's says",
    "dragoman.train.critic.edits._negate_chinese": "training data, with the patterns of words/zh.toml",
}
"""Functions whose expressions are read elsewhere, with the place."""


def broken(found):
    """What is wrong with expressions, a line each; an expression that occurs again is tried once."""
    tried = {}
    for each in found:
        key = (each.pattern.pattern, each.pattern.flags, each.methods, each.longest)
        if key not in tried and each.where not in OURS:
            tried[key] = each, next(growth.defects(each.pattern, each.methods, longest=each.longest), None)
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
def test_every_expression_that_turns_build_is_linear(tmp_path, monkeypatch):
    """Expressions that are put together while a turn is answered: from names, units, the words of a document."""
    static = [*expressions.in_files(), *expressions.in_modules(), *expressions.in_calls()]
    listed = {(each.pattern.pattern, each.pattern.flags) for each in static}
    with expressions.built(monkeypatch) as built:
        (tmp_path / "documents").mkdir()
        (tmp_path / "documents" / "rules.md").write_text(expressions.RULES, encoding="utf-8")
        (tmp_path / "agent.toml").write_text(expressions.AGENT, encoding="utf-8")
        with dragoman.load(tmp_path, state=tmp_path / "state") as assistant:
            for turn in expressions.TURNS:
                assistant.ask(turn)
    new = [each for each in built if (each.pattern.pattern, each.pattern.flags) not in listed]
    assert len(new) > 30 and broken(new) == []


LONG_TURNS = (
    *("May I take my dog on board? ", "I have a dog and two sons, who are 9. ", "What does a dog of 45 kg pay and "),
    *("on board " * 400 + "what do I owe? ", "When did I go to the pier, and with whom ", 'Yes, I said "go"? yes '),
    *("Forget my dog, my son and " * 3 + ". ", "我儿子9岁，我可以坐船吗", "忘记我的狗，还有", "Where do I live, "),
)
"""What long turns repeat: each leads to other rules."""


@pytest.mark.slow
def test_no_longer_text_than_its_bound_reaches_a_bounded_expression(tmp_path, monkeypatch):
    with expressions.reached(monkeypatch) as longest:
        (tmp_path / "documents").mkdir()
        (tmp_path / "documents" / "rules.md").write_text(expressions.RULES, encoding="utf-8")
        (tmp_path / "agent.toml").write_text(expressions.AGENT, encoding="utf-8")
        with dragoman.load(tmp_path, state=tmp_path / "state") as assistant:
            for turn in (*expressions.TURNS, *((pump * LONGEST)[:6_000] + "?" for pump in LONG_TURNS)):
                assistant.ask(turn)
    past = {place: length for place, length in longest.items() if length > expressions.BOUNDS[place]}
    assert past == {}
    assert len(longest) > 5, longest


@pytest.mark.slow
def test_every_expression_of_the_modules_is_linear():
    assert broken([*expressions.in_modules(), *expressions.in_calls()]) == []


@pytest.mark.slow  # it imports every module
def test_every_expression_within_a_function_is_told_from_its_source_or_read_elsewhere():
    assert expressions.unwritten() == set(UNWRITTEN)


@pytest.mark.slow  # it imports every module
def test_the_expressions_of_all_files_and_modules_are_collected():
    found = [*expressions.in_files(), *expressions.in_modules()]
    where = " ".join(each.where for each in found)
    assert all(bounded in where for bounded in expressions.BOUNDS)
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
        attack = growth.Attack("", pump, "x\n☃ x?")
        tries = [takes(rule, attack) for _ in range(3)]
        if min(factor for _, factor in tries) > 24:  # eight times the length: linear is 8, quadratic 64
            slow.append((pump, tries))
    assert slow == []


def takes(rule, attack):
    """The seconds for the longest text, and how many times those of a shorter one they are; 0 where they are few."""
    seconds = timed(rule, attack.text(LONGEST))
    if seconds <= 0.4:
        return seconds, 0.0
    return seconds, seconds / max(timed(rule, attack.text(SHORTER), at_least=0.05), 1e-6)


def timed(rule, text, **options):
    def run():
        forget_texts()
        RULES[rule](text)

    return seconds_of(run, 5.0, **options)


WORST = [
    "1,1", ",我a", "(A", "其实\n", "有1", "是1,1年1,1月", "€ 1.", "a。", "I ", "〇", "\n", "what a", ";", "“", "> a\n",
    "almost 2 nights ", "senior ", "with AnnA", "called a", "under 12, ", "twenty-seventeen ", "不可以", "do need ",
]  # fmt: skip
"""Repetitions that take the rules below longest, of those that all patterns of memory and decision suggest."""


def dialogue(text):
    question_back = f"{DEPENDS['en']}. {text} How old are you?"
    return Context((Turn("user", text), Turn("agent", question_back), Turn("user", text[:190])))


BOUNDED = {
    "facts of sentences": lambda text: facts(". I have ".join([text[: LONGEST_SENTENCE - 20]] * 50)),
    "facts of people": lambda text: facts(". I come ".join([text[: LONGEST_SENTENCE - 20]] * 50)),
    "facts in Chinese": lambda text: facts("。我".join([text[: LONGEST_SENTENCE - 20]] * 50)),
    "corrected": lambda text: corrected(text, facts("I live in Bern.")),
    "applies": lambda text: applies(text[:LONGEST_RULE], [f"{i} {text}" for i in range(MOST_FACTS)], text),
    "applies to the user": lambda text: applies(
        RULE, [f"{text[: LONGEST_FACT - 5]} {i}" for i in range(MOST_FACTS)], text
    ),
    "values of the user": lambda text: user_values([f"{text} {i}" for i in range(MOST_FACTS)], text),
    "decided in Chinese": lambda text: decide_in_chinese(RULE_ZH, [f"{text}{i}" for i in range(MOST_FACTS)], text),
    "resumed": lambda text: resumed(dialogue(text)),
    "question_kind": question_kind,
    "second_person": second_person,
    "own_words": own_words,
    "forget_request": lambda text: (forget_request(text), forget_request(f"Forget my {text}"[:MOST_CHARACTERS])),
    "means_everything": means_everything,
}
USUAL = "My sister Ann lives in Bern, and I have two dogs that come along. Children under 12 pay 5 euros on Sundays. "
HALF_PRICE_ZH = "凭残疾证的本人和一名陪同人员半价。"
RULE_ZH = "六岁以下儿童免费，身高不足1.4米的不得使用滑梯；宠物犬体重超过40公斤收费5元。"
RULE = "Children under 12 pay 5 euros, adults 10 euros. Dogs are not allowed unless they are on a lead."


@pytest.mark.slow
@pytest.mark.parametrize("rule", BOUNDED)
def test_rules_take_little_longer_for_the_worst_text_than_for_any_other_of_its_length(rule):
    def quickest(text):
        tries = []
        for _ in range(2):
            forget_texts()
            clear_caches()
            tries.append(seconds_of(lambda: BOUNDED[rule](text), 20.0))
        return min(tries)

    usual = quickest((USUAL * LONGEST)[:LONGEST])
    times = {pump: quickest(growth.Attack("", pump, " x?").text(LONGEST)) / usual for pump in WORST}
    assert max(times.values()) < 25, times  # 14 at most


@pytest.mark.parametrize("text", [r"(?:\d+,?)+x", r"(?:very |very very )*blind"])
def test_a_bound_excuses_no_exponential_pattern(text):
    assert next(growth.defects(re.compile(text), longest=LONGEST_SENTENCE), None) is not None


def test_a_bound_excuses_a_quadratic_pattern():
    assert list(growth.defects(re.compile(r"“[^”]*”"), longest=LONGEST_SENTENCE)) == []


DISTINCT = {
    "user_values": ("{} euros, ", lambda text: user_values([text] * 6, text)),
    "decide_in_chinese": (
        "我{}有残疾证，",
        lambda text: decide_in_chinese(HALF_PRICE_ZH, ["我女儿5岁", "我有残疾证"], text),
    ),
}
"""Repetitions with another number each time, so that no cache and no set of names helps."""


@pytest.mark.parametrize("rule", DISTINCT)
def test_a_turn_of_very_many_numbers_is_read_in_linear_time(rule):
    template, run = DISTINCT[rule]

    def read(size):
        forget_texts()
        clear_caches()
        run("".join(template.format(number) for number in range(1000, 1000 + size)) + "?")

    assert_linear(read, 4_000)


def test_a_long_chain_of_turns_that_lean_on_each_other_is_resolved_once():
    turns = (Turn("user", "why?"), Turn("agent", "ok")) * 200
    assert lines_of(lambda: standalone(Context((*turns, Turn("user", "why?"))))) < 200_000
