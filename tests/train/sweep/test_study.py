"""Sweeps: every combination, or what Optuna chooses; gone on with after a kill; the best one's part."""

from __future__ import annotations

import json
import shutil

import pytest

from dragoman.core.errors import ConfigError, MissingExtraError, TrainingError
from dragoman.core.workers import InProcess
from dragoman.models.part import open_part
from dragoman.train.recipe import load_recipe, shipped_recipes
from dragoman.train.sweep.study import SweepSpec, deciding, load_sweep, sweep
from dragoman.train.training_folder import claimed

DATA = {"train": ["toy"], "dev": ["toy"]}
FEW = {"dialogues": 20}
STUDY = """
trials = 3
[parameters."model.weight"]
low = 0.0
high = 1.0
"""


@pytest.fixture
def recipe(counting, tmp_path):
    path = tmp_path / "counting.toml"
    path.write_text(counting.RECIPE)
    return path


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return str(path)


def test_a_grid_is_every_combination():
    spec = load_sweep(["train.rate=1e-5,5e-5", "train.schedule=linear,cosine"])
    assert list(spec.combinations()) == [
        {"train.rate": 1e-5, "train.schedule": "linear"},
        {"train.rate": 1e-5, "train.schedule": "cosine"},
        {"train.rate": 5e-5, "train.schedule": "linear"},
        {"train.rate": 5e-5, "train.schedule": "cosine"},
    ]
    assert spec.count == 4


def test_the_best_trial_becomes_the_part(recipe, counting, tmp_path):
    spec = load_sweep(["model.weight=0.9,0.4,0.1"])
    found = sweep(recipe, spec, DATA, tmp_path / "out", options=FEW)
    assert [round(trial.score, 6) for trial in found.trials] == [0.4, 0.9, 0.8]
    assert found.best.number == 1
    assert open_part(tmp_path / "out").options == {"weight": 0.4}
    assert (tmp_path / "out" / "README.md").exists()
    assert sorted(path.name for path in (tmp_path / "out" / "trials").iterdir()) == ["000", "001", "002"]


def test_a_lower_loss_is_the_better_one(recipe, tmp_path):
    spec = load_sweep(["model.weight=0.9,0.4,0.1"])
    found = sweep(recipe, spec, DATA, tmp_path / "out", options=FEW, overrides=["train.metric=loss"])
    assert (found.metric, found.best.number) == ("loss", 1)


def test_what_is_done_is_not_done_again(recipe, counting, tmp_path):
    spec = load_sweep(["model.weight=0.9,0.4", "model.stop=false,true"])
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            sweep(recipe, spec, DATA, tmp_path / "out", options=FEW)
    assert [job.folder.name for job in counting.jobs] == ["000", "001", "001"]


def test_another_sweep_is_refused_and_afresh_begun_anew(recipe, counting, tmp_path):
    sweep(recipe, load_sweep(["model.weight=0.9,0.4"]), DATA, tmp_path / "out", options=FEW)
    with pytest.raises(TrainingError, match=r"holds another sweep.*--fresh"):
        sweep(recipe, load_sweep(["model.weight=0.9"]), DATA, tmp_path / "out", options=FEW)
    sweep(recipe, load_sweep(["model.weight=0.9"]), DATA, tmp_path / "out", options=FEW, fresh=True)
    assert open_part(tmp_path / "out").options == {"weight": 0.9}
    assert [path.name for path in (tmp_path / "out" / "trials").iterdir()] == ["000"]


def test_a_sweep_of_other_data_is_refused_and_its_part_kept(recipe, counting, tmp_path):
    spec, out, turns = load_sweep(["model.weight=0.9,0.4"]), tmp_path / "out", tmp_path / "turns.jsonl"

    def swept(count):
        turn = '{{"dialogue": "{0}", "context": [{{"speaker": "user", "text": "{0}?"}}], "retrieve": {1}}}\n'
        turns.write_text("".join(turn.format(n, "true" if n % 2 else "false") for n in range(count)))
        sweep(recipe, spec, {"train": [str(turns)]}, out)

    swept(40)
    shutil.rmtree(out / "trials" / "001")  # as if it had been stopped before that
    before = (out / "part.json").read_bytes()
    with pytest.raises(TrainingError, match=r"another sweep \(what differs: data\).*--fresh"):
        swept(60)
    assert (out / "part.json").read_bytes() == before
    swept(40)
    assert [job.folder.name for job in counting.jobs] == ["000", "001", "001"]


def test_a_sweep_with_other_options_of_the_data_is_refused(recipe, tmp_path):
    spec = load_sweep(["model.weight=0.9"])
    sweep(recipe, spec, DATA, tmp_path / "out", options=FEW)
    with pytest.raises(TrainingError, match=r"what differs: options"):
        sweep(recipe, spec, DATA, tmp_path / "out", options={"dialogues": 25})


