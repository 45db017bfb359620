"""`train` and `export`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

LEARNER = Path(__file__).parents[1] / "train" / "learner.py"
STOPPED = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("learner", sys.argv.pop(1))
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from dragoman.train.registry import learners
learners._loaded = True
learners.register(module.KIND)(module.Counting)
from dragoman.cli.main import run
run()
"""
TOY = ("--data", "train=toy", "--data", "dev=toy", "--option", "dialogues=20")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder to work in, with a recipe of a learner that counts."""
    spec = importlib.util.spec_from_file_location("dragoman_cli_learner", LEARNER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.register()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counting.toml").write_text(module.RECIPE)
    yield tmp_path
    module.unregister()


def test_train_prints_the_figures_and_how_to_use_the_part(invoke, place):
    done = invoke("train", "counting.toml", *TOY, "--out", "mine")
    assert done.exit_code == 0, done.output
    for part in ("gate.counting on dev", "f1 (decided)", "0.3000", "threshold of gate", "size, MB"):
        assert part in done.stdout
    assert "dragoman chat --set gate.kind=counting --set gate.part=mine" in done.stdout
    assert (place / "mine" / "README.md").exists()


def test_overrides_go_by_path_and_the_folder_has_a_default(invoke, place):
    done = invoke("train", "counting.toml", *TOY, "--model.weight", "0.5", "--set", "train.epochs=2")
    assert done.exit_code == 0, done.output
    told = (place / "trained" / "counting" / "recipe.toml").read_text()
    assert "weight = 0.5" in told
    assert "epochs = 2" in told


def test_a_finished_folder_is_told_and_afresh_it_is_trained_again(invoke, place):
    invoke("train", "counting.toml", *TOY)
    done = invoke("train", "counting.toml", *TOY)
    assert "was finished already" in done.stdout
    assert "was finished already" not in invoke("train", "counting.toml", *TOY, "--fresh").stdout
    other = invoke("train", "counting.toml", *TOY, "--model.weight", "2")
    assert "holds another training" in str(other.exception)


def test_wrong_use_is_told_with_code_2(invoke, place):
    assert invoke("train").exit_code == 2
    assert invoke("train", "counting.toml").exit_code == 2
    assert invoke("train", "counting.toml", *TOY, "--trials", "3").exit_code == 2
    assert invoke("train", "counting.toml", *TOY, "--device", "tpu").exit_code == 2


def test_wrong_names_are_told_with_what_was_meant(invoke, place):
    assert "Write --data train=toy" in str(invoke("train", "counting.toml", "--data", "toy").exception)
    assert "Did you mean 'epochs'" in str(invoke("train", "counting.toml", *TOY, "--train.epoch", "3").exception)
    assert "Did you mean 'gate-linear'" in str(invoke("train", "gate-liner", *TOY).exception)


def test_the_shipped_recipes_are_listed(invoke, place):
    done = invoke("train", "--list")
    assert done.exit_code == 0
    assert "gate.linear" in done.stdout


def test_a_sweep_prints_its_trials_and_leaves_the_best(invoke, place):
    done = invoke("train", "counting.toml", *TOY, "--out", "swept", "--sweep", "model.weight=0.9,0.4")
    assert done.exit_code == 0, done.output
    assert "model.weight=0.9" in done.stdout
    best = next(line for line in done.stdout.splitlines() if "best" in line)
    assert "model.weight=0.4" in best
    assert (place / "swept" / "part.json").exists()
    assert (place / "swept" / "trials" / "001" / "part.json").exists()


def test_ctrl_c_says_how_to_go_on(place):
    words = ["train", "counting.toml", *TOY, "--model.stop", "true", "--device", "cpu", "--fresh"]
    command = [sys.executable, "-c", STOPPED, str(LEARNER), *words]
    stopped = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert stopped.returncode == 130, stopped.stderr
    assert "is kept in trained/counting" in stopped.stderr
    assert "Go on with:  dragoman train counting.toml --data train=toy" in stopped.stderr
    assert "--fresh" not in stopped.stderr
    assert "Traceback" not in stopped.stderr


def test_export_of_what_has_nothing_to_export_is_told(invoke, place):
    invoke("train", "counting.toml", *TOY, "--out", "mine")
    assert "runs as it is" in str(invoke("export", "mine").exception)
    assert "Unknown part 'nowhere'" in str(invoke("export", "nowhere").exception)


def test_export_says_how_large_it_became(invoke, place, monkeypatch):
    from dragoman.models.part import open_part
    from dragoman.train.export import trunk
    from dragoman.train.export.torch_to_onnx import Exported

    invoke("train", "counting.toml", *TOY, "--out", "mine")
    asked = []

    def exported(folder, *, int8):
        asked.append((folder, int8))
        return open_part(folder), Exported(8, 2_500_000)

    monkeypatch.setattr(trunk, "export_part", exported)
    done = invoke("export", "mine", "--int8", "always")
    assert asked == [(Path("mine"), "always")]
    assert "2.5 MB, weights in 8 bits" in done.stdout
