"""`evaluate`, `report` and `compare`."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("lab_set", Path(__file__).parents[1] / "evaluate" / "conftest.py")
lab_set = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(lab_set)

INTERRUPTED = """
import os, signal, sys
from dragoman.evaluate import manifest
from dragoman.evaluate.folder import RunFolder
manifest.code_digest = lambda: "0" * 64
real, calls = RunFolder.append, []
def append(self, *given):
    real(self, *given)
    calls.append(given)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGINT)
RunFolder.append = append
from dragoman.cli.main import run
sys.argv[0] = "dragoman"
run()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder to work in, with a set and an experiment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dragoman.evaluate.manifest.code_digest", lambda: "0" * 64)
    lab_set.write_set(tmp_path / "ferries.jsonl")
    (tmp_path / "ferry.toml").write_text(lab_set.EXPERIMENT.format(file="ferries.jsonl"), encoding="utf-8")
    return tmp_path


def test_evaluate_prints_the_table_and_says_where_it_lies(invoke, place):
    done = invoke("evaluate", "ferry.toml")
    assert done.exit_code == 0, done.output
    for part in ("100.0 ±0.0", "paper 36.8", "not built", "bm25 (baseline)", "runs/ferry/report.html"):
        assert part in done.stdout
    assert {path.name for path in (place / "runs" / "ferry").iterdir()} >= {
        "run.json", "results.json", "results.md", "results.csv", "report.html", "rows", "times",
    }  # fmt: skip


def test_two_runs_write_the_same_json(invoke, place):
    for name in ("a", "b"):
        done = invoke("evaluate", "ferry.toml", "--out", name, "--json", f"{name}.json")
        assert done.exit_code == 0, done.output
    assert (place / "a.json").read_bytes() == (place / "b.json").read_bytes()
    assert (place / "a.json").read_bytes() == (place / "a" / "results.json").read_bytes()


def test_files_systems_limits_and_overrides_are_heeded(invoke, place):
    lab_set.write_set(place / "other.jsonl", dialogues=2)
    done = invoke(
        *("evaluate", "ferry.toml", "--data", "ferries=other.jsonl", "--system", "bm25", "--limit", "3"),
        *("--set", "title=Boats", "--md", "out.md", "--csv", "out.csv"),
    )
    assert done.exit_code == 0, done.output
    assert "Boats" in done.stdout
    assert "3 turns of 2 dialogues" in done.stdout
    assert "| never" not in (place / "out.md").read_text()
    assert (place / "out.csv").read_text().startswith("set,group,system")


def test_a_set_of_ones_own_needs_no_experiment(invoke, place):
    chosen = ("--system", "bm25", "--system", "frequent", "--limit", "4")
    light = ("--set", "systems.bm25.reader.kind=silent", "--set", "systems.frequent.retriever.kind=sparse")
    done = invoke("evaluate", "--data", "ferries.jsonl", *chosen, *light)
    assert done.exit_code == 0, done.output
    for part in ("gate F1", "plan F1", "Hit@1", "BLEU", "ms a turn", "the file itself"):
        assert part in done.stdout
    assert (place / "runs" / "ferries" / "results.json").exists()


def test_columns_of_ones_own_set_are_those_its_labels_allow(invoke, place):
    lab_set.write_set(place / "bare.jsonl", labels=("evidence",))
    done = invoke("evaluate", "--data", "bare.jsonl", "--system", "bm25")
    assert done.exit_code == 0, done.output
    assert "Hit@1" in done.stdout
    assert "gate F1" not in done.stdout
    lab_set.write_set(place / "none.jsonl", labels=())
    assert "has no labels" in str(invoke("evaluate", "--data", "none.jsonl").exception)


def test_wrong_use_is_told_with_code_2(invoke, place):
    assert invoke("evaluate").exit_code == 2
    assert invoke("evaluate", "--data", "a", "--data", "b").exit_code == 2
    done = invoke("evaluate", "ferry.toml", "--data", "ferries.jsonl")
    assert done.exit_code == 2
    assert "--data ferries=ferries.jsonl" in " ".join(done.output.replace("│", " ").split())


def test_wrong_names_are_told_with_what_was_meant(invoke, place):
    assert "Did you mean 'safari-5'" in str(invoke("evaluate", "safary-5").exception)
    assert "Did you mean 'ferries'" in str(invoke("evaluate", "ferry.toml", "--data", "ferris").exception)
    assert "Did you mean 'bm25'" in str(invoke("evaluate", "ferry.toml", "--system", "bm52").exception)
    assert "Did you mean 'title'" in str(invoke("evaluate", "ferry.toml", "--set", "tile=x").exception)


def test_another_config_is_refused_with_the_remedy(invoke, place):
    invoke("evaluate", "ferry.toml")
    done = invoke("evaluate", "ferry.toml", "--set", "systems.bm25.k=1")
    assert "systems.bm25.k" in str(done.exception)
    assert "--fresh" in str(done.exception)
    assert invoke("evaluate", "ferry.toml", "--set", "systems.bm25.k=1", "--fresh").exit_code == 0


