"""The fits of docs/scaling.md by hand, and one tiny run of the program."""

from __future__ import annotations

import json
import subprocess
import sys
from math import log
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIZES = (10, 100, 1000, 10_000)


def fitted(costs):
    code = f"import curves, json; print(json.dumps(curves.fitted({SIZES}, {list(costs)})))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "benchmarks" / "serving", capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_logarithm_and_a_power_are_told_apart():
    grows = fitted([2 + 0.5 * log(n) for n in SIZES])
    assert grows["kind"] == "log" and (grows["a"], grows["b"]) == pytest.approx((2, 0.5))
    soars = fitted([3 * n**0.7 for n in SIZES])
    assert soars["kind"] == "power" and (soars["a"], soars["b"]) == pytest.approx((3, 0.7))
    assert max(grows["residual"], soars["residual"]) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("subject", ["rows", "users", "turns"])
def test_a_tiny_run_writes_what_it_found(tmp_path, subject):
    out = tmp_path / "measured.json"
    command = [sys.executable, "curves.py", subject, "--sizes", "100", "200", "300", "--times", "3", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT / "benchmarks" / "serving", capture_output=True, text=True, check=True)
    found = json.loads(out.read_text())["curves"][subject]["sqlite"]
    assert found["sizes"] == [100, 200, 300] and "fitted" in done.stdout
    assert all(len(parts["p50"]) == 3 for parts in found["milliseconds"].values())
    assert found["growth"][-1]["bytes each"] > 0


@pytest.mark.slow
def test_copied_users_are_read_as_those_that_the_store_wrote():
    code = """
import curves
from _copies import check
from dragoman.core.values import Passage
curves.BY_PRODUCT = 5
with curves.opened("postgres") as place:
    users = curves.Users(place)
    users.grow(20)
    users.costs(3)
    users.grow(40)
    assert users.size == 40 and len(place.store.scopes()) == 40
    assert [turn.speaker for turn in place.store.dialogue(curves.user(39), "d")] == ["user", "agent"]
    place.filling.put(curves.user(38), [Passage("g", "MEMORY", "I moved.")])  # numbers go on after the copied ones
    assert place.store.count(curves.user(38), "MEMORY") == 2
    try:
        check(place.store, curves.user(39), [curves.user(38)])
    except SystemExit as error:
        print("refused:", error)
    place.store.close(), place.filling.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "benchmarks" / "serving", capture_output=True, text=True, check=True
    )
    assert done.stdout == "refused: u38 has other records than u39.\n"
