"""One training from recipe to part: what lies in the folder, what is refused, what is gone on with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.core.errors import ConfigError, MissingExtraError, StoreLockedError, TrainingError, UnknownNameError
from dragoman.models.part import open_part
from dragoman.train.calibration.cross_fitting import FILE as SCORES
from dragoman.train.export.torch_to_onnx import MODEL
from dragoman.train.export.trunk import SHAPE, TOKENIZER
from dragoman.train.gates.inputs import DRAFTS
from dragoman.train.learners.gate_prompted import FILE as ANSWERS
from dragoman.train.ranking.negatives import FOLDER as MINED
from dragoman.train.recipe import load_recipe
from dragoman.train.registry import learners
from dragoman.train.run import choose_device, train
from dragoman.train.training_folder import TrainingFolder

TOY = {"train": ["toy"], "dev": ["toy"]}
FEW = {"dialogues": 20}


@pytest.fixture
def recipe(counting, tmp_path):
    path = tmp_path / "counting.toml"
    path.write_text(counting.RECIPE)
    return lambda *overrides: load_recipe(path, overrides)


def test_a_training_folder_holds_everything_that_made_it(recipe, tmp_path):
    part = train(recipe(), TOY, tmp_path / "out", options=FEW, command="dragoman train counting.toml")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "recipe.toml", "data.json", "metrics.json", "README.md", "part.json", "counts.json",
    }  # fmt: skip
    assert open_part(tmp_path / "out") == part
    assert load_recipe(tmp_path / "out" / "recipe.toml") == recipe()
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["metrics"]["f1"] == pytest.approx(0.3)
    assert metrics["thresholds"] == {"gate": {"retrieve": 0.4}}
    data = json.loads((tmp_path / "out" / "data.json").read_text())
    assert data["train"][0]["name"] == "toy"
    assert metrics["turns"] == data["turns"]


def test_the_card_says_what_it_is_learned_from_and_how_to_use_it(recipe, tmp_path):
    train(recipe(), TOY, tmp_path / "mine", options=FEW, command="dragoman train counting.toml --out mine")
    told = (tmp_path / "mine" / "README.md").read_text()
    digest = json.loads((tmp_path / "mine" / "data.json").read_text())["train"][0]["sha256"]
    for part in (
        "Counts words.", "Licence: CC0", "Apache-2.0", digest, "| f1 | 0.3000 |", "yes from 0.4 on",
        '[gate]\nkind = "counting"\npart = "mine"', "dragoman train counting.toml --out mine", "Limits", "(en)",
    ):  # fmt: skip
        assert part in told


def test_auxiliary_data_that_a_learner_leaves_alone_is_refused(recipe, counting, tmp_path, monkeypatch):
    monkeypatch.setattr(counting.Counting, "auxiliary", False)
    with pytest.raises(TrainingError, match=r"nothing from auxiliary data.*Leave --data aux out"):
        train(recipe(), {**TOY, "aux": ["toy-zh"]}, tmp_path / "out", options=FEW)
    assert not (tmp_path / "out").exists()


def test_the_learner_gets_the_sides_the_device_and_the_report(recipe, counting, tmp_path):
    told = []
    train(recipe(), {**TOY, "aux": ["toy-zh"]}, tmp_path / "out", options=FEW, device="cpu", report=told.append)
    (job,) = counting.jobs
    assert (job.device, job.folder, job.aux.sets[0].language) == ("cpu", tmp_path / "out", "zh")
    assert [progress.stage for progress in told] == ["Counting"]
    assert "aux" in json.loads((tmp_path / "out" / "data.json").read_text())


def test_a_finished_folder_is_given_back_and_afresh_it_is_made_again(recipe, counting, tmp_path):
    first = train(recipe(), TOY, tmp_path / "out", options=FEW)
    assert train(recipe("about=Other words."), TOY, tmp_path / "out", options=FEW) == first
    assert len(counting.jobs) == 1
    train(recipe("model.weight=0.5"), TOY, tmp_path / "out", options=FEW, fresh=True)
    assert open_part(tmp_path / "out").options == {"weight": 0.5}


def test_a_card_that_a_kill_prevented_is_written_afterwards(recipe, counting, tmp_path):
    train(recipe(), TOY, tmp_path / "out", options=FEW)
    for name in ("README.md", "metrics.json"):
        (tmp_path / "out" / name).unlink()
    train(recipe(), TOY, tmp_path / "out", options=FEW)
    assert len(counting.jobs) == 1
    assert (tmp_path / "out" / "README.md").exists()


def test_a_stopped_training_is_gone_on_with(recipe, counting, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(recipe("model.stop=true"), TOY, tmp_path / "out", options=FEW)
    with pytest.raises(KeyboardInterrupt):
        train(recipe("model.stop=true"), TOY, tmp_path / "out", options=FEW)
    assert len(counting.jobs) == 2


def test_another_recipe_is_refused_and_nothing_is_lost(recipe, tmp_path):
    train(recipe(), TOY, tmp_path / "out", options=FEW)
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(TrainingError, match=r"model.weight: 1.0 before, 2 now.*--fresh"):
        train(recipe("model.weight=2"), TOY, tmp_path / "out", options=FEW)
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_other_data_is_refused(recipe, tmp_path):
    train(recipe(), TOY, tmp_path / "out", options=FEW)
    with pytest.raises(TrainingError, match=r"the train data \(toy-zh\) changed"):
        train(recipe(), {"train": ["toy-zh"], "dev": ["toy"]}, tmp_path / "out", options=FEW)
    with pytest.raises(TrainingError, match=r"options: \{'dialogues': 20\} before, \{'dialogues': 21\} now"):
        train(recipe(), TOY, tmp_path / "out", options={"dialogues": 21})


def test_a_folder_of_another_version_is_refused(recipe, tmp_path):
    train(recipe(), TOY, tmp_path / "out", options=FEW)
    file = tmp_path / "out" / "data.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 99}))
    with pytest.raises(TrainingError, match=r"another version \(format 99"):
        train(recipe(), TOY, tmp_path / "out", options=FEW)


def test_a_folder_of_somebody_else_is_left_alone(recipe, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    for fresh in (False, True):
        with pytest.raises(TrainingError, match=r"holds no training \(thesis.txt\)"):
            train(recipe(), TOY, tmp_path / "out", options=FEW, fresh=fresh)


def test_afresh_takes_away_only_what_trainings_wrote(recipe, tmp_path):
    train(recipe(), TOY, tmp_path / "out", options=FEW)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    (tmp_path / "out" / "fold-1" / "checkpoint").mkdir(parents=True)
    (tmp_path / "out" / "checkpoint").mkdir()
    train(recipe(), TOY, tmp_path / "out", options=FEW, fresh=True)
    assert (tmp_path / "out" / "notes.txt").exists()
    assert not (tmp_path / "out" / "fold-1").exists()
    assert not (tmp_path / "out" / "checkpoint").exists()


def test_two_processes_do_not_train_in_one_folder(recipe, tmp_path):
    with TrainingFolder(tmp_path / "out"), pytest.raises(StoreLockedError, match="Another process is training"):
        train(recipe(), TOY, tmp_path / "out", options=FEW)


def test_what_cannot_be_learned_leaves_no_folder(recipe, tmp_path):
    with pytest.raises(TrainingError, match="only"):
        train(recipe(), TOY, tmp_path / "out", options={"dialogues": 0, "part": "test"})
    assert not (tmp_path / "out").exists()


def test_an_unknown_kind_is_told_before_anything_is_read(recipe, tmp_path):
    with pytest.raises(UnknownNameError, match=r"Did you mean 'gate.counting'"):
        train(recipe("kind=gate.countin"), {"train": ["nowhere"]}, tmp_path / "out")


def test_a_missing_library_is_told_with_the_extra(recipe, tmp_path, monkeypatch):
    def absent(kind):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(learners, "create", absent)
    with pytest.raises(MissingExtraError, match=r"'torch'.*dragoman\[train\]"):
        train(recipe(), TOY, tmp_path / "out")


def test_the_device_is_chosen_or_refused(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert (choose_device(None), choose_device("cpu")) == ("cpu", "cpu")
    with pytest.raises(TrainingError, match="no device 'cuda'"):
        choose_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device(None) == "cuda"


def test_afresh_takes_away_what_learners_left(recipe, tmp_path):
    out = tmp_path / "out"
    train(recipe(), TOY, out, options=FEW)
    for name in (
        SHAPE,
        MODEL,
        TOKENIZER,
        DRAFTS,
        ANSWERS,
        f"{MINED}/1.json",
        f"fold-0/{SCORES}",
        "aux/log.jsonl",
        "run-2/log.jsonl",
    ):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("{}")
    for name in (f"analysis/{SCORES}", "fold-x/notes.txt", "gate/part.json"):  # none of a training's
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text('{"shares": "../elsewhere"}')
    TrainingFolder(out).clear()
    left = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert left == {f"analysis/{SCORES}", "fold-x/notes.txt", "gate/part.json"}


def test_afresh_trains_folds_again_that_were_of_another_recipe(recipe, tmp_path):
    train(recipe(), TOY, tmp_path / "out", options=FEW)
    (tmp_path / "out" / "fold-0").mkdir()
    (tmp_path / "out" / "fold-0" / SCORES).write_text('{"of": {}, "scores": []}')
    train(recipe("model.weight=0.5"), TOY, tmp_path / "out", options=FEW, fresh=True)
    assert not (tmp_path / "out" / "fold-0").exists()


def test_a_setting_that_was_refused_does_not_block_the_right_one(recipe, counting, tmp_path):
    with pytest.raises(ConfigError, match="Nobody can weigh that"):
        train(recipe("model.wrong=true"), TOY, tmp_path / "out", options=FEW)
    assert train(recipe(), TOY, tmp_path / "out", options=FEW).options == {"weight": 1.0}
    assert "wrong" not in (tmp_path / "out" / "recipe.toml").read_text()


@pytest.mark.parametrize("left", [("data.json",), ("data.json", "recipe.toml")])
def test_a_disk_that_was_full_at_the_start_is_no_obstacle(recipe, tmp_path, left):
    train(recipe(), TOY, tmp_path / "out", options=FEW)
    for place in (tmp_path / "out").iterdir():
        if place.name not in left:
            place.unlink()
    assert train(recipe("model.weight=0.5"), TOY, tmp_path / "out", options=FEW).options == {"weight": 0.5}


def test_a_kill_at_any_moment_of_clearing_can_be_cleared_again(recipe, tmp_path, monkeypatch):
    out = tmp_path / "out"
    train(recipe(), TOY, out, options=FEW)
    count = len(list(out.iterdir()))
    unlink = Path.unlink
    for allowed in range(count):
        calls = iter(range(count))

        def stopped(self, missing_ok=False, allowed=allowed, calls=calls):
            if self.parent == out and next(calls) >= allowed:
                raise KeyboardInterrupt
            unlink(self, missing_ok=missing_ok)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", stopped)
            with pytest.raises(KeyboardInterrupt):
                TrainingFolder(out).clear()
        train(recipe(), TOY, out, options=FEW, fresh=True)


def test_a_teacher_that_was_trained_again_is_noticed(recipe, tmp_path):
    train(recipe(), TOY, tmp_path / "teacher", options=FEW)
    taught = recipe(f"model.teacher={tmp_path / 'teacher'}")
    train(taught, TOY, tmp_path / "out", options=FEW)
    train(taught, TOY, tmp_path / "out", options=FEW)
    train(recipe("model.weight=0.5"), TOY, tmp_path / "teacher", options=FEW, fresh=True)
    with pytest.raises(TrainingError, match=r"files: .*model\.teacher"):
        train(taught, TOY, tmp_path / "out", options=FEW)


def test_labels_that_were_made_again_are_noticed(recipe, tmp_path):
    labels = tmp_path / "labels.jsonl"
    labels.write_text("one")
    soft = recipe(f"input.relevance={labels}")
    train(soft, TOY, tmp_path / "out", options=FEW)
    labels.write_text("two")
    with pytest.raises(TrainingError, match=r"files: .*input\.relevance"):
        train(soft, TOY, tmp_path / "out", options=FEW)


def test_a_training_of_a_version_that_said_nothing_of_other_files_goes_on(recipe, counting, tmp_path):
    train(recipe(), TOY, tmp_path / "teacher", options=FEW)
    taught = recipe(f"model.teacher={tmp_path / 'teacher'}")
    train(taught, TOY, tmp_path / "out", options=FEW)
    file = tmp_path / "out" / "data.json"
    file.write_text(
        json.dumps({name: value for name, value in json.loads(file.read_text()).items() if name != "files"})
    )
    train(taught, TOY, tmp_path / "out", options=FEW)
    assert len(counting.jobs) == 2
