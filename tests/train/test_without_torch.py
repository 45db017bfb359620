"""What is said to train without torch does so where there is none."""

from __future__ import annotations

import subprocess
import sys

_TRAINING = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "safetensors"):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, Missing())
from dragoman.train.recipe import load_recipe
from dragoman.train.run import train

part = train(load_recipe("gate-linear"), {"train": ["toy"]}, sys.argv[1], options={"dialogues": 60})
print(part.kind, part.made["metrics"]["f1"] > 0.5)
"""


def test_a_linear_gate_is_trained(tmp_path):
    command = [sys.executable, "-c", _TRAINING, str(tmp_path / "gate")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("gate.linear True\n", 0), done.stderr
