import pytest

from dragoman.text.parts import question_parts


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
