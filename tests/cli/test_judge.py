from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from dragoman.cli.judge import app
from dragoman.core.errors import InputError
from dragoman.core.examples import Example, Gold
from dragoman.core.trace import Reply, Trace
from dragoman.core.values import NULL_PLAN, Context, Passage, Source, Verdict
from dragoman.evaluate.results import Outcome, Result, SystemRow, Table
from dragoman.evaluate.running.kept_turns import write_turns
from dragoman.evaluate.running.run_folder import RunFolder
from dragoman.evaluate.show.tables import result_json


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)


@pytest.fixture
def runs(tmp_path):
    """A run with two systems and three turns, as the runner writes it."""
    persona = Source("persona", about="bot", private=True)
    told = Passage("p", "persona", "I have a dog.")
    examples = [Example(f"t{n}", Context.of("Hello?"), (persona,), (told,), Gold(evidence=("p",))) for n in range(3)]
    with RunFolder(tmp_path / "run") as folder:
        write_turns(folder.path, "toy", examples)
        for system in ("alpha", "beta"):
            replies = [Reply(f"Reply {n}", Verdict(False, 0.0), NULL_PLAN, (), Trace()) for n in range(3)]
            folder.append("toy", system, [Outcome(e.id, r) for e, r in zip(examples, replies, strict=True)])
        rows = tuple(SystemRow(system, "", "", ()) for system in ("alpha", "beta"))
        table = Table("toy", "toy", "", 3, 1, None, (), rows)
        folder.write("results.json", result_json(Result("x", "x", "", {}, (table,))))
    return tmp_path / "run"


def filled(folder):
    for file in folder.glob("sheet-*.csv"):
        text = file.read_text(encoding="utf-8-sig")
        file.write_text(text.replace(",,,-,", ",4,1,-,"), encoding="utf-8-sig")


def test_export_says_what_it_wrote_and_what_comes_next(runs, tmp_path):
    result = run("export", runs, "--out", tmp_path / "sheet.csv", "--n", 2, "--annotators", 2)
    assert result.exit_code == 0, result.output
    assert "2 turns of 3 that fit, 2 systems, 2 annotators." in result.output
    assert "dragoman judge import" in result.output
    names = sorted(path.name for path in tmp_path.glob("sheet*"))
    assert names == ["sheet-1.csv", "sheet-1.html", "sheet-2.csv", "sheet-2.html", "sheet-KEY.json"]


def test_import_prints_and_writes_the_figures(runs, tmp_path):
    run("export", runs, "--out", tmp_path / "sheet.csv")
    filled(tmp_path)
    sheets = sorted(tmp_path.glob("sheet-*.csv"))
    out, page = tmp_path / "out.json", tmp_path / "out.md"
    result = run("import", *sheets, "--key", tmp_path / "sheet-KEY.json", "--json", out, "--markdown", page)
    assert result.exit_code == 0, result.output
    assert "4.00 [4.00, 4.00] n=3" in result.output
    assert "3 annotators" in result.output
    figures = json.loads(out.read_text(encoding="utf-8"))
    assert figures["systems"]["beta"]["persona"]["mean"] == 1
    assert "knowledge" not in figures["systems"]["beta"]
    assert "| alpha | 4.00" in page.read_text(encoding="utf-8")


def test_import_names_what_is_wrong_and_fails(runs, tmp_path):
    run("export", runs, "--out", tmp_path / "sheet.csv")
    result = run("import", tmp_path / "sheet-1.csv", "--key", tmp_path / "sheet-KEY.json")
    assert isinstance(result.exception, InputError)
    assert "sheet-1.csv:2: coherence is missing" in str(result.exception)


def test_a_path_that_cannot_be_written_is_an_error(runs, tmp_path):
    run("export", runs, "--out", tmp_path / "sheet.csv")
    filled(tmp_path)
    arguments = (*sorted(tmp_path.glob("sheet-*.csv")), "--key", tmp_path / "sheet-KEY.json")
    result = run("import", *arguments, "--json", tmp_path / "none" / "out.json")
    assert isinstance(result.exception, InputError)
    assert "--json" in str(result.exception)
