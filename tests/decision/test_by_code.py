"""A sentence of a passage, decided by code."""

import pytest

from dragoman.core.values import Passage
from dragoman.decision.cases.by_code import RuleSentence, by_code, part_asked_for
from dragoman.text.analyse import Analyser

COURSES = "The first course is open to children between 7 and 12; the dinghy course to persons of 13 and over."


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("Am I old enough for the dinghy course?", "the dinghy course to persons of 13 and over."),
        ("Can I join?", COURSES),
        ("Is there a course?", COURSES),
    ],
)
def test_the_part_between_semicolons_that_a_question_names_is_decided(question, part):
    assert part_asked_for(question, COURSES) == part


def test_the_bound_of_another_part_refuses_nobody():
    rule = RuleSentence(COURSES, "", Passage("p", "DOCUMENTS", COURSES))
    assert by_code("May I do the dinghy course?", ["I am 14."], rule, Analyser(language="auto")).verdict != "no"


@pytest.mark.parametrize(
    "rule",
    ["We have no kosher kitchen.", "Kosher meals need to be ordered two days earlier.", "Kosher meals: tell us early."],
)
def test_a_diet_that_is_served_on_terms_is_not_simply_allowed(rule):
    sentence = RuleSentence(rule, "", Passage("p", "DOCUMENTS", rule))
    assert (
        by_code("Can you cook kosher meals for me?", ["I eat kosher."], sentence, Analyser(language="auto")).verdict
        != "yes"
    )
