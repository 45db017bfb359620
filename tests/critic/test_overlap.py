"""The critic that needs no training."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.values import Evidence, Passage
from dragoman.critic import OverlapCritic
from dragoman.models.scripted import ScriptedEncoder
from dragoman.text.analyse import analyse

CRITIC = OverlapCritic(encoder=ScriptedEncoder(), analyse=analyse)
FERRY = Evidence(Passage("d", "DOCUMENTS", "The boat leaves at nine. A ticket costs 34 francs."), 0.9)


def score(text):
    return CRITIC.consistency([(FERRY, text)])[0]


def test_a_faithful_sentence_is_consistent():
    assert score("A ticket costs 34 francs.") > 0.8


@pytest.mark.parametrize(
    "text", ["A ticket costs 64 francs.", "A ticket does not cost 34 francs.", "Bananas grow in the south."]
)
def test_an_invented_number_a_denial_and_another_matter_are_not(text):
    assert score(text) < 0.5 < score("A ticket costs 34 francs.")


def test_no_pairs_give_no_scores():
    assert list(CRITIC.consistency([])) == []


def test_a_batch_equals_one_by_one():
    texts = ["A ticket costs 34 francs.", "The boat leaves at ten.", ""]
    assert list(CRITIC.consistency([(FERRY, text) for text in texts])) == pytest.approx([score(text) for text in texts])


@given(st.text(max_size=60))
def test_consistency_is_a_probability(text):
    assert 0.0 <= score(text) <= 1.0
