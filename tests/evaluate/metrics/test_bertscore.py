from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dragoman.core.errors import ConfigError
from dragoman.core.examples import Example, Gold
from dragoman.core.trace import Reply, Trace
from dragoman.core.values import NULL_PLAN, Context, Verdict
from dragoman.evaluate.contract import Judged
from dragoman.evaluate.metrics.bertscore import BertScore, TokenEncoder, bertscore, greedy_match
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.scripted import ScriptedEncoder


class Scripted:
    """A vector for each word: a unit vector by name, others of their own direction."""

    known: ClassVar = {"a": (1.0, 0.0), "b": (0.0, 1.0), "near": (0.8, 0.6), "far": (-1.0, 0.0)}

    def __init__(self):
        self.asked = []

    def tokens(self, texts):
        self.asked.append(list(texts))
        return [np.array([self.known[w] for w in t.split()], dtype=np.float32).reshape(-1, 2) for t in texts]

    def pieces(self, texts):
        return [tuple(text.split()) for text in texts]


def judged(text, gold):
    reply = Reply(text, Verdict(False, 0.0), NULL_PLAN, (), Trace())
    return Judged(Example("e", Context.of("hi"), (), gold=Gold(reply=gold)), reply)


def test_a_worked_example():
    # reply "near", gold "a b": best for near is a (.8), best for a is .8, for b .6
    precision, recall, f1 = bertscore(["near"], ["a b"], encoder=Scripted())[0]
    assert (precision, recall) == (pytest.approx(0.8), pytest.approx(0.7))
    assert f1 == pytest.approx(2 * 0.8 * 0.7 / 1.5)


def test_rare_words_of_the_references_weigh_more():
    # a stands in both of two references, b in one: idf log(3/3) = 0 and log(3/2); near is in none: log(3)
    precision, recall, _ = bertscore(["near a", "a"], ["a b", "a"], encoder=Scripted(), idf=True)[0]
    assert recall == pytest.approx(0.6)  # b alone has weight, and near is its best
    assert precision == pytest.approx(0.8)  # near alone has weight
    assert bertscore(["a", "a"], ["a b", "a"], encoder=Scripted(), idf=True)[1] == (1.0, 1.0, 1.0)


vectors = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 5), st.just(3)),
    elements=st.floats(-1, 1, width=32).filter(lambda x: abs(x) > 1e-3),
).map(lambda rows: rows / np.linalg.norm(rows, axis=1, keepdims=True))


@given(vectors, vectors, st.data())
def test_matching_equals_a_plain_loop(reply, reference, data):
    weight = st.floats(0.1, 5)
    ours = data.draw(st.lists(weight, min_size=len(reply), max_size=len(reply)))
    theirs = data.draw(st.lists(weight, min_size=len(reference), max_size=len(reference)))

    def best(one, others):
        return max(sum(float(x) * float(y) for x, y in zip(one, other, strict=True)) for other in others)

    precision = sum(w * best(row, reference) for w, row in zip(ours, reply, strict=True)) / sum(ours)
    recall = sum(w * best(row, reply) for w, row in zip(theirs, reference, strict=True)) / sum(theirs)
    found = greedy_match(reply, reference, ours, theirs)
    assert found[:2] == (pytest.approx(precision, abs=1e-5), pytest.approx(recall, abs=1e-5))
    if precision > 1e-3 and recall > 1e-3:
        assert found[2] == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-4)


@given(vectors, vectors)
def test_values_are_bounded_and_turn_round_with_the_texts(one, two):
    precision, recall, f1 = greedy_match(one, two)
    assert -1 <= precision <= 1
    assert -1 <= recall <= 1
    assert 0 <= f1 <= 1
    assert greedy_match(two, one) == (pytest.approx(recall), pytest.approx(precision), pytest.approx(f1))


def test_a_text_is_its_own_best_match():
    assert bertscore(["a near b"], ["a near b"], encoder=Scripted())[0] == pytest.approx((1, 1, 1))


def test_an_empty_reply_and_an_opposite_one_are_worth_nothing():
    assert bertscore(["", "far"], ["a", "a"], encoder=Scripted()) == [(0, 0, 0), (-1, -1, 0)]


def test_the_metric_is_the_mean_of_its_part_over_turns_with_a_gold_reply():
    turns = [judged("near", "a b"), judged("a", None), judged("", "a")]
    for part, expected in (("precision", 0.4), ("recall", 0.35), ("f1", 0.8 * 0.7 / 1.5)):
        scores = BertScore(encoder=Scripted(), part=part).score(turns)
        assert list(scores.counted) == [True, False, True]
        assert scores.values(np.ones((1, 3)))[0] == pytest.approx(expected)


def test_a_text_that_comes_again_is_read_once():
    encoder = Scripted()
    bertscore(["a", "a"], ["b", "b"], encoder=encoder)
    assert encoder.asked == [["a", "b"]]


def test_what_cannot_be_used_is_refused():
    with pytest.raises(ConfigError, match="no vectors of tokens"):
        BertScore(encoder=ScriptedEncoder())
    with pytest.raises(ConfigError, match="part"):
        BertScore(encoder=Scripted(), part="f2")


def test_without_an_encoder_it_describes_itself_and_scores_nothing():
    metric = BertScore(encoder=None)
    assert metric.about.title == "BERTScore F1"
    with pytest.raises(ConfigError, match="no encoder"):
        metric.score([judged("a", "a")])


@pytest.mark.integration
def test_with_real_weights_a_paraphrase_is_nearer_than_another_matter():
    encoder = OnnxEncoder()
    assert isinstance(encoder, TokenEncoder)
    gold = "The ferry leaves at nine in the morning."
    said = [gold, "The boat departs at 9 a.m.", "My cat likes to sleep on the sofa.", ""]
    same, paraphrase, other, empty = (f1 for _, _, f1 in bertscore(said, [gold] * 4, encoder=encoder))
    assert same == pytest.approx(1, abs=1e-3)
    assert other + 0.1 < paraphrase < same
    assert empty == 0
    assert not math.isnan(other)


@pytest.mark.integration
def test_token_vectors_pool_to_the_sentences_vector():
    encoder = OnnxEncoder(cache=0)
    texts = ["one two three", "", "unbelievable " * 20]
    states, pieces = encoder.tokens(texts), encoder.pieces(texts)
    assert [len(rows) for rows in states] == [len(names) for names in pieces]
    assert pieces[0] == ("one", "two", "three")
    assert states[1].shape == (0, encoder.dimensions)
    assert np.allclose(np.linalg.norm(states[2], axis=1), 1, atol=1e-4)
    assert float(states[0].mean(axis=0) @ encoder.encode(texts[:1])[0]) > 0.5
