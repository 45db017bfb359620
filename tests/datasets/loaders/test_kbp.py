"""KBP: personas, documents that depend on them, and a gold that names both."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, InputError
from dragoman.core.examples import Example, Problem
from dragoman.datasets import Kbp


def dialogue(*gold, persona=("B0", "B1"), kg=("B0", "B1"), reply="好"):
    return {
        "persona": {key: f"我 是 {key}" for key in persona},
        "persona_kg": {key: {"K0": f"{key} 的 知识", "K1": "另 一条"} for key in kg},
        "conversation": [{"U": f"问 {i}", "S": reply, "P-K": names} for i, names in enumerate(gold)],
    }


def test_a_turn_has_its_candidates_its_history_and_its_gold(data, read):
    examples, problems = read(Kbp(file=data / "kbp.json"))
    assert len(examples) == 6
    third = examples[2]
    assert third.id == "kbp-1#2"
    assert third.position == 2
    assert [turn.text for turn in third.context.turns] == [
        "你好呀",
        "你好！",
        "你平时喜欢做什么？",
        "我爱养多肉。",
        "多久浇一次水？",
    ]
    assert (third.context.scope.tenant, third.context.scope.user, third.context.dialogue) == ("kbp", "kbp-1", "kbp-1")
    assert [(one.id, one.source, one.parent) for one in third.candidates] == [
        ("kbp-1/B0", "PERSONA", None),
        ("kbp-1/B1", "PERSONA", None),
        ("kbp-1/B0-K0", "DOCUMENTS", "kbp-1/B0"),
        ("kbp-1/B0-K1", "DOCUMENTS", "kbp-1/B0"),
        ("kbp-1/B1-K0", "DOCUMENTS", "kbp-1/B1"),
        ("kbp-1/B1-K1", "DOCUMENTS", "kbp-1/B1"),
    ]
    assert third.gold.reply == "一周一次就够了。"
    assert third.gold.evidence == ("kbp-1/B0", "kbp-1/B0-K0")
    assert [example.gold.plan for example in examples[:3]] == [(), ("PERSONA",), ("PERSONA", "DOCUMENTS")]
    assert [example.gold.retrieve for example in examples[:3]] == [False, True, True]
    assert [(problem.row, problem.severity) for problem in problems] == [(3, "warning")]


def test_keep_leaves_every_text_as_it_is_in_the_file_and_every_id(data):
    released = json.loads((data / "kbp.json").read_text(encoding="utf-8"))
    kept = [one for one in Kbp(file=data / "kbp.json", spaces="keep").examples() if isinstance(one, Example)]
    removed = [one for one in Kbp(file=data / "kbp.json").examples() if isinstance(one, Example)]
    first = released[0]
    documents = [text for texts in first["persona_kg"].values() for text in texts.values()]
    assert [one.text for one in kept[0].candidates] == [*first["persona"].values(), *documents]
    assert kept[2].context.last == first["conversation"][2]["U"]
    assert kept[2].gold.reply == first["conversation"][2]["S"]
    assert [(one.id, one.gold.evidence) for one in kept] == [(one.id, one.gold.evidence) for one in removed]
    assert "Green House里" in removed[0].candidates[3].text


def test_a_document_whose_persona_is_not_named_is_kept_with_a_warning(write, read):
    examples, problems = read(Kbp(file=write([dialogue([["B0"], ["B1-K0"]])])))
    assert examples[0].gold.evidence == ("set-1/B0", "set-1/B1-K0")
    assert examples[0].gold.plan == ("PERSONA", "DOCUMENTS")
    assert [problem.severity for problem in problems] == ["warning"]
    assert "the document B1-K0 but not its persona B1" in problems[0].what


def test_documents_of_a_persona_that_is_not_listed_stay_candidates(write, read):
    examples, problems = read(Kbp(file=write([dialogue([["B0"], ["B1-K1"]], persona=("B0",))])))
    by_id = {one.id: one for one in examples[0].candidates}
    assert by_id["set-1/B1-K1"].parent == "set-1/B1"
    assert "set-1/B1" not in by_id
    assert {problem.severity for problem in problems} == {"warning"}


@pytest.mark.parametrize("gold", [[["B7"]], [["B0"], ["B0-K9"]], [["B0"], ["B0"]], [["B0-K0"]]])
def test_gold_that_is_no_candidate_leaves_its_turn_out_and_no_other(write, read, gold):
    examples, problems = read(Kbp(file=write([dialogue([], gold, [["B0"]])])))
    assert [example.id for example in examples] == ["set-1#0", "set-1#2"]
    assert len(examples[1].context.turns) == 5
    assert [(problem.row, problem.severity) for problem in problems] == [(1, "error")]
    assert "turn 1: the gold evidence" in problems[0].what


def test_empty_lists_are_null(write, read):
    examples, problems = read(Kbp(file=write([dialogue([[]], [[], []], [["B0"], []])])))
    assert [example.gold.plan for example in examples] == [(), (), ("PERSONA",)]
    assert problems == []


def test_an_empty_reply_or_question_is_an_error(write, read):
    silent = dialogue([], reply=" ")
    silent["conversation"].append({"U": "", "S": "好", "P-K": []})
    examples, problems = read(Kbp(file=write([silent])))
    assert examples == []
    assert [problem.what for problem in problems] == ["turn 0: the reply is empty", "turn 1: the user turn is empty"]


def test_an_empty_candidate_is_none(write, read):
    odd = dialogue([["B0"]], [["B1"]])
    odd["persona"]["B1"] = "  "
    examples, problems = read(Kbp(file=write([odd])))
    assert [example.id for example in examples] == ["set-1#0"]
    assert [problem.severity for problem in problems] == ["warning", "error"]


@pytest.mark.parametrize(
    "broken",
    [
        {},
        [],
        None,
        dialogue() | {"persona": []},
        dialogue() | {"conversation": [{"U": "问", "S": 3, "P-K": []}]},
        dialogue() | {"conversation": [{"U": "问", "S": "好", "P-K": "B0"}]},
        dialogue([["B0"], ["B0-K0"], ["B1"]]),
    ],
)
def test_a_broken_record_is_a_problem_in_its_place(write, broken):
    found = list(Kbp(file=write([dialogue([]), broken, dialogue([])])).examples())
    assert [type(one) for one in found] == [Example, Problem, Example]
    assert (found[1].row, found[1].severity) == (2, "error")
    assert found[2].id == "set-3#0"


def test_a_file_of_another_set_is_refused(data):
    with pytest.raises(InputError, match="does not hold a list of KBP dialogues"):
        list(Kbp(file=data / "focus_train.json").examples())


def test_making_one_reads_nothing(tmp_path):
    made = Kbp(file=tmp_path / "nowhere.json")
    assert made.files == (tmp_path / "nowhere.json",)
    with pytest.raises(InputError, match="no file"):
        next(made.examples())


def test_an_unknown_way_of_spacing_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="spaces = 'some'"):
        Kbp(file=tmp_path / "x.json", spaces="some")


NAMES = st.sampled_from(["B0", "B1", "B2", "B0-K0", "B1-K1", "B0-K9", ""])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.lists(NAMES, max_size=3), max_size=3), min_size=1, max_size=4))
def test_each_turn_comes_as_an_example_or_an_error_whatever_its_gold(write, read, golds):
    examples, problems = read(Kbp(file=write([dialogue(*golds)])))
    errors = [problem for problem in problems if problem.severity == "error"]
    broken_record = any(len(gold) > 2 for gold in golds)
    assert len(examples) + len(errors) == (1 if broken_record else len(golds))
    for example in examples:
        assert set(example.gold.evidence) <= {one.id for one in example.candidates}
