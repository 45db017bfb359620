"""The plan of docs/scaling.md, one line by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_plan_by_hand(tmp_path):
    """8,640,000 users, one turn a day each: 100 a second; 6 ms of a core at 60 % busy is one core."""
    stages = {"core milliseconds": 6.0, "database core milliseconds": 3.0, "turn milliseconds": 20.0, "bytes": 1000.0}
    measured = {
        "stages": {"postgres": stages | {"log bytes": 500.0, "transactions": 4.0}},
        "curves": {"rows": {"postgres": {"growth": [{"bytes each": 2000.0}]}}},
    }
    file = tmp_path / "measured.json"
    file.write_text(json.dumps(measured))
    given = ["--users", "8640000", "--active", "1", "--turns", "1", "--peak", "1", "--facts", "10", "--keep-days", "10"]
    done = subprocess.run(
        [sys.executable, "plan.py", "--times", str(file), *given],
        cwd=ROOT / "benchmarks" / "serving",
        capture_output=True,
        text=True,
        check=True,
    )
    lines = {line.split("|")[1].strip(): line.split("|")[3].strip() for line in done.stdout.splitlines()}
    assert lines["turns a second at the peak"] == "100"
    assert lines["cores for servers"].startswith("1: 1 servers on 1 machines")
    assert lines["facts"] == "0.2 TB" and lines["turns kept"] == "0.1 TB"
    assert lines["databases"] == "1, each with 8.6 million users"
    assert lines["rows a partition"] == "5.4 million"
    assert lines["connections in use and database"] == "2; 1 servers could hold 8"
    assert lines["write-ahead log and database"] == "0.05 MB/s"
