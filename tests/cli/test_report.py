"""`report`."""

from __future__ import annotations

import json


def test_report_joins_runs_and_writes_every_format(invoke, lab):
    invoke("evaluate", "ferry.toml")
    invoke("evaluate", "ferry.toml", "--limit", "4", "--out", "few")
    done = invoke("report", "runs/ferry", "few", "--out", "joined", "--html", "page.html")
    assert done.exit_code == 0, done.output
    assert "12 turns" in done.stdout
    assert "4 turns" in done.stdout
    assert {path.name for path in (lab / "joined").iterdir()} == {
        "results.json", "results.md", "results.csv", "report.html",
    }  # fmt: skip
    assert json.loads((lab / "joined" / "results.json").read_text())["tables"]
    assert "<html" in (lab / "page.html").read_text()
    assert "is the folder of a run" in str(invoke("report", "few", "--out", "few").exception)


def test_report_of_what_is_no_run_says_so(invoke, lab):
    assert "There is no folder 'nowhere'" in str(invoke("report", "nowhere").exception)
