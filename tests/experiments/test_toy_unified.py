"""The whole way with the real base: a unified model trained on the toy set, its planner against the untrained agent."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.slow]
FILE = Path(__file__).parents[2] / "experiments" / "toy" / "unims.toml"
BEFORE, AFTER = "default agent", "trained planner"


@pytest.fixture(scope="module")
def figures(weights_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], float]:
    """Figures of held-out turns by row and column, from a part that is trained for them."""
    folder = tmp_path_factory.mktemp("toy")
    command = [sys.executable, "-m", "dragoman", "evaluate", str(FILE), "--train", "--parts", str(folder / "parts")]
    command += ["--out", str(folder / "run"), "--csv", str(folder / "table.csv")]
    command += ["--system", BEFORE, "--system", AFTER]
    subprocess.run(command, check=True, env={**os.environ, "DRAGOMAN_HOME": str(weights_home), "OMP_NUM_THREADS": "2"})
    with (folder / "table.csv").open(encoding="utf-8") as rows:
        told = [row for row in csv.DictReader(rows) if row["value"]]
    return {(row["system"], row["column"]): float(row["value"]) * float(row["scale"]) for row in told}


def test_the_trained_planner_beats_the_untrained_agents_on_held_out_turns(
    figures: dict[tuple[str, str], float],
) -> None:
    for column in ("plan macro F1", "exact plan"):
        assert figures[AFTER, column] > figures[BEFORE, column] + 5


def test_replies_are_no_worse_for_it(figures: dict[tuple[str, str], float]) -> None:
    assert figures[AFTER, "ROUGE-L"] > figures[BEFORE, "ROUGE-L"] - 3
