"""Labels by what was answered: the cosine of candidate and reply, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.train.relevance import by_reply
from dragoman.train.relevance.by_reply import ReplyLabels
from dragoman.train.relevance.candidate_pools import turn_to_label
from dragoman.train.relevance.methods import Unanswered

VECTORS = {
    "I could drink tea all day.": (1.0, 0.0),
    "I like tea.": (0.6, 0.8),
    "I live by the sea.": (-0.8, 0.6),
    "Tea is a drink.": (1.0, 0.0),
    "Tea grows on hills.": (0.8, -0.6),
    "The sea is salt.": (0.0, 1.0),
}


class Encoder:
    def __init__(self, weights):
        self.weights = weights

    def encode(self, texts):
        return np.array([VECTORS[text] for text in texts], dtype=np.float32)


@pytest.fixture
def toys(load_beside, monkeypatch):
    monkeypatch.setattr(by_reply, "OnnxEncoder", Encoder)
    return load_beside("relevance_toys")


def answered(toys, reply):
    turn = toys.turn()
    return replace(turn, gold=replace(turn.gold, reply=reply))


def test_a_label_is_the_cosine_of_candidate_and_reply(toys):
    pools = turn_to_label(answered(toys, "I could drink tea all day."), "all").pools
    persona, documents = ReplyLabels().judge(pools)
    assert persona == pytest.approx([0.6, 0.0])  # -0.8: what says something else is not relevant
    assert documents == pytest.approx([1.0, 0.8, 0.0])


@pytest.mark.parametrize("reply", [None, "", " "])
def test_a_turn_without_a_reply_cannot_be_judged(toys, reply):
    found = ReplyLabels().judge(turn_to_label(answered(toys, reply), "all").pools)
    assert found == [Unanswered("the turn has no reply")] * 2


def test_labels_are_of_the_turn_with_its_reply(toys):
    turns = [turn_to_label(answered(toys, reply), "all") for reply in ("I could drink tea all day.", "No.")]
    assert turns[0].sha256 != turns[1].sha256
