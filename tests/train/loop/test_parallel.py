"""Two processes that train one model: what they learn is what one does with twice as many batches a step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from dragoman.core.errors import TrainingError
from dragoman.train.loop.parallel import Ranks, rank, size
from dragoman.train.recipe import recipe_of
from dragoman.train.run import train

TINY = Path(__file__).parents[1] / "tiny.py"


def start(folder, *options, processes=1):
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [sys.executable, *(several if processes > 1 else ()), str(TINY), str(folder), "--dropout", "0", *options]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})


def test_a_process_alone_sends_nothing(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    ranks = Ranks("cpu")
    assert (rank(), size(), ranks.is_first) == (0, 1, True)
    assert ranks.share([1, 2, 3]) == [1, 2, 3]
    assert ranks.total(2.5) == 2.5 and ranks.broadcast("x") == "x"
    parameter = torch.nn.Parameter(torch.ones(2))
    ranks.sum_gradients([parameter])
    assert parameter.grad is None


def test_other_learners_are_trained_by_one_process(monkeypatch, tmp_path):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(TrainingError, match="trained by one process"):
        train(recipe_of({"kind": "gate.linear"}), {"train": ["toy"]}, tmp_path / "out")


@pytest.mark.slow
def test_two_processes_learn_what_one_learns_with_both_their_batches(tmp_path):
    both = start(tmp_path / "two", processes=2)
    alone = start(tmp_path / "one", "--accumulate", "2")
    assert [process.wait(timeout=240) for process in (both, alone)] == [0, 0]
    one, two = load_file(tmp_path / "one" / "best.safetensors"), load_file(tmp_path / "two" / "best.safetensors")
    for name, weights in one.items():
        assert torch.allclose(weights, two[name], atol=1e-5), name
    texts = [(tmp_path / run / "log.jsonl").read_text() for run in ("one", "two")]
    logs = [[json.loads(line) for line in text.splitlines()] for text in texts]
    assert [line.get("step") for line in logs[0]] == [line.get("step") for line in logs[1]]
    for left, right in zip(*logs, strict=True):
        if "loss" in left:
            assert left["loss"] == pytest.approx(right["loss"], abs=1e-5)
