"""The task over texts: batches that seed and epoch decide, losses as the recipe says, measures on dev."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import TrainingError
from dragoman.models.torch.trunk import load_trunk
from dragoman.train.loop.text_task import TextTask, positive_weight, shuffled
from dragoman.train.spec import BalanceSpec, Recipe

TEXTS = ["what is the price", "hello", "thanks a lot", "who are you", "what time is it now", "good"]
LABELS = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0]


def recipe(**tables):
    return Recipe.model_validate({"kind": "gate.encoder", "train": {"batch": 2}, **tables})


@pytest.fixture
def trunk(make_bert):
    return load_trunk(make_bert(), {"gate": 1, "plan": 2}, max_tokens=32, dropout=0.0)


def task(trunk, labels=LABELS, *, texts=TEXTS, head="gate", dev_labels=None, **given):
    model, tokens = trunk
    model.eval()
    settings = {"dev_texts": texts, "dev_labels": labels if dev_labels is None else dev_labels, "recipe": recipe()}
    return TextTask(model, tokens, texts, labels, head=head, **{**settings, **given})


def scores_of(trunk, texts, head):
    model, tokens = trunk
    with torch.no_grad():
        return model(tokens.rows(tokens.encode(texts)))[head]


def loss(made, rows):
    return float(made.loss(rows).detach())


def test_loss_is_the_mean_cross_entropy_of_the_rows(trunk):
    logits = scores_of(trunk, TEXTS[:3], "gate")[:, 0].tolist()
    each = [math.log1p(math.exp(-logit if label else logit)) for logit, label in zip(logits, LABELS, strict=False)]
    assert loss(task(trunk), [0, 1, 2]) == pytest.approx(sum(each) / 3, abs=1e-5)


def test_balanced_positives_count_as_much_as_negatives():
    labels = torch.tensor([1.0, 0.0, 0.0, 0.0])
    assert float(positive_weight(labels, BalanceSpec(weight="balanced"))) == pytest.approx(3.0)
    assert float(positive_weight(labels, BalanceSpec(weight=2.5))) == 2.5
    assert float(positive_weight(labels, BalanceSpec())) == 1.0


def test_balance_is_each_labels_own():
    labels = torch.tensor([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    assert positive_weight(labels, BalanceSpec(weight="balanced")).tolist() == pytest.approx([3.0, 1.0])


def test_label_that_is_never_true_weighs_one():
    assert float(positive_weight(torch.zeros(4), BalanceSpec(weight="balanced"))) == 1.0


def test_recipe_weights_reach_the_loss(trunk):
    plain, heavy = task(trunk), task(trunk, recipe=recipe(balance={"weight": 4.0}))
    assert loss(heavy, [0]) == pytest.approx(4 * loss(plain, [0]), rel=1e-5)
    assert loss(heavy, [1]) == pytest.approx(loss(plain, [1]), rel=1e-5)


def test_several_labels_are_learned_at_once(trunk):
    labels = [[1.0, 0.0]] * 6
    logits = scores_of(trunk, TEXTS[:1], "plan")[0].tolist()
    expected = (math.log1p(math.exp(-logits[0])) + math.log1p(math.exp(logits[1]))) / 2
    made = task(trunk, labels, head="plan", kind="multi")
    assert loss(made, [0]) == pytest.approx(expected, abs=1e-5)
    assert {"loss", "f1", "exact"} <= set(made.measure())


def test_own_measure_is_added(trunk):
    made = task(trunk, measure=lambda scores: {"rows": float(len(scores))})
    assert made.measure()["rows"] == 6.0
    assert "auc" in made.measure()


def test_measuring_leaves_training_mode_as_it_was(trunk):
    made = task(trunk)
    made.model.train()
    made.measure()
    assert made.model.training


def test_pairs_are_texts_too(trunk):
    pairs = [(text, "hello") for text in TEXTS]
    assert loss(task(trunk, texts=pairs), [0, 1]) > 0


@pytest.mark.parametrize(
    ("labels", "given", "words"),
    [
        ([1.0], {}, "do not fit"),
        ([2.0] * 6, {}, "not in"),
        ([[1.0]] * 6, {}, "do not fit"),
        (LABELS, {"weights": [1.0]}, "weights"),
        (LABELS, {"dev_texts": [], "dev_labels": []}, "no dev text"),
    ],
)
def test_labels_that_do_not_fit_are_refused(trunk, labels, given, words):
    with pytest.raises(TrainingError, match=words):
        task(trunk, labels, **given)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.integers(1, 9), st.integers(0, 3))
def test_every_row_is_in_one_batch_of_at_most_its_size(lengths, size, epoch):
    batches = shuffled(lengths, size, seed=1, epoch=epoch)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert all(len(batch) <= size for batch in batches)


def test_batches_are_the_same_for_an_epoch_and_others_for_the_next():
    lengths = list(range(50))
    first = shuffled(lengths, 4, seed=1, epoch=0)
    assert first == shuffled(lengths, 4, seed=1, epoch=0)
    assert first != shuffled(lengths, 4, seed=1, epoch=1)
    assert first != shuffled(lengths, 4, seed=2, epoch=0)


def test_rows_of_a_batch_have_nearly_one_length():
    lengths = [1 + row % 32 for row in range(256)]
    batches = shuffled(lengths, 8, seed=1, epoch=0)
    spread = [max(lengths[row] for row in batch) - min(lengths[row] for row in batch) for batch in batches]
    assert sum(spread) / len(spread) < 6
