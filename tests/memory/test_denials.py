"""Facts in the user's own words that deny one another: the newer one counts."""

import pytest

from dragoman.core.values import Fact
from dragoman.memory.reconcile import KnownFacts


def fact(text: str) -> Fact:
    return Fact(f"{text}.", "about", text, text, "user", "text", "")


@pytest.mark.parametrize(
    ("old", "new", "is_replaced"),
    [
        ("I have not done the course", "I have done the course now", True),
        ("I have done the course", "I have not done the course", True),
        ("I am not fond of cats", "I am fond of dogs", False),
        ("I have done the course", "I have done the test", False),
    ],
)
def test_a_sentence_replaces_its_denial(old: str, new: str, is_replaced: bool) -> None:
    assert bool(KnownFacts([(fact(old), 1)]).replaced(fact(new))) is is_replaced
