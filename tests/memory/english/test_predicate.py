from __future__ import annotations

import pytest

from dragoman.memory.english.predicate import Predicate, predicate


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("live in Graz", Predicate("live", "in Graz")),
        ("am travelling with a dog", Predicate("travel", "with a dog", passing=True)),
        ("do not eat pork", Predicate("eat", "pork", negated=True)),
        ("can not climb stairs", Predicate("climb", "stairs", negated=True, ability=True)),
        ("have no car", Predicate("have", "car", negated=True)),
        ("no longer live in Graz", Predicate("live", "in Graz", negated=True, ended=True)),
        ("am not a student any more", Predicate("be", "a student", negated=True, ended=True)),
        ("will arrive on Sunday", Predicate("arrive", "on Sunday", planned=True)),
        ("moved to Porto", Predicate("move", "to Porto", past=True)),
        ("stopped eating meat", Predicate("eat", "meat", negated=True, ended=True)),
        ("sing in a choir", Predicate("sing", "in a choir")),
    ],
)
def test_a_predicate_is_a_verb_its_mood_and_the_words_after_it(text, read):
    assert predicate(text) == read


@pytest.mark.parametrize(
    "text", ["would like tea", "used to live in Rome", "have never seen it", "did not see it", "ate fish"]
)
def test_what_is_unreal_or_over_is_no_predicate(text):
    assert predicate(text) is None
