"""The joint scorer: one pass gives all heads, probabilities are probabilities, neighbours change nothing."""

from __future__ import annotations

import pytest

from dragoman.models.joint import JointScore, JointScorer, pair_text
from dragoman.models.part import shipped_parts

needs_part = pytest.mark.skipif("english-joint" not in shipped_parts(), reason="the part is not shipped")
QUESTION = "Can I visit the lantern room?"
PAIRS = [
    ("I use a wheelchair.", "The lighthouse: The lantern room is reached by 112 steps."),
    ("", "The lighthouse: The lantern room is reached by 112 steps."),
    ("I use a wheelchair.", "The café sells postcards."),
]


@pytest.fixture(scope="module")
def scorer():
    return JointScorer("english-joint", threads=1)


def test_a_fact_stands_beside_the_question():
    assert pair_text("Can I?", "") == "Can I?"
    assert pair_text("Can I?", "I am 9.") == "Can I? [SEP] I am 9."


def test_the_likeliest_verdict_is_named():
    assert JointScore(0.9, 0.9, 0.1, 0.7, 0.1, 0.1).verdict == "no"


@needs_part
def test_a_rule_with_the_fact_decides(scorer):
    told, untold, beside = scorer.score(QUESTION, PAIRS)
    assert told.answers > 0.5
    assert told.verdict == "no"
    assert told.bears > 0.5
    assert untold.bears == 0.0
    assert untold.verdict == "unknown"
    assert beside.answers < 0.5


@needs_part
def test_probabilities_sum_to_one(scorer):
    for score in scorer.score(QUESTION, PAIRS):
        assert score.yes + score.no + score.unknown + score.none == pytest.approx(1.0, abs=1e-4)
    for row in scorer.entails([("A dog runs in the park.", "An animal is outside.")]):
        assert sum(row) == pytest.approx(1.0, abs=1e-4)


@needs_part
def test_a_pair_does_not_depend_on_its_neighbours(scorer):
    alone = scorer.score(QUESTION, PAIRS[:1])[0]
    beside = scorer.score(QUESTION, PAIRS)[0]
    assert alone.answers == pytest.approx(beside.answers, abs=1e-3)
    assert alone.no == pytest.approx(beside.no, abs=1e-3)


@needs_part
def test_a_reply_needs_the_fact_that_matters(scorer):
    diet, stamps = scorer.needs("Can I eat the fish soup?", ["I am allergic to shellfish.", "I collect stamps."])
    assert diet > stamps


@needs_part
def test_nothing_to_score_is_no_error(scorer):
    assert scorer.score(QUESTION, []) == []
    assert scorer.needs(QUESTION, []) == []
    assert scorer.entails([]) == []
