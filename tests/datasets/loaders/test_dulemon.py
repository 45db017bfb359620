"""DuLeMon: two personas, gold ids after a TAB, and lines as they come."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.datasets import Dulemon


def record(*lines, bot=("B1: 我 会 划船",), said=("U1: 我 住 山里",), unsaid=("U2: 我 怕 水",)):
    return {
        "bot_persona": list(bot),
        "user_said_persona": list(said),
        "user_no_said_persona": list(unsaid),
        "conversation": list(lines),
    }


def file_of(write, *records):
    return write("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records), "set.jsonl")


def test_a_bot_line_is_a_turn_with_its_gold(data, read):
    examples, _ = read(Dulemon(file=data / "dulemon.jsonl"))
    first = examples[:4]
    assert [example.id for example in first] == [f"dulemon-1#{i}" for i in range(4)]
    assert [example.gold.plan for example in first] == [(), ("USER",), ("USER", "BOT"), ("BOT",)]
    assert first[2].gold.evidence == ("dulemon-1/U2", "dulemon-1/B2")
    assert first[2].gold.reply == "我在家修钟表，下次带我去划船"
    assert first[0].gold.reply == "你好呀"
    assert [(one.id, one.source, one.meta.get("said")) for one in first[0].candidates] == [
        ("dulemon-1/U1", "USER", "yes"),
        ("dulemon-1/U2", "USER", "no"),
        ("dulemon-1/B1", "BOT", None),
        ("dulemon-1/B2", "BOT", None),
    ]


def test_ids_after_a_user_line_are_not_gold_and_not_text(data, read):
    examples, _ = read(Dulemon(file=data / "dulemon.jsonl"))
    assert examples[1].context.last == "今天去划船了"
    assert examples[1].gold.evidence == ("dulemon-1/U1",)


def test_a_bot_line_that_answers_nobody_is_history_and_a_warning(data, read):
    examples, problems = read(Dulemon(file=data / "dulemon.jsonl"))
    second = [example for example in examples if example.context.dialogue == "dulemon-2"]
    assert [(example.id, example.position) for example in second] == [("dulemon-2#1", 1), ("dulemon-2#3", 3)]
    assert [turn.speaker for turn in second[1].context.turns] == ["agent", "user", "user", "agent", "agent", "user"]
    assert [(problem.row, problem.severity) for problem in problems] == [(2, "warning")] * 2
    assert "line 1 of the conversation answers no user turn" in problems[0].what


def test_keep_leaves_the_spaces(write, read):
    path = file_of(write, record("Usr: 你 好", "Bot:  在 呢 \tU1"))
    examples, _ = read(Dulemon(file=path, spaces="keep"))
    assert examples[0].context.last == "你 好"
    assert examples[0].gold.reply == " 在 呢 "
    assert examples[0].candidates[0].text == "我 住 山里"


@pytest.mark.parametrize("line", ["Bot: 好\tU1,B1", "Bot:好\tU1, B1", "Bot：好\tU1，B1", "bot : 好\tU1\tB1"])
def test_ids_are_read_however_they_are_separated(write, read, line):
    examples, problems = read(Dulemon(file=file_of(write, record("Usr: 问", line))))
    assert problems == []
    assert examples[0].gold.evidence == ("set-1/U1", "set-1/B1")


def test_gold_that_is_no_candidate_leaves_its_turn_out(write, read):
    examples, problems = read(Dulemon(file=file_of(write, record("Usr: 问", "Bot: 好\tU9", "Usr: 再", "Bot: 行"))))
    assert [example.id for example in examples] == ["set-1#1"]
    assert "'U9' is not among the candidates" in problems[0].what


@pytest.mark.parametrize(
    ("conversation", "said"),
    [
        (("Usr: 问", "Bot: "), "the reply is empty"),
        (("Usr: ", "Bot: 好"), "the user turn before it is empty"),
        (("Usr: 问", "谁: 好"), "neither the user's nor the bot's"),
    ],
)
def test_a_bad_line_is_an_error(write, read, conversation, said):
    examples, problems = read(Dulemon(file=file_of(write, record(*conversation))))
    assert examples == []
    assert said in problems[0].what
    assert problems[0].severity == "error"


def test_a_persona_without_id_is_no_candidate(write, read):
    path = file_of(write, record("Usr: 问", "Bot: 好", bot=("我 会 划船", "B2: ")))
    examples, problems = read(Dulemon(file=path))
    assert [one.id for one in examples[0].candidates] == ["set-1/U1", "set-1/U2"]
    assert [problem.severity for problem in problems] == ["warning", "warning"]


def test_an_id_with_two_texts_leaves_the_dialogue_out(write, read):
    path = file_of(write, record("Usr: 问", "Bot: 好", unsaid=("U1: 我 怕 水",)), record("Usr: 问", "Bot: 好"))
    examples, problems = read(Dulemon(file=path))
    assert [example.id for example in examples] == ["set-2#0"]
    assert [(problem.row, problem.what) for problem in problems] == [(1, "two personas have the id U1")]


def test_a_cut_last_line_is_a_problem_after_all_before_it(data, write, read):
    whole = (data / "dulemon.jsonl").read_bytes()
    examples, problems = read(Dulemon(file=write(whole[:-40], "set.jsonl")))
    assert len(examples) == 4
    assert [(problem.row, problem.severity) for problem in problems] == [(2, "error")]


LINES = st.lists(
    st.tuples(st.sampled_from(["Usr:", "Usr: ", "Bot:", "Bot: "]), st.sampled_from(["好", "你 好"])), max_size=8
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES)
def test_every_bot_line_is_a_turn_or_a_warning(write, read, lines):
    path = file_of(write, record(*(f"{who}{text}" for who, text in lines)))
    examples, problems = read(Dulemon(file=path))
    assert len(examples) + len(problems) == sum(who.startswith("Bot") for who, _ in lines)
    assert all(example.context.turns[-1].speaker == "user" for example in examples)
