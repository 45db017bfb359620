"""The task of a unified model: what is learned in one packed pass is what each line alone would teach."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from dragoman.core.errors import TrainingError
from dragoman.core.tokens import EVALUATION
from dragoman.models.torch.causal_lm import Causal
from dragoman.models.unified.model import CandidatePassage, Judging
from dragoman.models.unified.torch_model import LoadedUnified, TorchUnified
from dragoman.train.unified.sequences import Sequences
from dragoman.train.unified.task import TaskSettings, UnifiedTask, token_batches
from dragoman.train.unified.training_trees import DrawOptions

from ..lettered import CANDIDATES, example, orders, turns


@pytest.fixture(scope="module")
def model():
    from transformers import LlamaConfig, LlamaForCausalLM

    with torch.random.fork_rng():
        torch.manual_seed(2)
        sizes = {"vocab_size": 240, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
        heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.3}
        return LlamaForCausalLM(LlamaConfig(**sizes, **heads, tie_word_embeddings=True)).eval().requires_grad_(False)


EXAMPLES = (
    example(),
    example(plan=(), evidence=(), reply="no", name="t2", said="hello there"),
    example(plan=("P",), evidence=("p2",), reply="yes", name="t3"),
)


def task(model, layout="tree", style="unims", examples=EXAMPLES, drawing=None, **settings):
    made = turns(layout, style)
    sequences = Sequences(made, DrawOptions(**{"distractors": 1, **(drawing or {})}), orders=orders)
    tokenizer = SimpleNamespace(eos_token_id=0, chat_template=None)
    given = TaskSettings(**settings)
    return UnifiedTask(Causal(model, tokenizer), made, sequences, examples, dev=examples, settings=given)


def line_logits(model, lesson, place):
    """The logits at a place as a plain line would give them: its ancestors, then its own segment up to there."""
    segments, tokens = lesson.segments, []
    at = place.segment
    tokens = list(segments[at].tokens[: place.offset + 1])
    while (at := segments[at].parent) is not None:
        tokens = [*segments[at].tokens, *tokens]
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0, -1]


@pytest.mark.parametrize("layout", ["tree", "plain"])
def test_the_losses_are_those_of_each_line_alone(model, layout):
    made = task(model, layout)
    lesson = made._sequences.tree(EXAMPLES[0], 0)
    found = {kind: float(loss) for kind, loss in made.losses([0]).items()}
    ids = [made._turns.spelling.one(token) for token in EVALUATION]
    for kind in ("plan", "similarity", "response"):
        costs = []
        for place in (one for one in lesson.places if one.kind == kind):
            logits = line_logits(model, lesson, place)
            target = ids[round(place.value * 10)] if kind == "similarity" else place.target
            costs.append(float(cross_entropy(logits, torch.tensor(target))))
        assert found[kind] == pytest.approx(sum(costs) / len(costs), abs=1e-4)


def test_lists_are_compared_by_both_ends_of_the_scale(model):
    made = task(model)
    lesson = made._sequences.tree(EXAMPLES[0], 0)
    zero, one = (made._turns.spelling.one(EVALUATION[i]) for i in (0, 10))
    costs = []
    for group in lesson.groups:
        logits = torch.stack([line_logits(model, lesson, lesson.places[place]) for place in group.places])
        scores = logits[:, one] - logits[:, zero]
        costs.append(float(cross_entropy(scores, torch.tensor(group.gold.index(True)))))
    assert len(costs) == 2
    assert float(made.losses([0])["listwise"]) == pytest.approx(sum(costs) / 2, abs=1e-4)


def test_among_options_a_choice_is_made_between_them_alone(model):
    made = task(model, over="options", drawing={"closed": True})
    lesson = made._sequences.tree(EXAMPLES[0], 0)
    costs = []
    for place in (one for one in lesson.places if one.kind == "plan"):
        logits = line_logits(model, lesson, place)[list(place.options)]
        costs.append(float(cross_entropy(logits, torch.tensor(place.options.index(place.target)))))
    assert float(made.losses([0])["plan"]) == pytest.approx(sum(costs) / len(costs), abs=1e-4)


@pytest.mark.parametrize("layout", ["tree", "paper", "plain"])
def test_turns_in_one_batch_do_not_touch_each_other(model, layout):
    made = task(model, layout)
    counts = [dict.fromkeys(("plan", "similarity", "response", "check"), 0) for _ in EXAMPLES]
    for count, one in zip(counts, EXAMPLES, strict=True):
        for place in made._sequences.tree(one, 0).places:
            count[place.kind] += 1
    alone = [made.losses([row]) for row in range(3)]
    both = made.losses([0, 1, 2])
    for kind, loss in both.items():
        if kind == "listwise":
            continue
        total = sum(float(one[kind]) * count[kind] for one, count in zip(alone, counts, strict=True) if kind in one)
        assert float(loss) == pytest.approx(total / sum(count[kind] for count in counts), abs=1e-4)


def test_safari_has_no_similarity_to_learn(model):
    assert set(task(model, "plain", "safari").losses([0, 1])) == {"plan", "response"}


def test_the_loss_is_the_weighted_sum(model):
    made = task(model, weights={"response": 0.5, "listwise": 0.0})
    parts = made.losses([0])
    assert "listwise" not in parts
    expected = sum(float(loss) * (0.5 if kind == "response" else 1.0) for kind, loss in parts.items())
    assert float(made.loss([0])) == pytest.approx(expected, abs=1e-5)


def test_an_epoch_changes_what_is_drawn_and_comes_out_the_same_again(model):
    made = task(model)
    made.batches(0)
    first = float(made.loss([0, 1, 2]))
    made.batches(3)
    other = float(made.loss([0, 1, 2]))
    made.batches(0)
    assert float(made.loss([0, 1, 2])) == pytest.approx(first, abs=1e-6)
    assert other != pytest.approx(first, abs=1e-6)


@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=60),
    st.integers(64, 600),
    st.integers(1, 8),
    st.integers(0, 5),
)
def test_batches_hold_every_turn_once_within_both_limits(sizes, tokens, batch, epoch):
    settings = TaskSettings(tokens=tokens, batch=batch)
    rows = list(range(len(sizes)))
    found = token_batches(rows, sizes, settings, epoch)
    assert sorted(row for one in found for row in one) == rows
    for one in found:
        assert len(one) <= batch
        assert len(one) == 1 or sum(sizes[row] for row in one) <= tokens
    assert found == token_batches(rows, sizes, settings, epoch)


def test_a_short_epoch_draws_other_turns_each_time():
    sizes = [10] * 40
    drawn = [
        sorted(row for batch in token_batches(list(range(40)), sizes, TaskSettings(epoch=12), epoch) for row in batch)
        for epoch in range(2)
    ]
    assert [len(rows) for rows in drawn] == [12, 12] and drawn[0] != drawn[1]


def test_dev_is_read_as_the_runtime_reads_it(model):
    """Plans, checks and similarities are those of models/unified_torch, so that what is fitted is what runs."""
    made = task(model)
    (found,) = made.outcomes([EXAMPLES[0]])
    runtime = TorchUnified(made._turns.shape, lambda: LoadedUnified(made.causal, made._turns))
    context = EXAMPLES[0].context
    (plan,) = runtime.plan([context], orders())
    assert found.plan == pytest.approx(plan, abs=1e-5)
    judged = tuple(
        CandidatePassage(one.source, one.text, {"p1": 0, "p2": 1}.get(one.parent or "")) for one in CANDIDATES
    )
    ((check, scores),) = runtime.check([Judging(context, judged)], orders())
    assert found.check == pytest.approx(check, abs=1e-5)
    mine = sorted((one.source, one.similarity) for one in found.candidates)
    assert [value for _, value in mine] == pytest.approx(
        [value for _, value in sorted((one.source, score) for one, score in zip(judged, scores, strict=True))], abs=1e-5
    )


def test_dev_in_one_batch_or_in_many_is_the_same(model):
    many, one = task(model, tokens=64).outcomes(EXAMPLES), task(model, tokens=4096).outcomes(EXAMPLES)
    for left, right in zip(many, one, strict=True):
        assert left.id == right.id and left.plan == pytest.approx(right.plan, abs=1e-5)
        assert left.response == pytest.approx(right.response, abs=1e-4)


def test_measures_are_named_and_finite(model):
    found = task(model, measured=2).measure()
    named = {"loss", "score", "plan/f1", "check/f1", "hit@1", "similarity/ece", "response/loss"}
    assert named <= set(found)
    assert all(value == value for value in found.values())


def test_of_some_turns_of_dev_the_plan_alone_is_read(model):
    every = task(model).outcomes(EXAMPLES)
    some = task(model, whole=1).outcomes(EXAMPLES)
    read = [one for one in some if one.candidates]
    assert len(read) == 1 and len(some) == len(EXAMPLES)
    for left, right in zip(some, every, strict=True):
        assert left.plan == pytest.approx(right.plan, abs=1e-5)
        assert left.candidates == () or left.response == pytest.approx(right.response, abs=1e-4)


def test_nothing_to_learn_is_refused(model):
    with pytest.raises(TrainingError, match="anything to learn"):
        task(model, examples=(example(plan=None, evidence=None, reply=None),))


def test_flex_attention_wants_a_gpu(model):
    with pytest.raises(TrainingError, match="for a GPU"):
        task(model, attention="flex")
