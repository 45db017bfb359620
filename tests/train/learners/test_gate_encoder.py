"""The encoder gate learned from labelled turns: fine-tuned, frozen, after another set, from a teacher, resumed."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from dragoman.core.errors import ConfigError, TrainingError, UnknownNameError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context
from dragoman.gate.encoder import EncoderGate
from dragoman.models.part import open_part
from dragoman.train.contract import Corpus, Job
from dragoman.train.learners import gate_encoder
from dragoman.train.loop.text_measures import yes_measures
from dragoman.train.registry import learners
from dragoman.train.spec import Recipe

ASKED = ("what is the price", "who has a room", "what time is it", "price of the room")
TOLD = ("hello you", "thanks a lot", "good morning you", "you are good")
WORDS = " ".join((*ASKED, *TOLD))


def corpus(count, seed):
    dice = random.Random(seed)
    examples = []
    for i in range(count):
        retrieve = i % 3 == 0
        turn = dice.choice(ASKED if retrieve else TOLD)
        context = Context.of(dice.choice(TOLD), "good", turn, dialogue=f"d{seed}-{i // 2}")
        examples.append(Example(f"{seed}-{i}", context, (), gold=Gold(retrieve=retrieve)))
    return Corpus((), tuple(examples))


def job(folder, base, *, train=None, model=None, calibrate=None, **recipe):
    tables = {
        "kind": "gate.encoder",
        "input": {"turns": 1},
        "model": {"base": str(base), "max_tokens": 24, "dropout": 0.0, **(model or {})},
        "train": {"epochs": 4, "batch": 8, "rate": 3e-3, "metric": "auc", **(train or {})},
        "calibrate": calibrate or {},
        **recipe,
    }
    return Job(Recipe.model_validate(tables), corpus(48, 1), corpus(24, 2), folder)


@pytest.fixture(scope="module")
def base(make_bert):
    return make_bert(words=WORDS, layers=1)


@pytest.fixture(scope="module")
def tuned(base, tmp_path_factory):
    """A gate fine-tuned with two folds."""
    folder = tmp_path_factory.mktemp("tuned")
    reports = []
    given = replace(job(folder, base, train={"metric": "loss"}, calibrate={"folds": 2}), report=reports.append)
    return learners.create("gate.encoder").fit(given), reports


@pytest.fixture
def without_export(monkeypatch):
    """The end of a training left out: what `finish` is called with, and nothing written."""
    calls = []

    def finish(trunk, tokens, job, **given):
        calls.append((trunk, tokens, job, given))
        return trunk

    monkeypatch.setattr("dragoman.train.export.export_and_calibrate.export_and_calibrate", finish)
    return calls


@pytest.mark.slow
def test_learned_gate_tells_new_turns_apart(tuned):
    part, _ = tuned
    fresh = corpus(30, 3)
    verdicts = EncoderGate(part=str(part.folder)).decide([example.context for example in fresh.examples])
    assert [verdict.retrieve for verdict in verdicts] == [example.gold.retrieve for example in fresh.examples]


@pytest.mark.slow
def test_part_holds_what_a_decision_depends_on(tuned):
    part, _ = tuned
    assert open_part(part.folder) == part
    assert part.options["view"]["turns"] == 1
    assert part.options["max_tokens"] == 24
    assert part.made["metrics"]["auc"] == 1.0
    assert part.made["metrics"]["folds/auc"] > 0.9
    assert {"model.onnx", "tokenizer.json"} == set(part.files)


@pytest.mark.slow
def test_folds_and_training_are_reported(tuned):
    _, reports = tuned
    assert {"Training", "Training fold-0", "Training fold-1", "Exporting"} <= {report.stage for report in reports}


def test_same_seed_gives_the_same_weights(base, tmp_path, without_export):
    first = gate_encoder.GateEncoder().fit(job(tmp_path / "a", base, train={"epochs": 1}))
    second = gate_encoder.GateEncoder().fit(job(tmp_path / "b", base, train={"epochs": 1}))
    for name, tensor in first.state_dict().items():
        assert torch.equal(tensor, second.state_dict()[name]), name


def test_finished_training_is_not_repeated(base, tmp_path, without_export):
    given = job(tmp_path, base, train={"epochs": 1})
    learned = gate_encoder.GateEncoder().fit(given)
    reports = []
    again = gate_encoder.GateEncoder().fit(replace(given, report=reports.append))
    assert reports == []
    assert torch.equal(learned.heads["gate"].weight, again.heads["gate"].weight)


def test_training_begins_with_what_the_auxiliary_set_taught(base, tmp_path, without_export, monkeypatch):
    from dragoman.train.loop import training_loop

    begun = []

    def fit(task, job, folder=None):
        begun.append(task.model.heads["gate"].weight.detach().clone())
        return loop_fit(task, job, folder=folder)

    loop_fit = training_loop.fit
    monkeypatch.setattr(training_loop, "fit", fit)
    given = job(tmp_path, base, train={"epochs": 1})
    gate_encoder.GateEncoder().fit(replace(given, aux=corpus(48, 5)))
    taught = load_file(tmp_path / "aux" / "best.safetensors")["heads.gate.weight"]
    assert torch.equal(begun[1], taught)
    assert not torch.equal(begun[0], taught)


def test_auxiliary_turns_are_at_most_as_many_as_the_recipe_says(base, tmp_path, without_export, monkeypatch):
    seen = []

    def fit(task, job, folder=None):
        seen.append((folder.name, len(job.train.examples), job.recipe.balance.weight))
        folder.mkdir(parents=True, exist_ok=True)
        from dragoman.train.export.export_and_calibrate import keep

        keep(task.model, replace(job, folder=folder))
        return {}

    monkeypatch.setattr("dragoman.train.loop.training_loop.fit", fit)
    given = job(tmp_path, base, model={"aux_turns": 20}, balance={"weight": 3.0})
    gate_encoder.GateEncoder().fit(replace(given, aux=corpus(48, 5)))
    assert [size for _, size, _ in seen] == [16, 48]
    # a weight that suits one set does not suit another: auxiliary turns count alike
    assert [weight for _, _, weight in seen] == ["none", 3.0]


@pytest.mark.slow
def test_teacher_softens_the_labels(base, tmp_path, without_export, monkeypatch, tuned):
    seen = []

    class WatchedError(Exception):
        pass

    def task(trunk, tokens, texts, labels, **given):
        seen.extend(labels)
        raise WatchedError

    monkeypatch.setattr("dragoman.train.loop.text_task.TextTask", task)
    teacher = str(tuned[0].folder)
    given = job(tmp_path, base, model={"teacher": teacher, "teacher_share": 0.5})
    with pytest.raises(WatchedError):
        gate_encoder.GateEncoder().fit(given)
    turns = [example.context for example in given.train.examples]
    probabilities = [verdict.probability for verdict in EncoderGate(part=teacher).decide(turns)]
    hard = [float(example.gold.retrieve) for example in given.train.examples]
    assert seen == pytest.approx([(a + b) / 2 for a, b in zip(hard, probabilities, strict=True)], abs=1e-4)


@pytest.fixture(scope="module")
def frozen(base, tmp_path_factory):
    folder = tmp_path_factory.mktemp("frozen")
    given = job(folder, base, model={"frozen": True, "fields": ["last", "view"]}, calibrate={"folds": 2})
    return learners.create("gate.encoder").fit(given)


@pytest.mark.slow
def test_frozen_gate_scores_as_its_regression_did(frozen):
    dev = corpus(24, 2)
    gate = EncoderGate(part=str(frozen.folder))
    probabilities = [verdict.probability for verdict in gate.decide([example.context for example in dev.examples])]
    labels = torch.tensor([float(example.gold.retrieve) for example in dev.examples])
    measured = yes_measures(torch.logit(torch.tensor(probabilities)), labels)
    assert measured["auc"] == pytest.approx(frozen.made["metrics"]["auc"]) == pytest.approx(1.0)


@pytest.mark.slow
def test_frozen_encoder_keeps_its_weights(frozen, base):
    from dragoman.models.torch.trunk import load_trunk

    before = load_trunk(base, {})[0].state_dict()
    after = load_file(frozen.folder / "best.safetensors")
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
    assert {name for name in after if name.startswith("heads.")} == {
        f"heads.gate_{field}.{what}" for field in ("last", "view") for what in ("weight", "bias")
    }


def test_one_class_alone_is_refused(base, tmp_path):
    given = job(tmp_path, base)
    only = tuple(example for example in given.train.examples if not example.gold.retrieve)
    with pytest.raises(TrainingError, match="same label"):
        gate_encoder.GateEncoder().fit(replace(given, train=Corpus((), only)))


def test_dev_without_labels_is_refused(base, tmp_path):
    given = job(tmp_path, base)
    blank = tuple(replace(example, gold=Gold()) for example in given.dev.examples)
    with pytest.raises(TrainingError, match="dev turns"):
        gate_encoder.GateEncoder().fit(replace(given, dev=Corpus((), blank)))


@pytest.mark.parametrize(
    ("table", "key"),
    [({"model": {"bse": "x"}}, "bse"), ({"input": {"turn": 3}}, "turn"), ({"input": {"turns": -1}}, "turns")],
)
def test_wrong_key_of_a_table_is_told(base, tmp_path, table, key):
    given = job(tmp_path, base)
    with pytest.raises(ConfigError, match=key):
        gate_encoder.GateEncoder().fit(replace(given, recipe=given.recipe.model_copy(update=table)))


@pytest.mark.parametrize("frozen", [False, True])
def test_a_slip_in_the_metric_is_told_before_anything_is_loaded(tmp_path, frozen):
    given = job(tmp_path, "nowhere", model={"frozen": frozen}, train={"metric": "acu"})
    with pytest.raises(UnknownNameError, match=r"train\.metric 'acu'. Did you mean 'auc'\?.*Set one of these"):
        gate_encoder.GateEncoder().fit(given)


def test_what_a_frozen_encoder_would_leave_unread_is_refused(tmp_path):
    given = job(tmp_path, "nowhere", model={"frozen": True})
    with pytest.raises(ConfigError, match=r"auxiliary data.*Leave --data aux out"):
        gate_encoder.GateEncoder().fit(replace(given, aux=corpus(48, 5)))
    focal = job(tmp_path, "nowhere", model={"frozen": True}, balance={"focal": 2.0})
    with pytest.raises(ConfigError, match=r"without a focal loss.*balance.focal = 0"):
        gate_encoder.GateEncoder().fit(focal)


def test_a_teacher_and_folds_are_refused(base, tmp_path):
    given = job(tmp_path, base, model={"teacher": "somewhere"}, calibrate={"folds": 2})
    with pytest.raises(ConfigError, match="would not be honest"):
        gate_encoder.GateEncoder().fit(given)


def test_auxiliary_turns_need_replies_where_replies_are_read(base, tmp_path, without_export):
    given = job(tmp_path, base, input={"turns": 1, "reply": True})
    replied = [
        replace(side, examples=tuple(replace(e, gold=replace(e.gold, reply="good")) for e in side.examples))
        for side in (given.train, given.dev)
    ]
    given = replace(given, train=replied[0], dev=replied[1], aux=corpus(48, 5))
    with pytest.raises(TrainingError, match="has no reply"):
        gate_encoder.GateEncoder().fit(given)


def test_a_frozen_gate_whose_yes_lie_in_one_fold_is_refused(base, tmp_path):
    given = job(tmp_path, base, model={"frozen": True}, calibrate={"folds": 2})
    one = tuple(
        replace(
            example,
            context=replace(example.context, dialogue="yes" if i < 6 else f"no {i}"),
            gold=Gold(retrieve=i < 6),
        )
        for i, example in enumerate(given.train.examples)
    )
    with pytest.raises(TrainingError, match=r"one label lie in one fold.*calibrate\.folds = 0"):
        gate_encoder.GateEncoder().fit(replace(given, train=replace(given.train, examples=one)))
