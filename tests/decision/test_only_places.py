"""Rules that hold in one place only."""

import pytest

from dragoman.decision.cases.only_places import only_there

RULE = "Microwaves are allowed in rooms in Block B only."
QUESTION = "Can I put a microwave in my room?"


@pytest.mark.parametrize(
    ("facts", "question", "verdict"),
    [
        (["I live in block B."], QUESTION, "yes"),
        (["I live in Block C."], QUESTION, "no"),
        (["I live in Block B.", "I am in Block A now."], QUESTION, "no"),
        (["I live in Block C."], "Can I put a microwave in a room in Block B?", "yes"),
        ([], QUESTION, "unknown"),
    ],
)
def test_where_the_user_is_decides(facts, question, verdict):
    assert only_there(RULE, facts, question).verdict == verdict


def test_the_place_is_asked_for():
    assert only_there(RULE, [], QUESTION).ask == "Would that be in Block B?"


@pytest.mark.parametrize(
    ("rule", "question"),
    [
        (RULE, "Can I bring a bicycle?"),
        (RULE, "What does a microwave cost?"),
        ("Microwaves are allowed in all rooms.", QUESTION),
        ("The microwave stands in Block B only.", QUESTION),
    ],
)
def test_other_rules_and_questions_are_left_alone(rule, question):
    assert only_there(rule, ["I live in Block C."], question) is None
