"""Answers to questions back: which turns resume a question, and as which statement."""

from __future__ import annotations

import pytest

from dragoman.core.values import Context, Turn
from dragoman.text.ask_back import APPLIES, DEPENDS, is_askable, resumed, said_to_apply, statement_of, supplied

ASKED = f"{DEPENDS['en']} on your age: films marked 16 are lent from 16 on. (Lending) How old are you?"


@pytest.mark.parametrize(
    ("asked", "answer", "statement"),
    [
        ("How old are you?", "15", "I am 15 years old."),
        ("Is yours a full plot or a half plot?", "a half one", "I have a half plot."),
        ("Would that be in Block B?", "B", "I am in Block B."),
        ("Would that be in Block B?", "no, C", "I am in Block C."),
        ("Would that be in Block B?", "yes", "I am in Block B."),
        ("Would that be in Block B?", "no", "I am not in Block B."),
        ("You were ill: how long ago was that?", "the last day was three weeks ago", "I was ill three weeks ago."),
        ("You lost your card: how long ago was that?", "2 days", "I lost my card 2 days ago."),
        ("You got a tattoo: how long ago was that?", "last month", "I got a tattoo last month."),
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
        ("How old is Leo?", "he's 6", "Leo is 6."),
        ("How old is your son?", "just turned 9", "My son is 9 years old."),
        ("How old is Bella?", "8 months", "Bella is 8 months old."),
        ("How tall are you?", "120", "I am 120 cm tall."),
        ("How much does your dog weigh?", "12", "My dog weighs 12 kg."),
        ("How many people?", "5", "We are 5 people."),
        ("On which day?", "Sunday", "I come on Sunday."),
        ("At what time?", "3 pm", "I come at 3 pm."),
        ("Are you a member?", "since 2019", "I am a member since 2019."),
        ("Are you a member?", "yes, since 2019", "I am a member since 2019."),
        ("Are you a member?", "no, a visitor", "I am not a member. I am a visitor."),
        ("Are you a member?", "not any more", "I am no longer a member."),
        ("Are you a resident?", "no, I live in Hull", "I am not a resident. I live in Hull."),
        ("Will an adult come along?", "yes", "I come with an adult."),
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


@pytest.mark.parametrize("answer", ["I don't know", "not sure", "I'd rather not say", "maybe"])
def test_an_answer_that_knows_nothing_resumes_nothing(answer):
    assert resumed(Context.of("Can I borrow this film?", ASKED, answer)) is None
    asked = f"{DEPENDS['en']}: members borrow films. (Lending) Are you a member?"
    assert resumed(Context.of("Can I borrow this film?", asked, answer)) is None


def test_a_number_for_an_open_question_resumes_it():
    quoted = "I don't know for certain. The closest I found: Children under eight may enter only with an adult."
    again = supplied(Context.of("Can my son Leo go in alone?", quoted, "he is 6"))
    assert again is not None and [turn.text for turn in again.turns] == ["Can my son Leo go in alone?"]
    assert supplied(Context.of("Can my son Leo go in alone?", quoted, "he is clever")) is None
    assert supplied(Context.of("Can my son Leo go in alone?", "No. He is too small.", "he is 6")) is None
    assert supplied(Context.of("When do you open?", quoted, "I am 6")) is None


@pytest.mark.parametrize(
    ("asked", "question", "askable"),
    [
        ("How old are you?", "Can I borrow this film?", True),
        ("How old is your son?", "Can my son join?", True),
        ("How old is Leo?", "Can Leo join?", True),
        ("How old is Mia?", "Can my niece Mia join?", True),
        ("How old is Bertha?", "Can I see Bertha?", False),
        ("How old is On?", "Is it open on Sunday?", False),
        ("How old is your dog?", "Can I swim?", False),
        ("How many people?", "Do we get the group price?", True),
    ],
)
def test_a_question_back_asks_about_the_user_and_theirs(asked, question, askable):
    documents = "The elephant Bertha is open to visitors."
    assert is_askable(asked, question=question, people=["Leo"], documents=documents) is askable


@pytest.mark.parametrize(
    ("answer", "statement", "applies"),
    [
        ("yes", "That applies to me.", True),
        ("yeah he's on a lead", "That applies to me. He's on a lead.", True),
        ("no", "That does not apply to me.", False),
    ],
)
def test_whether_a_rule_applies_is_said_once(answer, statement, applies):
    assert statement_of(APPLIES["en"], answer) == statement
    turns = (Turn("user", "May he come in?"), Turn("user", statement), Turn("user", "May he come in?"))
    assert said_to_apply(Context(turns)) is applies


def test_a_new_question_answers_no_question_back():
    turns = ("Can he come in?", f"{DEPENDS['en']}: dogs on a lead may. {APPLIES['en']}", "wots the last boat on sat")
    assert resumed(Context.of(*turns)) is None