def test_a_sweep_of_a_version_that_said_nothing_of_the_data_goes_on(recipe, counting, tmp_path):
    spec, file = load_sweep(["model.weight=0.9"]), tmp_path / "out" / "sweep.json"
    sweep(recipe, spec, DATA, tmp_path / "out", options=FEW)
    table = json.loads(file.read_text())
    file.write_text(json.dumps({name: table[name] for name in ("recipe", "sweep")}))
    sweep(recipe, spec, DATA, tmp_path / "out", options=FEW)
    assert len(counting.jobs) == 1


def test_a_trial_that_fails_is_told_and_the_others_go_on(recipe, tmp_path):
    found = sweep(recipe, load_sweep(["model.fail=true,false"]), DATA, tmp_path / "out", options=FEW)
    assert [trial.failed for trial in found.trials] == ["The loss is nan.", ""]
    with pytest.raises(TrainingError, match=r"None of the 1 trials came to an end. The first: The loss is nan"):
        sweep(recipe, load_sweep(["model.fail=true"]), DATA, tmp_path / "all", options=FEW)


def test_a_trial_whose_settings_are_wrong_is_left_out_too(recipe, tmp_path):
    found = sweep(recipe, load_sweep(["model.wrong=false,true"]), DATA, tmp_path / "out", options=FEW)
    assert [trial.failed for trial in found.trials] == ["", "Nobody can weigh that."]
    found = sweep(recipe, load_sweep(["train.epochs=1,0"]), DATA, tmp_path / "epochs", options=FEW)
    assert found.best.number == 0
    assert "train.epochs" in found.trials[1].failed


@pytest.mark.parametrize("setting", ["model.wrong=false,true", "train.epochs=1,0"])
def test_workers_leave_such_a_trial_out_too(recipe, tmp_path, setting):
    class Elsewhere(InProcess):
        here = False

    found = sweep(recipe, load_sweep([setting]), DATA, tmp_path / "out", options=FEW, workers=Elsewhere())
    assert [bool(trial.failed) for trial in found.trials] == [False, True]
    assert found.best.number == 0


def test_what_no_setting_causes_stops_the_sweep(recipe, tmp_path, monkeypatch):
    def train(*args, **given):
        raise MissingExtraError("Training needs 'torch', which is not installed.", extra="train")

    monkeypatch.setattr("dragoman.train.sweep.trials.train", train)
    with pytest.raises(MissingExtraError):
        sweep(recipe, load_sweep(["model.weight=0.9,0.4"]), DATA, tmp_path / "out", options=FEW)


def test_a_folder_of_something_else_is_left_alone(recipe, tmp_path):
    with pytest.raises(TrainingError, match="holds no sweep"):
        sweep(recipe, load_sweep(["model.weight=1"]), DATA, tmp_path, options=FEW)


def test_optuna_tries_as_often_as_it_is_told(recipe, study, tmp_path):
    found = sweep(recipe, load_sweep([study]), DATA, tmp_path / "out", options=FEW)
    assert len({trial.settings["model.weight"] for trial in found.trials}) == 3
    assert found.best.score == max(trial.score for trial in found.trials)
    assert (tmp_path / "out" / "study.db").exists()
    more = sweep(recipe, load_sweep([study], trials=4), DATA, tmp_path / "out", options=FEW)
    assert [trial.settings for trial in more.trials[:3]] == [trial.settings for trial in found.trials]
    assert len(more.trials) == 4


@pytest.mark.slow
def test_a_killed_study_goes_on_as_if_nothing_had_happened(recipe, counting, study, tmp_path, monkeypatch):
    whole = sweep(recipe, load_sweep([study]), DATA, tmp_path / "whole", options=FEW)
    fit = counting.Counting.fit
    calls = []

    def stopped(self, job):
        calls.append(job)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return fit(self, job)

    monkeypatch.setattr(counting.Counting, "fit", stopped)
    with pytest.raises(KeyboardInterrupt):
        sweep(recipe, load_sweep([study]), DATA, tmp_path / "killed", options=FEW)
    again = sweep(recipe, load_sweep([study]), DATA, tmp_path / "killed", options=FEW)
    assert len(calls) == 4
    assert [trial.settings for trial in again.trials] == [trial.settings for trial in whole.trials]
    assert [trial.score for trial in again.trials] == [trial.score for trial in whole.trials]


