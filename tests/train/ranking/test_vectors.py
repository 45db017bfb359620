"""Scores of a bi-encoder's questions by hand, in two dimensions."""

from __future__ import annotations

import math

import pytest
import torch

from dragoman.retriever.repetition_penalty import RepetitionPenalty
from dragoman.train.ranking.pairs import RankingPairs, RankingQuestion
from dragoman.train.ranking.vectors import PairVectors

PLANE = {
    "east": (1.0, 0.0),
    "north": (0.0, 1.0),
    "north-east": (math.sqrt(0.5), math.sqrt(0.5)),
    "mostly east": (0.8, 0.6),
    "mostly north": (0.6, 0.8),
}
TEXTS = ("east", "mostly east", "north")


def read(texts):
    return torch.tensor([PLANE[text] for text in texts])


def question(*, gold, source="NOTES", said=None, replied=()):
    return RankingQuestion("q", source, said or {"last": "east"}, "", frozenset(gold), (0, 1, 2), (0, 1, 2), replied)


def vectors(*questions, said=None, shares=None):
    return PairVectors.of(RankingPairs(questions, TEXTS), read, shares or {}, said or {})


def test_without_replies_a_score_is_the_cosine():
    assert vectors(question(gold=[0])).scores(0, (0, 1, 2)).tolist() == pytest.approx([1.0, 0.8, 0.0])


def test_parts_of_a_query_weigh_their_shares():
    mixed = vectors(
        question(gold=[0], said={"last": "east", "history": "north"}), shares={"last": 0.75, "history": 0.75}
    )
    assert mixed.queries[0].tolist() == pytest.approx(PLANE["north-east"])


def test_what_the_nearest_reply_has_said_is_taken_off():
    """Replies "east" and "mostly north": nearest to the texts by 1, max(0.8, 0.96) and max(0, 0.8)."""
    told = question(gold=[1], replied=("east", "mostly north"))
    found = vectors(told, said={"NOTES": RepetitionPenalty(0.5, 0.9)}).scores(0, (0, 1, 2)).tolist()
    assert found == pytest.approx([1.0 - 0.5 * 0.1, 0.8 - 0.5 * 0.06, 0.0])


def test_another_source_loses_nothing():
    told = question(gold=[1], replied=("east",), source="PERSONA")
    assert vectors(told, said={"NOTES": RepetitionPenalty(0.5, 0.9)}).scores(0, (0, 1)).tolist() == pytest.approx(
        [1.0, 0.8]
    )


def test_measures_and_loss_follow_the_scores():
    told = question(gold=[1], replied=("east",))
    plain, learned = vectors(told), vectors(told, said={"NOTES": RepetitionPenalty(4.0, 0.85)})
    assert plain.measured()["hit@1"] == 0.0 and learned.measured()["hit@1/NOTES"] == 1.0
    scores = [1.0 - 4.0 * 0.15, 0.8, 0.0]
    by_hand = math.log(sum(math.exp(2 * score) for score in scores)) - 2 * 0.8
    assert learned.loss(2.0) == pytest.approx(by_hand)
    assert learned.loss(2.0) < plain.loss(2.0)
