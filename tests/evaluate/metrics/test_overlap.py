from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU
from tests.effort import lines_of

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.examples import Example, Gold
from dragoman.core.registry import metrics
from dragoman.core.trace import Reply, Trace
from dragoman.core.values import NULL_PLAN, Context, Verdict
from dragoman.evaluate.contract import Judged, Metric
from dragoman.evaluate.metrics.overlap import Bleu, Rouge, bleu, rouge

words = st.lists(st.sampled_from("the cat sat on a mat dog ran".split()), max_size=8).map(" ".join)
pairs = st.lists(st.tuples(words, words), min_size=1, max_size=6)


def judged(text, gold):
    reply = Reply(text, Verdict(False, 0.0), NULL_PLAN, (), Trace())
    return Judged(Example("e", Context.of("hi"), (), gold=Gold(reply=gold)), reply)


def turns_of(pairs):
    return [judged(reply, reference) for reply, reference in pairs]


def once(scores):
    return scores.values(np.ones((1, len(scores.counted))))[0]


def test_bleu_of_a_worked_example():
    # "the cat sat" for "the cat sat down": all 3 words and both pairs match, brevity exp(1 - 4/3)
    expected = 100 * math.exp(1 - 4 / 3)
    assert bleu(["the cat sat"], ["the cat sat down"], order=2) == pytest.approx(expected)
    # "the the cat" for "the cat": the second "the" is clipped, so 2/3; of the pairs (the the, the cat) one of two
    assert bleu(["the the cat"], ["the cat"], order=1) == pytest.approx(200 / 3)
    assert bleu(["the the cat"], ["the cat"], order=2) == pytest.approx(100 * math.sqrt(2 / 3 * 1 / 2))


def test_bleu_of_chinese_by_characters_and_by_words():
    # 我喜欢猫 / 我喜欢狗: three of four characters; of the words 我 喜欢 猫 two of three
    assert bleu(["我喜欢猫"], ["我喜欢狗"], order=1) == pytest.approx(75.0)
    assert bleu(["我喜欢猫"], ["我喜欢狗"], order=1, tokens="jieba") == pytest.approx(200 / 3)


@given(pairs, st.integers(1, 4), st.sampled_from(["none", "floor", "add-k", "exp"]))
def test_bleu_is_exactly_sacrebleus_for_every_order_and_smoothing(pairs, order, smooth):
    replies, references = (list(side) for side in zip(*pairs, strict=True))
    library = BLEU(max_ngram_order=order, smooth_method=smooth, tokenize="13a", force=True)
    scores = Bleu(order=order, smooth=smooth, tokens="13a").score(turns_of(pairs))
    if any(replies) or any(references):
        assert once(scores) == library.corpus_score(replies, [references]).score


@given(pairs, st.integers(0, 1000))
def test_a_draw_is_the_bleu_of_the_turns_drawn(pairs, seed):
    drawn = np.random.default_rng(seed).integers(0, len(pairs), len(pairs))
    weights = np.bincount(drawn, minlength=len(pairs)).astype(float)[None]
    replies, references = zip(*(pairs[row] for row in drawn), strict=True)
    value = Bleu(tokens="13a").score(turns_of(pairs)).values(weights)[0]
    if any(replies) or any(references):
        expected = BLEU(tokenize="13a", force=True).corpus_score(list(replies), [list(references)]).score
        assert value == pytest.approx(expected, rel=1e-9)


@given(pairs, st.sampled_from(["none", "floor", "add-k", "exp"]))
def test_a_turns_own_value_is_its_sentence_bleu(pairs, smooth):
    library = BLEU(effective_order=True, smooth_method=smooth, force=True)
    per_turn = Bleu(tokens="13a", smooth=smooth).score(turns_of(pairs)).per_turn
    expected = [library.sentence_score(reply, [gold]).score for reply, gold in pairs]
    assert per_turn.tolist() == pytest.approx(expected, rel=1e-9)


@given(pairs, st.sampled_from(["1", "2", "L"]))
def test_rouge_is_exactly_rouge_scores(pairs, part):
    scorer = RougeScorer([f"rouge{part}"])
    expected = [scorer.score(gold, reply)[f"rouge{part}"].fmeasure for reply, gold in pairs]
    scores = Rouge(part=part).score(turns_of(pairs))
    assert scores.per_turn.tolist() == pytest.approx(expected, rel=1e-9)
    assert once(scores) == pytest.approx(np.mean(expected))


