"""Ages that a question supposes: "and when she is six?"."""

import pytest

from dragoman.decision.facts import supposed_facts
from dragoman.decision.relations import user_values, with_relations

FACTS = ["My daughter Ella is five.", "I'm 24."]


@pytest.mark.parametrize(
    ("question", "told", "supposed"),
    [
        ("Can Ella come when she is six?", FACTS[0], "my daughter ella is 6."),
        ("Can Ella come if she were 13?", FACTS[0], "my daughter ella is 13."),
        ("May my daughter come once she's seven?", FACTS[0], "my daughter ella is 7."),
        ("Is it free when I turn 60?", FACTS[1], "i'm 60."),
    ],
)
def test_supposed_age_replaces_what_was_told_of_the_same_person(question: str, told: str, supposed: str) -> None:
    assert supposed_facts(FACTS, question) == {told: supposed}


@pytest.mark.parametrize(
    "question", ["Can Ella come?", "Is it open when Ella comes at 5?", "Can Ella bring 6 friends?"]
)
def test_nothing_is_supposed_by_other_questions(question: str) -> None:
    assert supposed_facts(FACTS, question) == {}


def test_a_rule_is_compared_with_the_supposed_age_alone() -> None:
    compared = with_relations("For ages 6 to 12.", user_values(FACTS[:1], "Can Ella come when she is six?"))
    assert "5 is" not in compared
