"""Checkpoints: killed trainings go on to the same weights; what does not belong is refused and left alone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dragoman.core.errors import TrainingError
from dragoman.train.loop import checkpoint
from dragoman.train.loop.checkpoint import Checkpoints, TrainingState, identity
from dragoman.train.loop.optimiser import adamw
from dragoman.train.loop.training_loop import fit

PROGRAM = Path(__file__).parents[1] / "tiny.py"


def started(folder, *options):
    command = [sys.executable, str(PROGRAM), str(folder), *options]
    return subprocess.run(command, check=False, capture_output=True, timeout=120)


def newest(folder):
    return max((folder / "checkpoint").iterdir())


def stop_at(step):
    """A task's `after` that stops it like Ctrl-C at the n-th batch."""

    def after(task, batch):
        if len(task.seen) == step:
            raise KeyboardInterrupt

    return after


@pytest.mark.slow
def test_a_training_killed_mid_epoch_ends_with_byte_identical_weights(tiny, tmp_path):
    """Six steps an epoch, saved every second: killed in the middle of epoch 2, after a step that was not saved."""
    assert started(tmp_path / "killed", "--kill", "12").returncode == -signal.SIGKILL
    assert newest(tmp_path / "killed").name == "0001-00000010"
    fit(tiny.TinyTask(), tiny.job(tmp_path / "killed"))
    fit(tiny.TinyTask(), tiny.job(tmp_path / "whole"))
    one, other = ((tmp_path / name / "best.safetensors").read_bytes() for name in ("killed", "whole"))
    assert one == other


def test_stopped_at_any_batch_the_weights_are_the_same(tiny, tmp_path):
    wanted = fit(tiny.TinyTask(), tiny.job(tmp_path / "whole", train={"accumulate": 2}))
    bytes_wanted = (tmp_path / "whole" / "best.safetensors").read_bytes()
    for number in (1, 4, 7, 11, 12, 13, 18):
        folder = tmp_path / str(number)
        with pytest.raises(KeyboardInterrupt):
            fit(tiny.TinyTask(after=stop_at(number)), tiny.job(folder, train={"accumulate": 2}))
        assert fit(tiny.TinyTask(), tiny.job(folder, train={"accumulate": 2})) == wanted
        assert (folder / "best.safetensors").read_bytes() == bytes_wanted


def test_going_on_does_not_repeat_what_was_saved(tiny, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fit(tiny.TinyTask(after=stop_at(11)), tiny.job(tmp_path))
    task = tiny.TinyTask()
    fit(task, tiny.job(tmp_path))
    assert len(task.seen) == 18 - 10


def test_a_finished_training_is_not_trained_again_and_has_its_best_weights(tiny, tmp_path):
    first = tiny.TinyTask()
    measures = fit(first, tiny.job(tmp_path))
    again = tiny.TinyTask(seed=99)
    assert fit(again, tiny.job(tmp_path)) == measures
    assert again.seen == []
    for mine, theirs in zip(again.model.parameters(), first.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_one_checkpoint_is_left_and_no_partial_one(tiny, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fit(tiny.TinyTask(after=stop_at(11)), tiny.job(tmp_path))
    assert [place.name for place in (tmp_path / "checkpoint").iterdir()] == ["0001-00000010"]


def test_a_half_written_checkpoint_is_passed_over(tiny, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fit(tiny.TinyTask(after=stop_at(11)), tiny.job(tmp_path))
    (tmp_path / "checkpoint" / ".partial-1").mkdir()
    (tmp_path / "checkpoint" / ".partial-1" / "state.json").write_text("{")
    task = tiny.TinyTask()
    fit(task, tiny.job(tmp_path))
    assert len(task.seen) == 8
    assert [place.name for place in (tmp_path / "checkpoint").iterdir()] == ["0003-00000018"]


def test_a_checkpoint_of_another_version_is_refused_and_kept(tiny, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fit(tiny.TinyTask(after=stop_at(11)), tiny.job(tmp_path))
    state = newest(tmp_path) / "state.json"
    table = json.loads(state.read_text()) | {"format": 0}
    state.write_text(json.dumps(table))
    with pytest.raises(TrainingError, match=r"has the format 0; this version reads 1.*--fresh"):
        fit(tiny.TinyTask(), tiny.job(tmp_path))
    assert json.loads(state.read_text()) == table


def test_a_checkpoint_of_another_recipe_is_refused_and_kept(tiny, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fit(tiny.TinyTask(after=stop_at(11)), tiny.job(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(TrainingError, match=r"the recipe changed since.*--fresh"):
        fit(tiny.TinyTask(), tiny.job(tmp_path, train={"rate": 0.5}))
    assert {path: path.read_bytes() for path in before} == before


def test_a_checkpoint_of_other_data_is_refused(tiny, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fit(tiny.TinyTask(after=stop_at(11)), tiny.job(tmp_path))
    other = replace(tiny.job(tmp_path), dev=tiny.corpus("c", "d"))
    with pytest.raises(TrainingError, match="the dev data changed since"):
        fit(tiny.TinyTask(), other)


def test_words_of_a_recipe_do_not_make_it_another(tiny, tmp_path):
    assert identity(tiny.job(tmp_path)) == identity(tiny.job(tmp_path, about="Mine.", name="x"))


def test_another_frozen_base_is_refused(tiny, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fit(tiny.TinyTask(after=stop_at(11), freeze=True), tiny.job(tmp_path))
    with pytest.raises(TrainingError, match="the frozen weights changed since"):
        fit(tiny.TinyTask(freeze=True, seed=2), tiny.job(tmp_path))


def test_the_best_weights_are_whole_and_checkpoints_hold_what_changes(tiny, tmp_path):
    from safetensors.torch import load_file

    with pytest.raises(KeyboardInterrupt):
        fit(tiny.TinyTask(after=stop_at(11), freeze=True), tiny.job(tmp_path))
    assert set(load_file(newest(tmp_path) / "model.safetensors")) == {"1.weight", "1.bias", "3.weight", "3.bias"}
    fresh = tiny.TinyTask(seed=5).model
    fresh.load_state_dict(load_file(tmp_path / "best.safetensors"))
    assert torch.equal(fresh[0].weight, tiny.TinyTask().model[0].weight)


def test_of_a_model_with_an_adapter_the_adapter_alone_is_written(tiny, tmp_path):
    from safetensors.torch import load_file

    task = tiny.TinyTask(freeze=True)
    task.model.peft_config = {}
    fit(task, tiny.job(tmp_path))
    assert "0.weight" not in load_file(tmp_path / "best.safetensors")


def test_a_damaged_checkpoint_is_told(tiny, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fit(tiny.TinyTask(after=stop_at(11)), tiny.job(tmp_path))
    (newest(tmp_path) / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(TrainingError, match=r"cannot be read.*--fresh"):
        fit(tiny.TinyTask(), tiny.job(tmp_path))


def test_a_full_disk_keeps_the_checkpoint_before(tiny, tmp_path, monkeypatch):
    task = tiny.TinyTask()
    optimiser = adamw(task.model, tiny.job(tmp_path).recipe.train)
    saved = Checkpoints(tmp_path, {})
    saved.save(task.model, optimiser, TrainingState(step=1))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(TrainingError, match=r"No space left.*one before is kept"):
        saved.save(task.model, optimiser, TrainingState(step=2))
    assert [place.name for place in (tmp_path / "checkpoint").iterdir()] == ["0000-00000001"]
    assert saved.load(task.model, optimiser) == TrainingState(step=1)