def test_the_shipped_experiments_are_listed_with_their_titles(invoke, place):
    done = invoke("evaluate", "--list")
    assert done.exit_code == 0
    assert "safari-5" in done.stdout
    assert "Retrieval" in done.stdout


def test_ctrl_c_says_how_to_go_on_and_the_run_does(invoke, place):
    arguments = [sys.executable, "-c", INTERRUPTED, "evaluate", "ferry.toml", "--fresh"]
    stopped = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=60)
    assert stopped.returncode == 130, stopped.stderr
    assert "Go on with:  dragoman evaluate ferry.toml\n" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert not (place / "runs" / "ferry" / "results.json").exists()
    assert invoke("evaluate", "ferry.toml").exit_code == 0
    assert invoke("evaluate", "ferry.toml", "--out", "whole").exit_code == 0
    one, other = (place / name / "results.json" for name in ("runs/ferry", "whole"))
    assert one.read_bytes() == other.read_bytes()


def test_report_joins_runs_and_writes_every_format(invoke, place):
    invoke("evaluate", "ferry.toml")
    invoke("evaluate", "ferry.toml", "--limit", "4", "--out", "few")
    done = invoke("report", "runs/ferry", "few", "--out", "joined", "--html", "page.html")
    assert done.exit_code == 0, done.output
    assert "12 turns" in done.stdout
    assert "4 turns" in done.stdout
    assert {path.name for path in (place / "joined").iterdir()} == {
        "results.json", "results.md", "results.csv", "report.html",
    }  # fmt: skip
    assert json.loads((place / "joined" / "results.json").read_text())["tables"]
    assert "<html" in (place / "page.html").read_text()
    assert "is the folder of a run" in str(invoke("report", "few", "--out", "few").exception)


def test_report_of_what_is_no_run_says_so(invoke, place):
    assert "There is no folder 'nowhere'" in str(invoke("report", "nowhere").exception)


def test_compare_shows_counts_and_turns(invoke, place):
    invoke("evaluate", "ferry.toml")
    done = invoke("compare", "runs/ferry:never", "runs/ferry:bm25", "--limit", "1")
    assert done.exit_code == 0, done.output
    for part in ("never > bm25", "gate on 12", "asked   What does the ferry of Ellisund cost?", "does not look", "p0"):
        assert part in done.stdout


LIGHT = """
name = "Robin"
[gate]
kind = "never"
[planner]
kind = "all"
[retriever]
kind = "sparse"
[reader]
kind = "silent"
"""


def test_an_agent_of_ones_own_is_a_row_beside_those_that_were_chosen(invoke, place):
    (place / "robin").mkdir()
    (place / "robin" / "agent.toml").write_text(LIGHT)
    command = ("evaluate", "--data", "ferries.jsonl", "--agent", "robin", "--system", "bm25")
    light = ("--set", "systems.bm25.reader.kind=silent")
    done = invoke(*command, *light)
    assert done.exit_code == 0, done.output
    table = json.loads((place / "runs" / "ferries" / "results.json").read_text())["tables"][0]
    rates = {row["system"]: row["cells"][0]["value"] for row in table["rows"]}
    assert rates == {"bm25": pytest.approx(2 / 3), "robin": 0.0}
    assert "dragoman compare runs/ferries:bm25 runs/ferries:robin" in done.stdout
    assert "dragoman report runs/ferries" in done.stdout
    (place / "robin" / "agent.toml").write_text(LIGHT.replace("never", "always"))
    assert "systems.robin.gate.kind" in str(invoke(*command, *light).exception)


def test_an_agent_that_is_not_there_is_told_with_its_row(invoke, place):
    done = invoke("evaluate", "ferry.toml", "--agent", "habour")
    assert "System 'habour': Unknown agent 'habour'. Did you mean 'harbour'" in str(done.exception)


LEARNED = """
[[parts]]
name = "own-gate"
recipe = "gate-linear"
data = {train = ["more.jsonl"]}
set = {"calibrate.folds" = 2}
[[systems]]
name = "learned"
gate = {kind = "linear", part = "@own-gate"}
retriever = {kind = "sparse"}
"""


def test_a_row_is_trained_where_that_is_asked_and_told_how_where_not(invoke, place):
    pytest.importorskip("sklearn")
    lab_set.write_set(place / "more.jsonl", dialogues=40)
    with (place / "ferry.toml").open("a", encoding="utf-8") as opened:
        opened.write(LEARNED)
    untrained = invoke("evaluate", "ferry.toml", "--parts", "parts")
    assert untrained.exit_code == 0, untrained.output
    assert "not trained" in untrained.stdout
    assert "--train" in untrained.stdout.splitlines()[-1]
    trained = invoke("evaluate", "ferry.toml", "--parts", "parts", "--train", "--json", "out.json")
    assert trained.exit_code == 0, trained.output
    assert "not trained" not in trained.stdout
    assert len(list((place / "parts").glob("own-gate-*/part.json"))) == 1
    [table] = json.loads((place / "out.json").read_text())["tables"]
    [row] = [row for row in table["rows"] if row["system"] == "learned"]
    assert row["cells"][1]["value"] == 1.0  # questions and thanks are easily told apart
