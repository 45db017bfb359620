"""ConvAI2: numbered lines."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError
from dragoman.datasets import ConvAi2


def test_a_line_is_a_turn_under_the_persona_of_its_dialogue(data, read):
    examples, problems = read(ConvAi2(file=data / "convai2.txt"))
    assert [example.id for example in examples] == ["convai2-1#0", "convai2-1#1", "convai2-2#0", "convai2-2#1"]
    assert [one.text for one in examples[1].candidates] == ["i mend clocks.", "i have a parrot."]
    assert [one.text for one in examples[3].candidates] == ["i am afraid of thunder."]
    assert [turn.text for turn in examples[1].context.turns] == [
        "hi , what do you do ?",
        "i mend clocks all day .",
        "nice , any pets ?",
    ]
    assert examples[3].gold.reply == "good ."  # without the candidates that follow it
    assert examples[3].gold.retrieve is None
    assert [(problem.row, problem.severity) for problem in problems] == [(3, "warning")]


def test_both_personas_are_two_sources(data, read):
    made = ConvAi2(file=data / "convai2.txt", personas="both")
    examples, problems = read(made)
    assert problems == []
    assert [(source.name, source.about) for source in made.sources] == [("PERSONA", "bot"), ("PARTNER", "user")]
    assert [one.source for one in examples[0].candidates] == ["PERSONA", "PERSONA", "PARTNER"]


def test_the_partners_alone(data, read):
    examples, _ = read(ConvAi2(file=data / "convai2.txt", personas="other"))
    assert [one.text for one in examples[0].candidates] == ["i row boats."]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("3 only the user", "the reply is empty or missing"),
        ("3 user\t ", "the reply is empty or missing"),
        ("3 \treply", "the user turn is empty"),
        ("no number\treply", "this line has no number"),
    ],
)
def test_a_bad_line_is_an_error_in_its_place(write, read, line, said):
    path = write(f"1 your persona: x\n2 a\tb\n{line}\n4 c\td\n", "set.txt")
    examples, problems = read(ConvAi2(file=path))
    assert [example.gold.reply for example in examples] == ["b", "d"]
    errors = [problem for problem in problems if problem.severity == "error"]
    assert [(problem.row, problem.what.startswith(said)) for problem in errors] == [(3, True)]


def test_a_gap_in_the_numbers_is_a_warning(write, read):
    examples, problems = read(ConvAi2(file=write("1 a\tb\n3 c\td\n", "set.txt")))
    assert len(examples) == 2
    assert [problem.what for problem in problems] == ["this line has the number 3 where 2 should follow"]


def test_where_the_agent_speaks_first_its_line_is_history(write, read):
    examples, problems = read(ConvAi2(file=write("1 __SILENCE__\thello\n2 hi\tfine ?\n", "set.txt")))
    assert [(example.id, example.position) for example in examples] == [("set-1#1", 1)]
    assert [turn.speaker for turn in examples[0].context.turns] == ["agent", "user"]
    assert [problem.severity for problem in problems] == ["warning"]


def test_an_unknown_choice_of_personas_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="personas = 'mine'"):
        ConvAi2(file=tmp_path, personas="mine")


DIALOGUES = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(DIALOGUES, st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_every_turn_of_every_dialogue_is_read(write, read, shapes, end):
    lines = []
    for personas, turns in shapes:
        texts = [*(f"your persona: p{i}" for i in range(personas)), *(f"u{i}\tr{i}" for i in range(turns))]
        lines += [f"{number} {text}" for number, text in enumerate(texts, start=1)]
    examples, problems = read(ConvAi2(file=write(end.join(lines), "set.txt")))
    assert problems == []
    assert [len(example.candidates) for example in examples] == [p for p, turns in shapes for _ in range(turns)]
    assert [example.position for example in examples] == [i for _, turns in shapes for i in range(turns)]
