import pytest

from dragoman.core.values import Context, Turn
from dragoman.text.same_question import (
    about_another,
    after_correction,
    with_another_thing,
    with_another_value,
    with_condition,
)


def dialogue(*texts: str) -> Context:
    speakers = ("user", "agent")
    return Context(tuple(Turn(speakers[i % 2], text) for i, text in enumerate(texts)))


@pytest.mark.parametrize(
    ("question", "turn", "whole"),
    [
        ("Can Ana use the sauna?", "And Max?", "Can Max use the sauna?"),
        ("Do I need a life vest?", "what about my son?", "Does my son need a life vest?"),
        ("What do I pay for a day?", "And my wife Ana?", "What does my wife Ana pay for a day?"),
        ("Does my dog need a ticket?", "and me?", "Do I need a ticket?"),
        ("Am I allowed in?", "Max too?", "Is Max allowed in?"),
        ("What would breakfast cost for Max?", "and for me?", "What would breakfast cost for me?"),
        ("I'm coeliac. Can I have the soup?", "And Ana?", "Can Ana have the soup?"),
        ("Which course would suit Max?", "and Ana?", "Which course would suit Ana?"),
        (
            "Is there a room that suits my wife on Monday?",
            "and my son?",
            "Is there a room that suits my son on Monday?",
        ),
        ("Can I use the sauna?", "and could Max?", "Can Max use the sauna?"),
    ],
)
def test_a_turn_that_only_names_somebody_asks_the_question_before_about_them(question, turn, whole):
    context = dialogue("My wife Ana and my son Max come along.", "Noted.", question, "Yes.", turn)
    assert about_another(context, list) == whole


@pytest.mark.parametrize("turn", ["And breakfast?", "And Lisbon?", "What about Sundays?", "And the soup?", "Why?"])
def test_a_turn_that_names_a_topic_is_left_as_it_is(turn):
    assert about_another(dialogue("Can I use the sauna?", "Yes.", turn), list) is None


def test_a_known_name_of_memory_counts():
    context = dialogue("Can I use the sauna?", "Yes.", "And Max?")
    assert about_another(context, lambda: ["My child Max is 3."]) == "Can Max use the sauna?"


def test_a_chain_goes_back_to_the_whole_question():
    context = dialogue("Can Ana come, or my son Max?", "Yes.", "And Max?", "No.", "And me?")
    assert about_another(context, list) == "Can I come, or my son Max?"


def test_a_correction_of_the_fact_that_decided_answers_the_question_again():
    context = dialogue("Can she go alone?", "No. You told me that your daughter is 14.", "No wait, she turned 16.")
    again = after_correction(context, ["My daughter is 14."])
    assert again is not None and again.question == "Can she go alone?"
    assert after_correction(context, ["My dog is 3."]) is None


def test_a_correction_repeats_no_list_of_what_is_known():
    context = dialogue("What do you know about me?", "You told me: your daughter is 14.", "She is 15 now.")
    assert after_correction(context, ["My daughter is 14."]) is None


@pytest.mark.parametrize(
    ("question", "turn", "whole"),
    [
        ("May Rex run free?", "ok, and when he is seven months?", "May Rex run free when he is seven months?"),
        ("Can I swim if I have a cold?", "and if I'm well again?", "Can I swim if I'm well again?"),
        ("What does it cost?", "And if we are four?", "What does it cost if we are four?"),
        ("I have a cat. Can she stay?", "but what if she's quiet?", "Can she stay if she's quiet?"),
    ],
)  # fmt: skip
def test_a_turn_that_only_names_a_condition_asks_the_question_before_under_it(question, turn, whole):
    assert with_condition(dialogue(question, "No.", turn)) == whole


@pytest.mark.parametrize(
    "turn", ["What if my dog is ill?", "When is it open?", "When we can come?", "If I come late, who lets me in?"]
)
def test_a_question_of_its_own_takes_nothing_from_the_one_before(turn):
    assert with_condition(dialogue("When does it open?", "At nine.", turn)) is None


def test_what_is_said_of_somebody_else_stands_behind_their_name():
    context = dialogue("Can Ana use the sauna?", "Yes.", "and my flatmate, she's only 14")
    assert about_another(context, list) == "Can my flatmate use the sauna?"


@pytest.mark.parametrize(
    ("question", "turn", "whole"),
    [
        ("What would a parking space cost me?", "And the garage?", "What would the garage cost me?"),
        ("When does breakfast start?", "and dinner?", "When does dinner start?"),
        ("Is there parking at the hotel?", "What about wifi?", "Is there wifi at the hotel?"),
        (
            "How much is the day ticket for children?",
            "and the season ticket?",
            "How much is the season ticket for children?",
        ),
        ("When is form C due?", "And form A?", "When is form A due?"),
        ("How much is it for students?", "and for children?", "How much is it for children?"),
        ("What does a bag cost online?", "And at the airport?", "What does a bag cost online at the airport?"),
    ],
)
def test_a_turn_that_only_names_a_thing_asks_the_question_before_about_it(question, turn, whole):
    assert with_another_thing(dialogue(question, "So and so.", turn)) == whole


@pytest.mark.parametrize(
    ("question", "turn"),
    [
        ("What does it cost?", "And the Flex fare?"),  # nothing of the question gives way
        ("Can the dog and the cat come?", "And the horse?"),  # which of the two?
        ("Can I use the sauna?", "And Lisbon?"),
        ("Can I use the sauna?", "And is the pool warm?"),
        ("I live in Bern.", "And the garage?"),
        ("Can I use the sauna?", "The pool is warm."),
    ],
)
def test_a_thing_that_replaces_nothing_clearly_asks_anew(question, turn):
    assert with_another_thing(dialogue(question, "So and so.", turn)) is None


def test_each_of_several_values_replaces_one_of_its_kind():
    asked = dialogue("When does the last boat leave on a Sunday in August?", "At 20:40.", "And on a Monday in January?")
    assert with_another_value(asked) == "When does the last boat leave on a Monday in January?"
