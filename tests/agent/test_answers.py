"""Yes, no, asking back and not knowing, told from a reply's words."""

from __future__ import annotations

import pytest

from dragoman.agent.answers import answer_problem


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("yes", "Yes: dogs are welcome."),
        ("yes", "Dogs travel free."),
        ("yes", "You can, but not on Sundays."),
        ("yes", "可以，狗不用买票。"),
        ("yes", "没问题，带上证件就行。"),
        ("no", "No: you are nine, and the slide is for those over 12."),
        ("no", "Unfortunately not."),
        ("no", "The slide is only for those over 12."),
        ("no", "Dogs aren’t admitted."),
        ("no", "Students are exempt from the tax."),
        ("no", "不可以，九岁的孩子太小了。"),
        ("no", "未满十二岁的儿童谢绝入内。"),
        ("ask", "That depends on your age. How old are you?"),
        ("ask", "这要看年龄。您孩子几岁了？"),
        ("unknown", "I couldn't find that in your documents."),
        ("unknown", "资料里没有找到这一点。"),
    ],
)
def test_right_answers_pass(expected, text):
    assert answer_problem(expected, text) is None


@pytest.mark.parametrize(
    ("expected", "text", "problem"),
    [
        ("yes", "No, dogs stay outside.", "says no"),
        ("yes", "I could not find that in the documents.", "says that it does not know"),
        ("yes", "不行，狗不能进。", "says no"),
        ("yes", "Since you are nine, you cannot use the slide.", "says no"),
        ("no", "Yes, at the gate.", "says yes"),
        ("no", "可以，不用买票。", "says yes"),
        ("no", "The slide is 40 metres long.", "does not say no"),
        ("no", "I am not sure, but the slide is 40 metres long.", "does not say no"),
        ("no", "I don't know.", "says that it does not know"),
        ("ask", "It depends on your age.", "does not ask back"),
        ("ask", "I don't know. What else?", "says that it does not know"),
        ("unknown", "It costs 9 francs.", "answers, instead of saying that it does not know"),
    ],
)
def test_wrong_answers_are_named(expected, text, problem):
    assert answer_problem(expected, text) == problem
