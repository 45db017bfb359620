"""`evaluate`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

INTERRUPTED = """
import os, signal, sys
from dragoman.evaluate.running import manifest
from dragoman.evaluate.running.run_folder import RunFolder
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


def test_evaluate_prints_the_table_and_says_where_it_lies(invoke, lab):
    done = invoke("evaluate", "ferry.toml")
    assert done.exit_code == 0, done.output
    for part in ("100.0 ±0.0", "paper 36.8", "not built", "bm25 (baseline)", "runs/ferry/report.html"):
        assert part in done.stdout
    assert {path.name for path in (lab / "runs" / "ferry").iterdir()} >= {
        "run.json", "results.json", "results.md", "results.csv", "report.html", "rows", "times",
    }  # fmt: skip


def test_two_runs_write_the_same_json(invoke, lab):
    for name in ("a", "b"):
        done = invoke("evaluate", "ferry.toml", "--out", name, "--json", f"{name}.json")
        assert done.exit_code == 0, done.output
    assert (lab / "a.json").read_bytes() == (lab / "b.json").read_bytes()
    assert (lab / "a.json").read_bytes() == (lab / "a" / "results.json").read_bytes()


def test_files_systems_limits_and_overrides_are_heeded(invoke, lab, lab_set):
    lab_set.write_set(lab / "other.jsonl", dialogues=2)
    done = invoke(
        *("evaluate", "ferry.toml", "--data", "ferries=other.jsonl", "--system", "bm25", "--limit", "3"),
        *("--set", "title=Boats", "--md", "out.md", "--csv", "out.csv"),
    )
    assert done.exit_code == 0, done.output
    assert "Boats" in done.stdout
    assert "3 turns of 2 dialogues" in done.stdout
    assert "| never" not in (lab / "out.md").read_text()
    assert (lab / "out.csv").read_text().startswith("set,group,system")


def test_a_set_of_ones_own_needs_no_experiment(invoke, lab):
    chosen = ("--system", "bm25", "--system", "frequent", "--limit", "4")
    light = ("--set", "systems.bm25.reader.kind=silent", "--set", "systems.frequent.retriever.kind=sparse")
    done = invoke("evaluate", "--data", "ferries.jsonl", *chosen, *light)
    assert done.exit_code == 0, done.output
    for part in ("gate F1", "plan F1", "Hit@1", "BLEU", "ms a turn", "the file itself"):
        assert part in done.stdout
    assert (lab / "runs" / "ferries" / "results.json").exists()


def test_columns_of_ones_own_set_are_those_its_labels_allow(invoke, lab, lab_set):
    lab_set.write_set(lab / "bare.jsonl", labels=("evidence",))
    done = invoke("evaluate", "--data", "bare.jsonl", "--system", "bm25")
    assert done.exit_code == 0, done.output
    assert "Hit@1" in done.stdout
    assert "gate F1" not in done.stdout
    lab_set.write_set(lab / "none.jsonl", labels=())
    assert "has no labels" in str(invoke("evaluate", "--data", "none.jsonl").exception)


def test_wrong_use_is_told_with_code_2(invoke, lab):
    assert invoke("evaluate").exit_code == 2
    assert invoke("evaluate", "--data", "a", "--data", "b").exit_code == 2
    done = invoke("evaluate", "ferry.toml", "--data", "ferries.jsonl")
    assert done.exit_code == 2
    assert "--data ferries=ferries.jsonl" in " ".join(done.output.replace("│", " ").split())


def test_wrong_names_are_told_with_what_was_meant(invoke, lab):
    assert "Did you mean 'safari-5'" in str(invoke("evaluate", "safary-5").exception)
    assert "Did you mean 'ferries'" in str(invoke("evaluate", "ferry.toml", "--data", "ferris").exception)
    assert "Did you mean 'bm25'" in str(invoke("evaluate", "ferry.toml", "--system", "bm52").exception)
    assert "Did you mean 'title'" in str(invoke("evaluate", "ferry.toml", "--set", "tile=x").exception)


def test_another_config_is_refused_with_the_remedy(invoke, lab):
    invoke("evaluate", "ferry.toml")
    done = invoke("evaluate", "ferry.toml", "--set", "systems.bm25.k=1")
    assert "systems.bm25.k" in str(done.exception)
    assert "--fresh" in str(done.exception)
    assert invoke("evaluate", "ferry.toml", "--set", "systems.bm25.k=1", "--fresh").exit_code == 0


def test_the_shipped_experiments_are_listed_with_their_titles(invoke, lab):
    done = invoke("evaluate", "--list")
    assert done.exit_code == 0
    assert "safari-5" in done.stdout
    assert "Retrieval" in done.stdout


def test_ctrl_c_says_how_to_go_on_and_the_run_does(invoke, lab):
    arguments = [sys.executable, "-c", INTERRUPTED, "evaluate", "ferry.toml", "--fresh"]
    stopped = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=60)
    assert stopped.returncode == 130, stopped.stderr
    assert "Go on with:  dragoman evaluate ferry.toml\n" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert not (lab / "runs" / "ferry" / "results.json").exists()
    assert invoke("evaluate", "ferry.toml").exit_code == 0
    assert invoke("evaluate", "ferry.toml", "--out", "whole").exit_code == 0
    one, other = (lab / name / "results.json" for name in ("runs/ferry", "whole"))
    assert one.read_bytes() == other.read_bytes()


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


def test_an_agent_of_ones_own_is_a_row_beside_those_that_were_chosen(invoke, lab):
    (lab / "robin").mkdir()
    (lab / "robin" / "agent.toml").write_text(LIGHT)
    command = ("evaluate", "--data", "ferries.jsonl", "--agent", "robin", "--system", "bm25")
    light = ("--set", "systems.bm25.reader.kind=silent")
    done = invoke(*command, *light)
    assert done.exit_code == 0, done.output
    table = json.loads((lab / "runs" / "ferries" / "results.json").read_text())["tables"][0]
    rates = {row["system"]: row["cells"][0]["value"] for row in table["rows"]}
    assert rates == {"bm25": pytest.approx(2 / 3), "robin": 0.0}
    assert "dragoman compare runs/ferries:bm25 runs/ferries:robin" in done.stdout
    assert "dragoman report runs/ferries" in done.stdout
    (lab / "robin" / "agent.toml").write_text(LIGHT.replace("never", "always"))
    assert "systems.robin.gate.kind" in str(invoke(*command, *light).exception)


def test_an_agent_that_is_not_there_is_told_with_its_row(invoke, lab):
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


def test_a_row_is_trained_where_that_is_asked_and_told_how_where_not(invoke, lab, lab_set):
    pytest.importorskip("sklearn")
    lab_set.write_set(lab / "more.jsonl", dialogues=40)
    with (lab / "ferry.toml").open("a", encoding="utf-8") as opened:
        opened.write(LEARNED)
    untrained = invoke("evaluate", "ferry.toml", "--parts", "parts")
    assert untrained.exit_code == 0, untrained.output
    assert "not trained" in untrained.stdout
    assert "--train" in untrained.stdout.splitlines()[-1]
    trained = invoke("evaluate", "ferry.toml", "--parts", "parts", "--train", "--json", "out.json")
    assert trained.exit_code == 0, trained.output
    assert "not trained" not in trained.stdout
    assert len(list((lab / "parts").glob("own-gate-*/part.json"))) == 1
    [table] = json.loads((lab / "out.json").read_text())["tables"]
    [row] = [row for row in table["rows"] if row["system"] == "learned"]
    assert row["cells"][1]["value"] == 1.0  # questions and thanks are easily told apart
