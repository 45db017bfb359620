"""Learning an answer: the loss by hand, batches, scores, and that something is learned."""

from __future__ import annotations

import math

import pytest

from dragoman.core.errors import TrainingError
from dragoman.core.values import Prompt
from dragoman.train.spec import Recipe

torch = pytest.importorskip("torch")

WORDS = ("True", "False")


def recipe(**tables):
    return Recipe.model_validate({"kind": "gate.tuned", "train": {"batch": 4, "rate": 0.02}, **tables})


def task(folder, texts, labels, *, over="vocabulary", **tables):
    from dragoman.models.torch.causal_lm import load_causal
    from dragoman.models.torch.lora import LoraSpec, add_adapter
    from dragoman.train.gates.answer_task import AnswerTask

    causal = add_adapter(load_causal(folder), LoraSpec(rank=4, alpha=16, dropout=0.0), seed=1)
    rows = [causal.encode(Prompt.user(text).messages, 300) for text in texts]
    return AnswerTask(
        causal, rows, labels, dev_rows=rows, dev_labels=labels, options=WORDS, recipe=recipe(**tables), over=over
    )


TEXTS = [f"{'boat' if n % 2 else 'hello'} {'the ' * (n % 5)}?" for n in range(12)]
LABELS = [float(n % 2 == 0) for n in range(12)]


def test_the_loss_is_that_of_the_right_word_in_the_whole_vocabulary():
    """By hand: of three words with odds 1 : 2 : 1, word 1 has 1/2 and word 2 has 1/4."""
    from dragoman.train.gates.answer_task import answer_loss

    logits = torch.tensor([[0.0, math.log(2), 0.0], [0.0, math.log(2), 0.0]])
    targets = torch.tensor([1.0, 0.0])
    assert float(answer_loss(logits, targets, (1, 2))) == pytest.approx((math.log(2) + math.log(4)) / 2)
    weighted = (3 * math.log(2) + math.log(4)) / 2
    assert float(answer_loss(logits, targets, (1, 2), positive=3.0)) == pytest.approx(weighted)
    focal = (0.5**2 * math.log(2) + 0.75**2 * math.log(4)) / 2
    assert float(answer_loss(logits, targets, (1, 2), focal=2.0)) == pytest.approx(focal)


def test_the_loss_equals_cross_entropy_at_the_answer_token(tiny_causal):
    made = task(tiny_causal, TEXTS, LABELS)
    made.model.eval()
    batch = [0, 3, 5]
    alone = []
    for row in batch:
        tokens = made.causal.encode(Prompt.user(TEXTS[row]).messages, 300)
        logits = made.causal.model(input_ids=torch.tensor([tokens])).logits[0, -1]
        right = made.causal.answers(WORDS)[WORDS[0 if LABELS[row] else 1]][0]
        alone.append(float(torch.nn.functional.cross_entropy(logits.detach(), torch.tensor(right))))
    assert made.loss(batch).item() == pytest.approx(sum(alone) / 3, abs=1e-5)


def test_balanced_classes_weigh_a_positive_as_negatives_over_positives(tiny_causal):
    labels = [1.0, *[0.0] * 11]
    plain, balanced = (task(tiny_causal, TEXTS, labels, balance={"weight": weight}) for weight in ("none", "balanced"))
    for made in (plain, balanced):
        made.model.eval()
    assert balanced.loss([0]).item() == pytest.approx(11 * plain.loss([0]).item(), rel=1e-5)
    assert balanced.loss([1]).item() == pytest.approx(plain.loss([1]).item(), rel=1e-5)


def test_batches_hold_every_row_once_and_hang_on_seed_and_epoch_alone(tiny_causal):
    made = task(tiny_causal, TEXTS, LABELS)
    assert sorted(row for batch in made.batches(0) for row in batch) == list(range(12))
    assert made.batches(3) == task(tiny_causal, TEXTS, LABELS).batches(3)
    assert made.batches(0) != made.batches(1)


def test_scores_are_log_odds_and_do_not_depend_on_the_batch(tiny_causal):
    made = task(tiny_causal, TEXTS, LABELS)
    rows = [made.causal.encode(Prompt.user(text).messages, 300) for text in TEXTS]
    together = made.scores(rows)
    alone = torch.cat([made.scores([row]) for row in rows])
    assert torch.allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("over", ["vocabulary", "options"])
def test_the_right_words_are_learned(tiny_causal, over):
    made = task(tiny_causal, TEXTS, LABELS, over=over)
    rows = list(range(len(TEXTS)))
    before = made.loss(rows).item()
    optimiser = torch.optim.AdamW([p for p in made.model.parameters() if p.requires_grad], lr=0.02)
    made.model.train()
    for epoch in range(10):
        for batch in made.batches(epoch):
            made.loss(batch).backward()
            optimiser.step()
            optimiser.zero_grad()
    assert made.loss(rows).item() < 0.6 * before


def test_options_that_begin_alike_are_refused(tiny_causal):
    from dragoman.models.torch.causal_lm import load_causal
    from dragoman.train.gates.answer_task import answer_tokens

    with pytest.raises(TrainingError, match="begin alike"):
        answer_tokens(load_causal(tiny_causal), ("zqx1", "zqx2"))
