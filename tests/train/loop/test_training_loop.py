"""The loop: what is learned, how fast, when it stops, and what it says when it cannot go on."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
import torch

from dragoman.core.errors import TrainingError, UnknownNameError
from dragoman.train.loop.randomness import own_chance, random_states, set_random_states
from dragoman.train.loop.training_loop import fit


def lines(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_the_loss_falls_and_dev_is_measured(tiny, tmp_path):
    task = tiny.TinyTask()
    with torch.no_grad():
        before = task.measure()["loss"]
    measures = fit(task, tiny.job(tmp_path, train={"epochs": 8}))
    assert measures["loss"] < before / 2
    assert measures["accuracy"] > 0.9


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(tiny, tmp_path):
    made = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        fit(tiny.TinyTask(), tiny.job(tmp_path / name, train={"seed": seed}))
        made.append((tmp_path / name / "best.safetensors").read_bytes())
    assert made[0] == made[1] != made[2]


def test_accumulated_batches_are_one_step_of_the_whole(tiny, tmp_path):
    """Two batches of 4 make the step of one batch of 8, where no dropout comes between."""
    whole, halves = tiny.TinyTask(batch=8, dropout=0.0), tiny.TinyTask(batch=4, dropout=0.0)
    fit(whole, tiny.job(tmp_path / "whole"))
    fit(halves, tiny.job(tmp_path / "halves", train={"accumulate": 2}))
    for one, other in zip(whole.model.parameters(), halves.model.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_a_smaller_last_batch_counts_by_its_rows(tiny, tmp_path):
    """12 rows as 8 + 4 in one step are the mean over 12 rows, not the mean of two means."""
    whole, parts = tiny.TinyTask(batch=12, rows=12, dropout=0.0), tiny.TinyTask(batch=8, rows=12, dropout=0.0)
    fit(whole, tiny.job(tmp_path / "whole", train={"epochs": 1}))
    fit(parts, tiny.job(tmp_path / "parts", train={"epochs": 1, "accumulate": 2}))
    for one, other in zip(whole.model.parameters(), parts.model.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_the_weights_of_the_best_epoch_are_kept(tiny, tmp_path):
    seen = []

    def measures():
        for value in (0.2, 0.9, 0.5):
            seen.append({name: tensor.clone() for name, tensor in task.model.state_dict().items()})
            yield {"f1": value}

    task = tiny.TinyTask(measures=measures())
    assert fit(task, tiny.job(tmp_path, train={"metric": "f1"})) == {"f1": 0.9}
    assert all(torch.equal(seen[1][name], tensor) for name, tensor in task.model.state_dict().items())


def test_a_lower_loss_is_the_better_one(tiny, tmp_path):
    task = tiny.TinyTask(measures=iter([{"loss": 0.5}, {"loss": 0.3}, {"loss": 0.4}]))
    assert fit(task, tiny.job(tmp_path)) == {"loss": 0.3}


def test_patience_stops_after_so_many_epochs_without_a_better_one(tiny, tmp_path):
    values = iter([{"f1": value} for value in (0.5, 0.4, 0.5, 0.9)])
    task = tiny.TinyTask(measures=values)
    measures = fit(task, tiny.job(tmp_path, train={"metric": "f1", "epochs": 9, "patience": 2}))
    assert measures == {"f1": 0.5}
    assert next(values) == {"f1": 0.9}


def test_a_metric_that_the_task_does_not_measure_is_told(tiny, tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'accuracy'"):
        fit(tiny.TinyTask(), tiny.job(tmp_path, train={"metric": "acuracy"}))


def test_a_metric_that_is_no_number_is_told(tiny, tmp_path):
    task = tiny.TinyTask(measures=iter([{"auc": math.nan}]))
    with pytest.raises(TrainingError, match="'auc' on dev is not a number after epoch 1"):
        fit(task, tiny.job(tmp_path, train={"metric": "auc"}))


def test_no_batches_are_told(tiny, tmp_path):
    with pytest.raises(TrainingError, match="nothing to train on"):
        fit(tiny.TinyTask(rows=0), tiny.job(tmp_path))


def test_a_loss_that_is_no_number_names_the_batch_and_keeps_the_checkpoint(tiny, tmp_path):
    def poison(task, batch):
        if len(task.seen) == 9:
            task.inputs[batch[0]] = math.nan

    task = tiny.TinyTask(after=poison)
    with pytest.raises(TrainingError, match=r"loss is nan in epoch 2, batch 3 \(rows ") as caught:
        fit(task, tiny.job(tmp_path))
    assert caught.value.fields["rows"] == task.seen[8]
    assert "train.rate" in caught.value.remedy
    assert f"The last good checkpoint is kept in '{tmp_path}'." in caught.value.message
    assert [place.name for place in (tmp_path / "checkpoint").iterdir()] == ["0001-00000008"]
    mended = tiny.TinyTask()
    fit(mended, tiny.job(tmp_path))
    assert len(mended.seen) == 18 - 8


def test_a_gradient_that_is_infinite_stops_before_the_weights_are_spoilt(tiny, tmp_path):
    class Steep(tiny.TinyTask):
        def loss(self, batch):
            loss = super().loss(batch)
            root = torch.sqrt(self.model[3].bias.sum() * 0.0)  # 0, with a gradient of infinity times 0
            return loss + root if len(self.seen) > 4 else loss

    task = Steep()
    with pytest.raises(TrainingError, match=r"gradient is nan in epoch 1, batch 5 .*kept in"):
        fit(task, tiny.job(tmp_path))
    assert all(bool(torch.isfinite(parameter).all()) for parameter in task.model.parameters())


def test_where_nothing_was_saved_no_checkpoint_is_promised(tiny, tmp_path):
    def poison(task, batch):
        task.inputs[batch[0]] = math.nan

    with pytest.raises(TrainingError, match=r"loss is nan in epoch 1, batch 1 .*No checkpoint was written yet\."):
        fit(tiny.TinyTask(after=poison), tiny.job(tmp_path / "loss"))

    class Wide(tiny.TinyTask):
        def measure(self):
            raise torch.OutOfMemoryError("CUDA out of memory.")

    with pytest.raises(TrainingError, match=r"while dev was measured .*No checkpoint was written yet\."):
        fit(Wide(), tiny.job(tmp_path / "dev", train={"save": 500}))


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory."), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_out_of_memory_says_which_batch_size_fits(tiny, tmp_path, error):
    def full(task, batch):
        if len(batch) > 3:
            raise error

    with pytest.raises(TrainingError, match=r"with 8 rows at a time\. 2 rows fit") as caught:
        fit(tiny.TinyTask(after=full), tiny.job(tmp_path, train={"accumulate": 2}))
    assert "train.batch=2 --set train.accumulate=8" in caught.value.remedy


def test_out_of_memory_of_one_of_several_tasks_names_its_own_setting(tiny, tmp_path):
    class OfTwo(tiny.TinyTask):
        def batch_setting(self, batch):
            return "input.tables.relevance.train.batch"

    def full(task, batch):
        if len(batch) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory.")

    with pytest.raises(TrainingError, match="2 rows fit") as caught:
        fit(OfTwo(after=full), tiny.job(tmp_path))
    assert caught.value.remedy == "Give --set input.tables.relevance.train.batch=2 with --fresh."


def test_out_of_memory_with_a_single_row_is_told(tiny, tmp_path):
    def full(task, batch):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    with pytest.raises(TrainingError, match="Not even one row fits"):
        fit(tiny.TinyTask(after=full), tiny.job(tmp_path))


def test_out_of_memory_of_batches_by_tokens_says_how_many_fit(tiny, tmp_path):
    class ByTokens(tiny.TinyTask):
        batch_tokens, sizes = 512, [40] * tiny.ROWS

    def full(task, batch):
        if len(batch) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory.")

    with pytest.raises(TrainingError, match="2 of them fit, 80 tokens") as caught:
        fit(ByTokens(after=full), tiny.job(tmp_path))
    assert "model.batch_tokens=80 --set train.accumulate=4" in caught.value.remedy

    def no_room(task, batch):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    with pytest.raises(TrainingError, match="Not even one fits, in a batch of 512 tokens") as caught:
        fit(ByTokens(after=no_room), tiny.job(tmp_path))
    assert "model.batch_tokens=256" in caught.value.remedy


def test_out_of_memory_over_dev_is_told_and_the_checkpoint_kept(tiny, tmp_path):
    class Wide(tiny.TinyTask):
        def measure(self):
            raise torch.OutOfMemoryError("CUDA out of memory.")

    with pytest.raises(TrainingError, match=r"while dev was measured after epoch 1.*kept in") as caught:
        fit(Wide(), tiny.job(tmp_path))
    assert "run the same command again" in caught.value.remedy
    task = tiny.TinyTask()
    fit(task, tiny.job(tmp_path))
    assert len(task.seen) < 3 * 6  # some steps of the first epoch were kept


def test_other_errors_of_a_task_are_its_own(tiny, tmp_path):
    def wrong(task, batch):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        fit(tiny.TinyTask(after=wrong), tiny.job(tmp_path))


def test_progress_tells_steps_loss_and_the_latest_metric(tiny, tmp_path):
    told = []
    fit(tiny.TinyTask(), tiny.job(tmp_path, report=told.append, train={"metric": "accuracy"}))
    assert [progress.done for progress in told] == sorted(progress.done for progress in told)
    assert {progress.total for progress in told} == {18}
    assert told[0].metric is None
    assert told[-1].metric == lines(tmp_path)[-1]["dev"]["accuracy"]
    assert all(progress.loss > 0 for progress in told)


def test_the_log_has_a_line_a_step_and_an_epoch(tiny, tmp_path):
    fit(tiny.TinyTask(), tiny.job(tmp_path))
    found = lines(tmp_path)
    assert [line["step"] for line in found if "rate" in line] == list(range(1, 19))
    assert [line["epoch"] for line in found if "dev" in line] == [1, 2, 3]


def test_after_a_stop_no_line_of_the_log_stands_twice(tiny, tmp_path):
    def stop(task, batch):
        if len(task.seen) == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(tiny.TinyTask(after=stop), tiny.job(tmp_path / "stopped"))
    fit(tiny.TinyTask(), tiny.job(tmp_path / "stopped"))
    fit(tiny.TinyTask(), tiny.job(tmp_path / "whole"))
    for line in (found := lines(tmp_path / "stopped")) + (wanted := lines(tmp_path / "whole")):
        line.pop("seconds", None)
    assert found == wanted


def test_tensorboard_shows_each_step_once(tiny, tmp_path, monkeypatch):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.summary.writer import event_file_writer

    # of one second, files are read in the order of this number's digits: the tenth before the ninth
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))

    def stop(task, batch):
        if len(task.seen) == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(tiny.TinyTask(after=stop), tiny.job(tmp_path))
    fit(tiny.TinyTask(), tiny.job(tmp_path))
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("train/loss")] == list(range(1, 19))
    assert [event.step for event in events.Scalars("dev/accuracy")] == [6, 12, 18]


def test_half_precision_is_used_where_it_is_asked_for(tiny, tmp_path):
    kinds = []

    def look(task, batch):
        kinds.append(task.model(task.inputs[:2]).dtype)

    fit(tiny.TinyTask(after=look), tiny.job(tmp_path / "half", train={"precision": "bfloat16", "epochs": 1}))
    assert set(kinds) == {torch.bfloat16}
    kinds.clear()
    fit(tiny.TinyTask(after=look), tiny.job(tmp_path / "auto", train={"epochs": 1}))
    assert set(kinds) == {torch.float32}


def test_a_folder_of_its_own_keeps_trainings_of_one_job_apart(tiny, tmp_path):
    job = tiny.job(tmp_path)
    fit(tiny.TinyTask(), job, folder=tmp_path / "fold-1")
    assert (tmp_path / "fold-1" / "best.safetensors").exists()
    assert not (tmp_path / "best.safetensors").exists()


def test_training_leaves_the_chance_of_others_as_it_was(tiny, tmp_path):
    task = tiny.TinyTask()
    random.seed(3), np.random.seed(3), torch.manual_seed(3)
    wanted = random.random(), np.random.rand(), torch.rand(1)
    random.seed(3), np.random.seed(3), torch.manual_seed(3)
    fit(task, tiny.job(tmp_path))
    assert (random.random(), np.random.rand(), torch.rand(1)) == wanted


def test_random_states_survive_json():
    with own_chance(5):
        random.gauss(0, 1), np.random.randn()  # both keep a second value in hand
        states = json.loads(json.dumps(random_states()))
        wanted = random.gauss(0, 1), np.random.randn(), torch.rand(1)
        set_random_states(states)
        assert (random.gauss(0, 1), np.random.randn(), torch.rand(1)) == wanted
