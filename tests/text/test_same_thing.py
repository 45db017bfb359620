"""The word "it" in a question that was asked before with the name of the thing."""

import pytest

from dragoman.core.values import Context, Turn
from dragoman.text.same_question import with_same_thing


@pytest.mark.parametrize(
    ("before", "turn", "whole"),
    [
        (
            "Can I borrow the rotavator?",
            "OK, I've done the course now. Can I borrow it?",
            "OK, I've done the course now. Can I borrow the rotavator?",
        ),
        ("May we use the big hall on Sundays?", "And may we use it on Sundays?", None),
        ("May we use the big hall on Sundays?", "May we use it on Mondays?", None),
        (
            "May we use the hall on Sundays?",
            "We are members. May we use it on Sundays?",
            "We are members. May we use the hall on Sundays?",
        ),
        ("Can I borrow the rotavator?", "Is it raining?", None),
        ("How much is it?", "Can I borrow it?", None),
    ],
)
def test_the_thing_is_taken_from_the_question_before(before: str, turn: str, whole: str | None) -> None:
    assert with_same_thing(Context(turns=(Turn("user", before), Turn("agent", "No."), Turn("user", turn)))) == whole
