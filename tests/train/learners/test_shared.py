"""One small model with four heads learned from the toy set: four parts over one file, each used like any other."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
from tests.train.agreeing import assert_agrees

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.core.values import Context, Evidence, Passage
from dragoman.critic import NliCritic
from dragoman.datasets import ToyDataset
from dragoman.gate.encoder import EncoderGate
from dragoman.models.onnx.scorer import Scorer
from dragoman.models.part import open_part
from dragoman.train.contract import Corpus, Job
from dragoman.train.export.torch_to_onnx import MODEL, Exported
from dragoman.train.learners.shared import SharedLearner
from dragoman.train.run import train
from dragoman.train.spec import Recipe
from dragoman.train.sweep.study import load_sweep, sweep

NAMES = {"gate": "gate", "reply": "gate", "relevance": "relevance", "critic": "consistent"}
KINDS = {"gate": "gate.encoder", "reply": "gate.encoder", "relevance": "retriever.cross", "critic": "critic.nli"}
DATA = {"train": ["toy"], "dev": ["toy"]}
FEW = {"dialogues": 20}


def recipe(base, **tables):
    given = {
        "kind": "shared",
        "input": {
            "heads": dict.fromkeys(NAMES, 1.0),
            "tables": {
                "gate": {"input": {"turns": 1}},
                "reply": {"input": {"turns": 0}},
                "relevance": {"model": {"own": 2}},
                "critic": {"input": {"negatives": 1}},
            },
        },
        "model": {"base": str(base), "max_tokens": 32},
        "train": {"epochs": 1, "batch": 32, "rate": 1e-3, "metric": "mean"},
        "export": {"int8": "never"},
        **tables,
    }
    return Recipe.model_validate(given)


@pytest.fixture(scope="module")
def base(make_bert):
    return make_bert(layers=1)


@pytest.fixture(scope="module")
def folder(base, tmp_path_factory):
    place = tmp_path_factory.mktemp("shared") / "mine"
    train(recipe(base), DATA, place, options=FEW, device="cpu")
    return place


@pytest.mark.slow
@pytest.mark.parametrize("head", ["gate", "reply", "relevance", "consistent"])
def test_each_exported_head_says_what_torch_says(folder, tmp_path, head):
    assert_agrees(folder, ["hello", ("what is the price", "a room is 40"), "thanks a lot"], head, tmp_path)


@pytest.mark.slow
def test_one_model_has_four_heads(folder):
    whole = open_part(folder, kind="shared")
    assert set(whole.heads) == {"gate", "reply", "relevance", "consistent"}
    assert {name: open_part(folder / name).kind for name in NAMES} == KINDS


@pytest.mark.slow
def test_the_parts_share_one_file(folder):
    files = open_part(folder).files
    for name in NAMES:
        part = open_part(folder / name)
        assert (part.files, part.file(MODEL).resolve()) == (files, (folder / MODEL).resolve())
        assert [path.name for path in (folder / name).iterdir()] == ["part.json"]


@pytest.mark.slow
def test_each_part_decides_as_the_whole_says(folder):
    """The reply's part is a gate, whose output is the head that read replies."""
    whole = open_part(folder)
    texts = [("It opens at nine.", "User: When does it open?"), ("Hello!", "User: Hi.")]
    for name, inner in NAMES.items():
        head = "reply" if name == "reply" else inner
        part = open_part(folder / name)
        assert part.heads == {inner: whole.head(head)}
        assert Scorer(part).scores(texts, inner).tolist() == Scorer(whole).scores(texts, head).tolist()
    scores = {name: Scorer(open_part(folder / name)).scores(texts, "gate").tolist() for name in ("gate", "reply")}
    assert scores["gate"] != scores["reply"]


@pytest.mark.slow
def test_even_odds_decide_what_is_consistent_wherever_it_is_told(folder):
    assert open_part(folder).head("consistent").threshold() == 0.5
    assert open_part(folder / "critic").head("consistent").threshold() == 0.5
    assert json.loads((folder / "metrics.json").read_text())["thresholds"]["consistent"] == {"consistent": 0.5}
    assert "- `consistent` / `consistent`: yes from 0.5 on" in (folder / "README.md").read_text()
    assert open_part(folder).head("gate").threshold() != 0.5


@pytest.mark.slow
def test_figures_of_a_head_go_to_its_part_and_their_mean_to_the_whole(folder):
    metrics = open_part(folder).made["metrics"]
    assert {"gate/auc", "reply/auc", "relevance/hit@1", "critic/accuracy"} <= set(metrics)
    deciding = ("gate/auc", "reply/auc", "relevance/hit@1", "critic/accuracy")
    # the mean is of the weights that were trained, the figures of gates are of what was exported: nearly the same
    assert metrics["mean"] == pytest.approx(sum(metrics[name] for name in deciding) / 4, abs=1e-3)
    critic = open_part(folder / "critic").made["metrics"]
    assert critic["accuracy"] == metrics["critic/accuracy"]
    assert critic["f1"] == metrics["consistent/f1"]
    assert "mean" not in critic