def test_rouge_of_a_worked_example():
    # a b c d / a c d e: three words shared, one pair (c d) of three, longest sequence a c d
    for part, expected in (("1", 3 / 4), ("2", 1 / 3), ("L", 3 / 4)):
        assert rouge(["a b c d"], ["a c d e"], part=part) == pytest.approx([expected])


def test_rouge_reads_chinese_which_the_library_alone_does_not():
    assert RougeScorer(["rougeL"]).score("我喜欢猫", "我喜欢猫")["rougeL"].fmeasure == 0
    assert rouge(["我喜欢猫"], ["我喜欢狗"]) == pytest.approx([0.75])


@given(pairs)
def test_values_stay_within_their_bounds(pairs):
    for metric in (Bleu(), Bleu(order=1), Rouge(), Rouge(part="2")):
        low, high = metric.about.bounds
        value = once(metric.score(turns_of(pairs)))
        assert math.isnan(value) or low <= value <= high + 1e-9


def test_a_reply_that_is_the_gold_reply_is_worth_everything():
    pair = [("the cat sat on the mat", "the cat sat on the mat")]
    assert once(Bleu().score(turns_of(pair))) == pytest.approx(100)
    assert once(Rouge().score(turns_of(pair))) == 1


def test_empty_replies_count_as_nothing_and_are_not_dropped():
    pairs = [("the cat sat", "the cat sat"), ("", "a dog ran")]
    scores = Rouge().score(turns_of(pairs))
    assert scores.counted == [True, True]
    assert once(scores) == 0.5
    assert once(Bleu(order=1).score(turns_of(pairs))) == pytest.approx(100 * math.exp(1 - 6 / 3))
    assert Bleu(order=1).score(turns_of(pairs)).per_turn.tolist() == pytest.approx([100, 0])


def test_turns_without_a_gold_reply_do_not_count():
    turns = [judged("the cat", "the cat"), judged("a dog", None)]
    for metric in (Bleu(order=1), Rouge()):
        scores = metric.score(turns)
        assert list(scores.counted) == [True, False]
        assert math.isnan(scores.per_turn[1])
        assert once(scores) == pytest.approx(metric.about.bounds[1])
        assert math.isnan(scores.values(np.array([[0.0, 1.0]]))[0])


def test_replies_are_cut_to_so_many_characters():
    turns = [judged("我喜欢猫和狗和鸟", "我喜欢猫")]
    assert once(Rouge(cut=4).score(turns)) == 1
    assert once(Bleu(order=1, cut=4).score(turns)) == pytest.approx(100)
    assert once(Rouge().score(turns)) < 1


def test_the_tokens_that_were_used_are_told():
    assert Bleu().score([judged("x", "你好")]).details == {"tokens": "char"}
    assert Bleu().score([judged("你好", "hello")]).details == {"tokens": "13a"}
    assert Rouge(language="zh").score([judged("x", "hello")]).details == {"tokens": "char"}


@pytest.mark.parametrize(
    ("metric", "options"),
    [(Bleu, {"order": 5}), (Bleu, {"smooth": "some"}), (Bleu, {"cut": 0}), (Rouge, {"part": "3"}), (Rouge, {"cut": 0})],
)
def test_wrong_options_are_refused(metric, options):
    with pytest.raises(ConfigError):
        metric(**options)


def test_an_unknown_tokenisation_is_refused_before_anything_is_read():
    with pytest.raises(UnknownNameError):
        Bleu(tokens="words")


def test_both_are_metrics_found_by_name():
    for name in ("bleu", "rouge"):
        metric = metrics.factory(name)()
        assert isinstance(metric, Metric)
        assert metric.about.needs == {"reply"}


def test_a_thousand_draws_of_ten_thousand_turns_go_through_no_turn_one_by_one():
    turns = turns_of([("the cat sat", "the cat sat down")]) * 10_000
    scores = Bleu(order=2).score(turns)
    weights = np.ones((1000, len(turns)))
    assert len(scores.values(weights)) == 1000
    assert lines_of(lambda: scores.values(weights)) < 500_000
