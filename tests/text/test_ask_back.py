"""Answers to questions back: which turns resume a question, and as which statement."""

from __future__ import annotations

import pytest

from dragoman.core.values import Context
from dragoman.text.ask_back import DEPENDS, resumed, statement_of

ASKED = f"{DEPENDS['en']} on your age: films marked 16 are lent from 16 on. (Lending) How old are you?"


@pytest.mark.parametrize(
    ("asked", "answer", "statement"),
    [
        ("How old are you?", "15", "I am 15 years old."),
        ("How old are you?", "I'm 15", "I'm 15."),
        ("How old is Leo?", "seven", "Leo is seven years old."),
        ("How old is your son?", "7", "My son is 7 years old."),
        ("How tall are you?", "1.50 m", "I am 1.50 m tall."),
        ("Are you a member?", "yes", "I am a member."),
        ("Are you a member?", "No, not yet.", "I am not a member."),
        ("Do you have a student card?", "yes I do", "I have a student card."),
        ("Do you have a student card?", "no", "I do not have a student card."),
        ("Is your dog an assistance dog?", "yes", "My dog is an assistance dog."),
        ("How much does your dog weigh?", "12 kilos", "My dog weighs 12 kilos."),
        ("On which day do you come?", "on Friday", "I come on Friday."),
        ("你多大了？", "15", "我15岁。"),
        ("你是会员吗？", "是", "我是会员。"),
        ("你是会员吗？", "不是", "我不是会员。"),
        ("你有学生证吗？", "没有", "我没有学生证。"),
    ],
)
def test_answer_becomes_a_statement(asked, answer, statement):
    assert statement_of(asked, answer) == statement


def test_answer_resumes_the_question_before():
    again = resumed(Context.of("Can I borrow this film?", ASKED, "15"))
    assert again is not None
    assert again.question == "Can I borrow this film?"
    assert again.statement == "I am 15 years old."
    assert [turn.text for turn in again.turns] == ["Can I borrow this film?"]


@pytest.mark.parametrize("answer", ["When do you open?", "Thanks!", "Please forget my age."])
def test_other_turns_resume_nothing(answer):
    assert resumed(Context.of("Can I borrow this film?", ASKED, answer)) is None


def test_ordinary_reply_is_no_question_back():
    assert resumed(Context.of("Can I borrow this film?", "Films are lent for a week.", "15")) is None
