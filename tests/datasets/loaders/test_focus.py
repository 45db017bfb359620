"""FoCus: candidates that change with each turn, and a test file with keys of its own."""

from __future__ import annotations

import pytest

from dragoman.core.errors import InputError
from dragoman.datasets import Focus


def utterance(turns=("Why?", "So."), **fields):
    first = {
        "dialogue1": list(turns) if isinstance(turns, tuple) else turns,
        "persona_candidate": ["I row.", "I sing."],
        "persona_grounding": [False, True],
        "knowledge_candidates": ["Stone.", "Glass."],
        "knowledge_answer_index": 1,
    }
    merged = first | fields
    return {key: value for key, value in merged.items() if value is not ...}


def file_of(write, *utterances, name="D"):
    return write({"data": [{"dialogID": name, "persona": [], "knowledge": [], "utterance": list(utterances)}]})


def test_the_gold_is_the_grounding(data, read):
    examples, problems = read(Focus(file=data / "focus_train.json"))
    assert problems == []
    assert [example.id for example in examples] == ["F1#0", "F1#1", "F2#0"]
    assert [example.gold.plan for example in examples] == [
        ("PERSONA", "KNOWLEDGE"),
        ("KNOWLEDGE",),
        ("PERSONA", "KNOWLEDGE"),
    ]
    assert [example.gold.evidence for example in examples] == [
        ("F1#0/P0", "F1#0/K0"),
        ("F1#1/K0",),
        ("F2#0/P4", "F2#0/K2"),
    ]
    assert examples[1].gold.reply == "In winter."
    assert [turn.speaker for turn in examples[1].context.turns] == ["user", "agent", "user"]
    assert examples[1].context.last == "When does the harbour freeze?"
    assert [example.context.scope.user for example in examples] == ["F1#0", "F1#1", "F2#0"]
    assert len(examples[0].candidates) == 8


def test_the_test_file_has_questions_and_no_gold(data, read):
    made = Focus(file=data / "focus_test.json")
    examples, problems = read(made)
    assert problems == []
    assert [example.context.last for example in examples] == ["What is this tower made of?", "When do whales pass?"]
    assert examples[1].position == 1
    assert {example.gold for example in examples} == {type(examples[0].gold)()}
    assert made.labels == frozenset()


def test_the_labels_of_a_training_file_are_all_four(data):
    assert Focus(file=data / "focus_train.json").labels == {"retrieve", "plan", "evidence", "reply"}


def test_a_list_that_ends_with_a_question_has_no_reply(write, read):
    examples, _ = read(Focus(file=file_of(write, utterance(("Why?", "So.", "And?")))))
    assert examples[0].context.last == "And?"
    assert examples[0].gold.reply is None
    assert examples[0].gold.plan == ("PERSONA", "KNOWLEDGE")


def test_half_a_label_is_no_label(write, read):
    examples, _ = read(Focus(file=file_of(write, utterance(knowledge_answer_index=...))))
    assert (examples[0].gold.plan, examples[0].gold.evidence, examples[0].gold.reply) == (None, None, "So.")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (utterance(knowledge_answer_index=2), "the gold evidence 2 is not among the 2 knowledge candidates"),
        (utterance(persona_grounding=[True]), "1 persona labels for 2 persona candidates"),
        (utterance(("Why?", " ")), "the reply is empty"),
        (utterance(("", "So.")), "the user turn is empty"),
        (utterance(()), "there is no 'dialogue1' with text"),
        (utterance(7), "there is no 'dialogue1' with text"),
        (utterance(persona_candidate=["", "x"]), "a candidate is empty"),
    ],
)
def test_a_bad_turn_is_an_error_and_the_others_are_read(write, read, broken, said):
    examples, problems = read(Focus(file=file_of(write, broken, utterance(), name=3)))
    assert [example.id for example in examples] == ["3#1"]
    assert [(problem.row, problem.severity) for problem in problems] == [(1, "error")]
    assert said in problems[0].what


def test_wrong_types_leave_the_dialogue_out(write, read):
    examples, problems = read(Focus(file=file_of(write, utterance(persona_grounding=[1, 0]))))
    assert examples == []
    assert "utterance.0.persona_grounding.0: Input should be a valid boolean, not 1" in problems[0].what


def test_a_dialogue_that_comes_twice_is_a_problem(write, read):
    one = {"dialogID": "D", "utterance": [utterance()]}
    examples, problems = read(Focus(file=write({"data": [one, one]})))
    assert len(examples) == 1
    assert problems[0].what == "the dialogue D is also record 1"


def test_another_file_is_refused(data):
    with pytest.raises(InputError, match="does not hold an object with a list 'data'"):
        list(Focus(file=data / "kbp.json").examples())
