"""Which of two values of a sentence is the user's."""

import pytest

from dragoman.decision.cases.alternatives import alternative
from dragoman.decision.questions import stemmed

BEDS = "You may keep at most eight beds on a full plot and four on a half plot."
HIRE = "A boat costs £12 for members and £18 for guests."
FULL, HALF = "I have a full plot.", "I have a half plot."
PULLED = "A tooth of mine was pulled."
DENTIST = "Dentist: 24 hours after cleaning or a filling, 7 days after a tooth was pulled."


def analyse(text):
    return tuple(stemmed(text))


@pytest.mark.parametrize(
    ("sentence", "facts", "question", "text", "fact"),
    [
        (BEDS, ["I have a half plot."], "How many beds may I keep?", "Four on a half plot", "I have a half plot."),
        (BEDS, ["I have a full plot."], "How many?", "Eight beds on a full plot", "I have a full plot."),
        (BEDS, [FULL, HALF], "How many?", "Four on a half plot", HALF),
        (BEDS, [], "How many beds on a full plot?", "Eight beds on a full plot", ""),
        (HIRE, ["I am a member."], "What does a boat cost?", "£12 for members", "I am a member."),
        (DENTIST, [PULLED], "How long?", "7 days after a tooth was pulled", PULLED),
    ],
)  # fmt: skip
def test_the_value_of_the_users_group_is_said(sentence, facts, question, text, fact):
    own = alternative(sentence, facts, question, analyse)
    assert own is not None
    assert (own.text, own.fact, own.ask) == (text, fact, "")


def test_of_two_kinds_of_one_thing_it_is_asked_which():
    own = alternative(BEDS, ["I grow leeks."], "How many beds may I keep?", analyse)
    assert own is not None
    assert own.ask == "Is yours a full plot or a half plot?"


@pytest.mark.parametrize(
    ("sentence", "facts"),
    [
        (HIRE, ["I am not a member."]),  # who is no member need not be a guest
        (HIRE, []),
        ("The hall has eight rooms and four baths.", ["I have a half plot."]),
        ("Boats cost £12.", ["I am a member."]),
    ],
)
def test_nothing_is_chosen_without_a_group(sentence, facts):
    assert alternative(sentence, facts, "What does it cost?", analyse) is None
