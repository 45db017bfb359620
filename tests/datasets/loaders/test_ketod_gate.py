"""The gate labels of KETOD: one system turn a line."""

from __future__ import annotations

import json

import pytest

from dragoman.datasets import KetodGate


def row(**fields):
    first = {
        "dialogue_id": "1_1",
        "turn_index": 1,
        "services": ["Boats_1"],
        "context": [{"speaker": "USER", "text": "Hi."}],
        "response": "Hello.",
        "enrich": False,
    }
    return json.dumps(first | fields) + "\n"


def test_a_line_is_a_turn(data, read):
    examples, problems = read(KetodGate(file=data / "ketod_gate.jsonl"))
    assert problems == []
    assert [example.id for example in examples] == ["1_00001#0", "1_00001#1", "2_00004#0"]
    assert [example.gold.retrieve for example in examples] == [False, True, True]
    assert examples[1].position == 1
    assert examples[1].context.last == "To Heron Island."
    assert examples[1].gold.reply == "One leaves at nine for Heron Island."
    assert examples[1].gold.plan is examples[1].gold.evidence is None
    assert examples[2].domain == "Shops_1+Maps_2"
    assert examples[1].meta == {"turn_index": "3"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"enrich": "yes"}, "enrich: Input should be a valid boolean, not 'yes'"),
        ({"enrich": None}, "enrich: "),
        ({"response": " "}, "the reply is empty"),
        ({"context": []}, "does not end with a user turn"),
        ({"context": [{"speaker": "SYSTEM", "text": "x"}]}, "does not end with a user turn"),
        ({"context": [{"speaker": "USER", "text": ""}]}, "the user turn is empty"),
        ({"context": [{"speaker": "Bob", "text": "x"}]}, "context.0.speaker"),
        ({"dialogue_id": ""}, "dialogue_id"),
    ],
)
def test_a_bad_line_is_a_problem_in_its_place(write, read, fields, said):
    examples, problems = read(KetodGate(file=write(row(dialogue_id="0") + row(**fields) + row(dialogue_id="2"))))
    assert [example.id for example in examples] == ["0#0", "2#0"]
    assert [(problem.row, problem.severity) for problem in problems] == [(2, "error")]
    assert said in problems[0].what


def test_a_turn_that_comes_twice_is_a_problem_that_names_the_first(write, read):
    examples, problems = read(KetodGate(file=write(row() + row(response="Again."))))
    assert [example.gold.reply for example in examples] == ["Hello."]
    assert [(problem.row, problem.what) for problem in problems] == [(2, "the turn 1_1#0 is also in line 1")]