def test_wrong_sweeps_are_told(recipe, study, tmp_path):
    with pytest.raises(ConfigError, match="names no values"):
        load_sweep(["train.rate="])
    with pytest.raises(ConfigError, match="either one file"):
        load_sweep([study, "train.rate=1"])
    for text, told in (
        ("[parameters.a]\nlow = 1.0", "give either values, or low and high"),
        ("[parameters.a]\nlow = 1.0\nhigh = 0.5", "low must be less than high"),
        ("[parameters.a]\nlow = 0.0\nhigh = 0.5\nlog = true", "log needs a low above 0"),
        ("[parameters.a]\nlow = 0.0\nhigh = 0.5", "the number of trials must be given"),
        ("[parameters.a]\nvalue = [1]", "Did you mean 'values'"),
    ):
        (tmp_path / "wrong.toml").write_text(text)
        with pytest.raises(ConfigError, match=told):
            load_sweep([str(tmp_path / "wrong.toml")])
    with pytest.raises(ConfigError, match="Did you mean 'rate'"):
        sweep(recipe, load_sweep(["train.rat=1,2"]), DATA, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_loss_decides_only_where_parts_of_the_kind_hold_it():
    grid, named = load_sweep(["train.seed=1,2"]), SweepSpec(parameters={"train.seed": {"values": [1]}}, metric="auc")
    shipped = {name: deciding(load_recipe(path), grid) for name, path in shipped_recipes().items()}
    assert (shipped["gate-linear"], shipped["gate-uncertainty"], shipped["english"]) == ("f1", "f1", "mean")
    assert shipped["gate-attention"] == "f1"  # its weights are those of the last epoch
    assert not {"loss", "last"} & set(shipped.values())
    assert deciding(load_recipe("gate-linear", ["train.metric=ap"]), grid) == "ap"
    assert deciding(load_recipe("gate-tuned", ["train.metric=loss"]), grid) == "loss"
    assert deciding(load_recipe("gate-linear"), named) == "auc"


@pytest.mark.slow
@pytest.mark.slow
def test_a_recipe_that_keeps_the_last_epoch_is_swept(tmp_path):
    small = [
        "model.words=own",
        "model.embeddings=none",
        "model.pretrain=none",
        "calibrate.folds=0",
        "export.int8=never",
    ]
    spec = load_sweep(["train.epochs=1,2"])
    out = tmp_path / "out"
    found = sweep("gate-attention", spec, DATA, out, overrides=small, options=FEW, device="cpu")
    assert found.metric == "f1"
    assert [trial.failed for trial in found.trials] == ["", ""]
    assert open_part(out).made["metrics"]["f1"] == found.best.score


def test_a_recipe_that_names_no_metric_is_swept(tmp_path):
    spec = load_sweep(["model.strength=0.5,2.0"])
    found = sweep("gate-linear", spec, DATA, tmp_path / "out", overrides=["calibrate.folds=0"], options=FEW)
    assert found.metric == "f1"
    assert found.best.score == max(trial.score for trial in found.trials)
    assert open_part(tmp_path / "out").kind == "gate.linear"


@pytest.mark.slow
def test_trials_that_failed_are_tried_again_once_the_cause_is_mended(recipe, counting, study, tmp_path, monkeypatch):
    fit, full = counting.Counting.fit, [True]

    def on_a_full_disk(self, job):
        if full[0]:
            raise TrainingError("No space left on device.")
        return fit(self, job)

    monkeypatch.setattr(counting.Counting, "fit", on_a_full_disk)
    with pytest.raises(TrainingError, match="No space left"):
        sweep(recipe, load_sweep([study]), DATA, tmp_path / "out", options=FEW)
    full[0] = False
    found = sweep(recipe, load_sweep([study]), DATA, tmp_path / "out", options=FEW)
    assert [trial.failed for trial in found.trials] == [""] * 3
    assert found.best.score == max(trial.score for trial in found.trials)
    jobs = len(counting.jobs)
    assert sweep(recipe, load_sweep([study]), DATA, tmp_path / "out", options=FEW).best == found.best
    assert len(counting.jobs) == jobs


def test_trials_of_other_seeds_are_measured_on_the_same_turns(recipe, counting, tmp_path):
    sweep(recipe, load_sweep(["train.seed=1,2"]), {"train": ["toy"]}, tmp_path / "out", options=FEW)
    held = [{example.id for example in job.dev.examples} for job in counting.jobs]
    assert held[0] == held[1]
    assert held[0]
    with pytest.raises(ConfigError, match="cannot be compared"):
        sweep(recipe, load_sweep(["dev=0.1,0.2"]), {"train": ["toy"]}, tmp_path / "dev", options=FEW)


def test_a_sweep_whose_settings_were_all_refused_can_be_mended(recipe, tmp_path):
    with pytest.raises(TrainingError, match="Nobody can weigh that"):
        sweep(recipe, load_sweep(["model.wrong=true"]), DATA, tmp_path / "out", options=FEW)
    found = sweep(recipe, load_sweep(["model.weight=0.4"]), DATA, tmp_path / "out", options=FEW)
    assert [trial.settings for trial in found.trials] == [{"model.weight": 0.4}]


def test_a_finished_sweep_whose_trials_were_removed_is_kept(recipe, tmp_path):
    out = tmp_path / "out"
    sweep(recipe, load_sweep(["model.weight=0.9,0.4"]), DATA, out, options=FEW)
    shutil.rmtree(out / "trials")
    with pytest.raises(TrainingError, match="holds another sweep"):
        sweep(recipe, load_sweep(["model.weight=0.1"]), DATA, out, options=FEW)
    assert open_part(out).options == {"weight": 0.4}


def test_a_sweep_that_another_process_has_begun_is_kept(recipe, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(TrainingError, match="Nobody can weigh that"):
        sweep(recipe, load_sweep(["model.wrong=true"]), DATA, out, options=FEW)
    with claimed(out / "trials" / "000"), pytest.raises(TrainingError, match="holds another sweep"):
        sweep(recipe, load_sweep(["model.weight=0.4"]), DATA, out, options=FEW)
