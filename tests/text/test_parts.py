import pytest

from dragoman.text.parts import question_parts, told_and_asked


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "Which workshop is on Saturday, and what does it cost?",
            ("Which workshop is on Saturday?", "What does it cost?"),
        ),
        ("Is there parking? And how much is it?", ("Is there parking?", "And how much is it?")),
        (
            "I come with a dog. Can he come in, and do I pay for him?",
            ("I come with a dog. Can he come in?", "Do I pay for him?"),
        ),
        ("Can my son and my daughter come?", ("Can my son and my daughter come?",)),
        ("What and when?", ("What and when?",)),
        ("I wonder how you are.", ("I wonder how you are.",)),
        ("How much is it? I am 12.", ("How much is it? I am 12.",)),  # what follows belongs to the question
        ("营业到几点？多少钱？", ("营业到几点？多少钱？",)),
    ],
)
def test_a_turn_is_parted_into_its_questions(text, parts):
    assert question_parts(text) == parts


@pytest.mark.parametrize(
    ("text", "told", "asked"),
    [
        ("I'm 71. Do I pay the full fare?", "I'm 71.", "Do I pay the full fare?"),
        ("Hi! I'm Ida, 71. What does a ticket cost?", "I'm Ida, 71.", "What does a ticket cost?"),
        ("I've only the half plot, so what may I build on it?", "I've only the half plot.", "What may I build on it?"),
        ("Biscuit's my spaniel, he'll want to tag along, is that ok?", "Biscuit's my spaniel", "Can he tag along?"),
    ],
)
def test_what_a_turn_tells_is_parted_from_what_it_asks(text, told, asked):
    assert told_and_asked(text) == (told, asked)


@pytest.mark.parametrize(
    "text",
    [
        "I want to see the seals. When can I?",  # what is wished belongs to the question
        "The site says that you open at nine. Is that right?",
        "What does it cost? I'm 71.",
        "I'm 71.",
        "Can I come?",
        "我71岁。门票多少钱？",
    ],
)
def test_other_turns_are_not_parted(text):
    assert told_and_asked(text) is None
