"""The benchmark of several servers, at its smallest: it starts them, counts, and loses nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "serving" / "replicas.py"


@pytest.mark.slow
def test_one_and_two_servers_stand_beside_one_another_with_their_ratio():
    command = [sys.executable, str(PROGRAM), "--case", "waiting", "--seconds", "1.5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if "|" in line]
    shown = {(row[1], row[2]): row for row in rows[2:]}
    assert set(shown) == {("a file", "1"), ("PostgreSQL", "1"), ("PostgreSQL", "2")}
    for row in shown.values():
        assert float(row[3].replace(",", "")) > 0 and row[7] == "0", row
    one, two = (float(shown["PostgreSQL", count][3].replace(",", "")) for count in "12")
    assert shown["PostgreSQL", "1"][4] == "1.00"
    assert float(shown["PostgreSQL", "2"][4]) == pytest.approx(two / one, rel=0.05)
