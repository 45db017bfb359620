from __future__ import annotations

import pytest

from dragoman.text.form import asks_for_everything
from dragoman.text.second_person import said_back, second_person


@pytest.mark.parametrize(
    ("said", "back"),
    [
        ("I am allergic to shellfish.", "you are allergic to shellfish"),
        ("My son Leo is five.", "your son Leo is five"),
        ("Leo is seven.", "Leo is seven"),
        ("I'm from Porto", "you're from Porto"),
        ("There are four of us.", "there are four of you"),
        ("I was born in 1957.", "you were born in 1957"),
        ("Our dog was ill.", "your dog was ill"),
        ("我儿子乐乐五岁。", "你儿子乐乐五岁"),
    ],
)
def test_a_statement_is_turned_to_its_speaker(said, back):
    assert second_person(said) == back


def test_several_statements_make_one_sentence():
    assert said_back(["I live in Porto.", "Leo is seven."], "en") == "you live in Porto, and Leo is seven"
    assert said_back(["我住在杭州。", "我吃素。"], "zh") == "你住在杭州，你吃素"


@pytest.mark.parametrize(
    ("text", "everything"),
    [
        ("What do you know about me?", True),
        ("Who am I?", True),
        ("What do you know about us?", True),
        ("remind me what i told you?", True),
        ("你知道我些什么？", True),
        ("What do you know about my dog?", False),
        ("Where do I live?", False),
    ],
)
def test_a_question_for_everything_is_told_from_one_for_a_fact(text, everything):
    assert asks_for_everything(text) is everything
