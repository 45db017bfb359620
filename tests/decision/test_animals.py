"""Animals with names: rules for children are not about them, and rules for their kind are."""

import pytest

from dragoman.decision.applies import applies
from dragoman.decision.subjects import people

CHILDREN = "Children under 10 may not be on the site without an adult."
NAMED = [
    "Our beagle Monty comes along.",
    "My dog is called Monty.",
    "My dog's name is Monty.",
    "I have a dog named Monty.",
]


@pytest.mark.parametrize("fact", NAMED)
def test_a_named_animal_is_of_its_kind(fact: str) -> None:
    assert people([fact]).names["monty"] in {"beagle", "dog"}
    assert applies("Dogs are not allowed.", [fact], "Can I bring Monty?").verdict == "no"


@pytest.mark.parametrize("fact", NAMED)
def test_nobody_asks_how_old_an_animal_is_by_a_rule_for_children(fact: str) -> None:
    assert applies(CHILDREN, [fact], "Can I bring Monty?").verdict == "none"


def test_a_rule_for_children_still_asks_about_a_child() -> None:
    assert applies(CHILDREN, ["My son is called Tim."], "Can Tim come alone?").ask