@pytest.mark.slow
def test_the_components_take_the_parts(folder):
    turns = [Context.of("Hello!"), Context.of("When does the museum open?")]
    gate = EncoderGate(part="mine/gate", folder=folder.parent)
    assert all(0.0 <= verdict.probability <= 1.0 for verdict in gate.decide(turns))
    piece = Evidence(Passage("x", "DOCUMENTS", "The museum opens at nine."), 1.0)
    (judged,) = NliCritic(part=str(folder / "critic")).consistency([(piece, "It opens at nine.")])
    expected = Scorer(open_part(folder)).scores([(piece.passage.indexed, "It opens at nine.")], "consistent")[0, 0]
    assert judged == pytest.approx(open_part(folder).head("consistent").probability(float(expected)), abs=1e-4)


@pytest.mark.slow
def test_the_size_of_a_part_is_that_of_the_file_it_shares(folder):
    from dragoman.train.model_card import size

    assert size(open_part(folder / "gate")) == size(open_part(folder)) > (folder / MODEL).stat().st_size


@pytest.mark.slow
def test_a_training_that_was_killed_at_its_end_is_finished_by_the_next(base, folder, tmp_path, monkeypatch):
    """The whole is written last, so that a folder that counts as finished has all its parts."""
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    for place in (copied, *(copied / name for name in NAMES)):
        (place / "part.json").unlink()
    written = []

    def write_part(part, names):
        from dragoman.models.part import write_part

        written.append(part.folder.name)
        if len(written) == 2:
            raise KeyboardInterrupt
        return write_part(part, names)

    def exported(trunk, tokens, folder, **given):  # the model lies there already
        return Exported(32, (folder / MODEL).stat().st_size)

    monkeypatch.setattr("dragoman.train.export.trunk.export_trunk", exported)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("dragoman.train.learners.shared.write_part", write_part)
        patch.setattr("dragoman.train.export.export_and_calibrate.write_part", write_part)
        train(recipe(base), DATA, copied, options=FEW, device="cpu")
    assert written == ["gate", "reply"]
    assert not (copied / "part.json").exists()
    train(recipe(base), DATA, copied, options=FEW, device="cpu")
    assert [open_part(copied / name).kind for name in NAMES] == list(KINDS.values())


@pytest.mark.slow
def test_afresh_takes_the_parts_away_and_leaves_what_is_ones_own(folder, tmp_path):
    from dragoman.train.training_folder import TrainingFolder

    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    (copied / "critic" / "notes.txt").write_text("mine")
    (copied / "other").mkdir()
    (copied / "other" / "part.json").write_text("{}")
    TrainingFolder(copied).clear()
    left = {path.relative_to(copied).as_posix() for path in copied.rglob("*") if path.is_file()}
    assert left == {"critic/notes.txt", "other/part.json"}


@pytest.mark.slow
def test_a_sweep_compares_by_the_mean(base, folder, tmp_path, monkeypatch):
    from dragoman.train import recipe as recipes

    file = tmp_path / "shared.toml"
    file.write_text(recipes.toml_of(recipe(base)))

    def copied(recipe, data, out, **given):
        shutil.copytree(folder, out)
        return open_part(out)

    monkeypatch.setattr("dragoman.train.sweep.trials.train", copied)
    found = sweep(file, load_sweep(["train.rate=1e-3,2e-3"]), DATA, tmp_path / "out")
    assert found.metric == "mean"
    assert found.best.score == open_part(folder).made["metrics"]["mean"]
    assert open_part(tmp_path / "out" / "critic").file(MODEL).exists()


def test_replies_to_one_kind_of_turn_alone_are_refused(base, tmp_path):
    opened = ToyDataset(**FEW)
    asked = tuple(example for example in opened.examples() if example.gold.retrieve)
    side = Corpus((), asked)
    given = recipe(base, input={"heads": {"reply": 1.0}})
    with pytest.raises(TrainingError, match="leave the head 'reply' out"):
        SharedLearner().fit(Job(given, side, side, tmp_path))


@pytest.mark.parametrize("head", ["gate", "reply"])
def test_too_few_turns_for_a_head_are_refused_before_anything_is_loaded(tmp_path, head):
    few = Corpus((), tuple(ToyDataset(**FEW).examples())[:15])
    given = recipe("nowhere", input={"heads": {head: 1.0}})
    with pytest.raises(TrainingError, match="only 15 labelled training turns"):
        SharedLearner().fit(Job(given, few, few, tmp_path))


def test_a_head_without_its_labels_is_refused_before_anything_is_loaded(tmp_path):
    whole = Corpus((), tuple(ToyDataset(**FEW).examples()))
    bare = tuple(replace(example, gold=replace(example.gold, evidence=None)) for example in whole.examples)
    given = recipe("nowhere", input={"heads": {"gate": 1.0, "relevance": 1.0}})
    with pytest.raises(TrainingError, match=r"dev turns .* has the label 'evidence'"):
        SharedLearner().fit(Job(given, whole, Corpus((), bare), tmp_path))


def test_an_unknown_head_is_refused(base, tmp_path):
    side = Corpus((), ())
    with pytest.raises(ConfigError, match="planner"):
        SharedLearner().fit(Job(recipe(base, input={"heads": {"planner": 1.0}}), side, side, tmp_path))


def test_a_head_that_wants_an_encoder_of_its_own_is_refused(base, tmp_path):
    tables = {"relevance": {"model": {"runs": 3, "layers": 1}}}
    with pytest.raises(ConfigError, match=r"relevance\.model sets layers, runs.*Leave it out"):
        train(
            recipe(base, input={"heads": {"relevance": 1.0}, "tables": tables}),
            DATA, tmp_path / "mine", options=FEW, device="cpu",
        )  # fmt: skip
