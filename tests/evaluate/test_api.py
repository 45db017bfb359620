"""A whole experiment: repeatable to the byte, resumable after anything, refused where it would mix."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from dataclasses import replace

import pytest

from dragoman.core.errors import (
    ConfigError,
    DragomanError,
    InputError,
    NoDataError,
    StoreFullError,
    UnknownNameError,
    WeightsError,
)
from dragoman.datasets.loaders.jsonl import Jsonl
from dragoman.evaluate import experiment, load_run
from dragoman.evaluate.api import run_experiment
from dragoman.evaluate.metrics.ranking import HitRate
from dragoman.evaluate.results import Result, legend
from dragoman.evaluate.running import run_folder
from dragoman.evaluate.spec import DataSpec, SystemSpec, load_experiment

KILLED = """
import os, signal, sys
from pathlib import Path
from dragoman.evaluate.running import manifest
from dragoman.evaluate.running.run_folder import RunFolder
from dragoman.evaluate.spec import load_experiment
from dragoman.evaluate.api import run_experiment
manifest.code_digest = lambda: "0" * 64
real, calls = RunFolder.append, []
def append(self, *given):
    real(self, *given)
    calls.append(given)
    if len(calls) == int(sys.argv[3]):
        rows = next((self.path / "rows").rglob("bm25*.jsonl"))
        with rows.open("ab") as opened:
            opened.write(b'{"example": "half a li')
        os.kill(os.getpid(), signal.SIGKILL)
RunFolder.append = append
run_experiment(load_experiment(Path(sys.argv[1])), Path(sys.argv[2]), name="ferry")
"""


def run(file, out, *overrides, **options):
    return run_experiment(load_experiment(file, overrides), out, name="ferry", **options)


def stable(out):
    """The bytes that must repeat."""
    names = [*sorted((out / "rows").rglob("*.jsonl")), out / "results.json"]
    return {str(path.relative_to(out)): path.read_bytes() for path in names}


def count_runs(monkeypatch):
    """How many turns are written from here on, by system."""
    real, written = run_folder.RunFolder.append, []

    def append(self, block, system, outcomes):
        written.extend([system] * len(outcomes))
        real(self, block, system, outcomes)

    monkeypatch.setattr(run_folder.RunFolder, "append", append)
    return written


def test_figures_are_as_the_set_was_made(ferry_file, tmp_path):
    result = run(ferry_file, tmp_path / "run")
    table = result.tables[0]
    bm25, never, great = table.rows
    assert (bm25.cells[0].value, bm25.cells[0].n, bm25.cells[0].paper) == (1.0, 6, 36.8)
    assert never.cells[0].value == 0.0
    assert never.cells[0].difference == -1.0
    assert bm25.cells[1].value == pytest.approx(2 / 3)  # always open: precision one half, recall one
    assert (great.cells[0].status, great.cells[0].paper) == ("not built", 99.0)
    assert bm25.cells[2].value > 0


def test_two_runs_give_the_same_bytes_and_seconds_lie_apart(ferry_file, tmp_path):
    for name in ("one", "two"):
        run(ferry_file, tmp_path / name)
    assert stable(tmp_path / "one") == stable(tmp_path / "two")
    told = json.loads((tmp_path / "one" / "results.json").read_text())
    assert [column["title"] for column in told["tables"][0]["columns"]] == ["Hit@1", "gate F1"]
    assert "began" in (tmp_path / "one" / "made.json").read_text()
    assert str(tmp_path) not in (tmp_path / "one" / "results.json").read_text()


def test_a_run_comes_back_from_its_folder_with_seconds_in_their_place(ferry_file, tmp_path):
    result = run(ferry_file, tmp_path / "run")
    assert load_run(tmp_path / "run") == result
    assert [column.title for column in result.tables[0].columns] == ["Hit@1", "gate F1", "seconds"]


@pytest.mark.parametrize("appends", [1, 4])
def test_a_run_killed_at_any_moment_ends_with_the_bytes_of_one_that_was_not(ferry_file, tmp_path, appends):
    killed = tmp_path / "killed"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(ferry_file), str(killed), str(appends)], capture_output=True, check=False
    )
    assert done.returncode == -9, done.stderr
    assert not (killed / "results.json").exists()
    with pytest.raises(InputError, match=r"There is no results\.json") as error:
        load_run(killed)
    assert "it goes on" in error.value.remedy
    run(ferry_file, killed)
    run(ferry_file, tmp_path / "whole")
    assert stable(killed) == stable(tmp_path / "whole")


def test_a_finished_run_runs_nothing_again(ferry_file, tmp_path, monkeypatch):
    run(ferry_file, tmp_path / "run")
    before = stable(tmp_path / "run")
    written = count_runs(monkeypatch)
    run(ferry_file, tmp_path / "run")
    assert written == []
    assert stable(tmp_path / "run") == before


def test_a_failing_metric_fails_the_run_and_the_next_one_makes_only_figures(ferry_file, tmp_path, monkeypatch):
    real = HitRate.measure
    monkeypatch.setattr(HitRate, "measure", lambda *_: 1 / 0)
    with pytest.raises(DragomanError, match="'Hit@1'"):
        run(ferry_file, tmp_path / "run")
    assert not (tmp_path / "run" / "results.json").exists()
    monkeypatch.setattr(HitRate, "measure", real)
    written = count_runs(monkeypatch)
    run(ferry_file, tmp_path / "run")
    assert written == []


def test_a_full_disk_ends_the_run_and_nothing_is_lost(ferry_file, tmp_path, monkeypatch):
    real, calls = run_folder._add, []

    def full(file, text):
        calls.append(file)
        if len(calls) > 9:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(file, text)

    monkeypatch.setattr(run_folder, "_add", full)
    with pytest.raises(StoreFullError):
        run(ferry_file, tmp_path / "run")
    monkeypatch.setattr(run_folder, "_add", real)
    written = count_runs(monkeypatch)
    run(ferry_file, tmp_path / "run")
    assert 0 < len(written) < 24
    run(ferry_file, tmp_path / "whole")
    assert stable(tmp_path / "run") == stable(tmp_path / "whole")


def test_another_config_is_refused_and_fresh_begins_anew(ferry_file, tmp_path, monkeypatch):
    run(ferry_file, tmp_path / "run")
    with pytest.raises(ConfigError, match=r"systems\.bm25\.k: 3 before, 1 now"):
        run(ferry_file, tmp_path / "run", "systems.bm25.k=1")
    with pytest.raises(ConfigError, match="limit"):
        run(ferry_file, tmp_path / "run", limit=4)
    written = count_runs(monkeypatch)
    assert run(ferry_file, tmp_path / "run", limit=4, fresh=True).tables[0].turns == 4
    assert len(written) == 8


def test_beginning_anew_leaves_no_old_figures_behind(ferry_file, tmp_path, monkeypatch):
    run(ferry_file, tmp_path / "run")
    monkeypatch.setattr(HitRate, "measure", lambda *_: 1 / 0)
    with pytest.raises(DragomanError):
        run(ferry_file, tmp_path / "run", limit=4, fresh=True)
    with pytest.raises(InputError, match="There is no"):
        load_run(tmp_path / "run")


def test_an_added_system_runs_alone(ferry_file, tmp_path, monkeypatch):
    run(ferry_file, tmp_path / "run")
    more = load_experiment(ferry_file)
    third = SystemSpec(name="again", retriever={"kind": "sparse"})
    written = count_runs(monkeypatch)
    run_experiment(more.model_copy(update={"systems": (*more.systems, third)}), tmp_path / "run")
    assert set(written) == {"again"}


def test_a_system_that_was_left_out_is_remembered_with_its_config(ferry_file, tmp_path):
    run(ferry_file, tmp_path / "run")
    spec = load_experiment(ferry_file)
    fewer = spec.model_copy(update={"systems": spec.systems[1:], "baseline": None})
    run_experiment(fewer, tmp_path / "run")
    with pytest.raises(ConfigError, match=r"systems\.bm25\.k"):
        run(ferry_file, tmp_path / "run", "systems.bm25.k=1")
    assert run(ferry_file, tmp_path / "run").tables[0].rows[0].cells[0].value == 1.0


def test_another_column_needs_no_run(ferry_file, tmp_path, monkeypatch):
    run(ferry_file, tmp_path / "run")
    written = count_runs(monkeypatch)
    run(ferry_file, tmp_path / "run", "columns.Hit@1.metric=mrr")
    assert written == []


def test_wrong_names_are_refused_with_what_was_meant(ferry_file, tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'bm25'"):
        run(ferry_file, tmp_path / "run", systems=["bm2"])
    with pytest.raises(UnknownNameError, match="Did you mean 'ferries'"):
        run(ferry_file, tmp_path / "run", data={"ferrys": None})
    with pytest.raises(ConfigError, match="Did you mean 'sparse'"):
        run(ferry_file, tmp_path / "run", "systems.bm25.retriever.kind=sparce")
    assert not (tmp_path / "run").exists()


def test_missing_labels_are_told_before_anything_is_written(ferry_file, ferries, make_set, tmp_path):
    make_set(ferries, labels=("evidence",))
    with pytest.raises(ConfigError, match="'gate F1' needs the label 'retrieve'"):
        run(ferry_file, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_bad_row_is_named_and_can_be_left_out(ferry_file, ferries, tmp_path):
    ferries.write_text(ferries.read_text() + '{"dialogue": 3}\n')
    with pytest.raises(InputError, match=r"ferries\.jsonl:13"):
        run(ferry_file, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    table = run(ferry_file, tmp_path / "run", skip_bad=True).tables[0]
    assert (table.turns, table.skipped) == (12, 1)
    assert table.problems[0].startswith("ferries.jsonl:13: ")


def test_a_set_that_is_not_here_is_a_hole_beside_others_and_an_error_alone(ferry_file, ferries, tmp_path):
    text = ferry_file.read_text()
    ferry_file.write_text(text + '\n[[data]]\nname = "gone"\nkind = "jsonl"\nfile = "gone.jsonl"\n')
    tables = run(ferry_file, tmp_path / "run").tables
    assert [row.cells[0].status for row in tables[1].rows] == ["no data", "no data", "not built"]
    with pytest.raises(NoDataError):
        run(ferry_file, tmp_path / "other", data={"gone": None})
    ferries.unlink()
    with pytest.raises(NoDataError, match="nor that of any other set"):
        run(ferry_file, tmp_path / "other")


def test_a_set_marked_asked_runs_only_when_named_and_a_file_can_be_given(ferry_file, ferries, make_set, tmp_path):
    ferry_file.write_text(
        ferry_file.read_text() + f'\n[[data]]\nname = "more"\nkind = "jsonl"\nfile = "{ferries}"\nasked = true\n'
    )
    assert [table.data for table in run(ferry_file, tmp_path / "1").tables] == ["ferries"]
    assert [table.data for table in run(ferry_file, tmp_path / "2", data={"more": None}).tables] == ["more"]


def test_a_set_on_another_file_runs_alone_and_goes_by_the_name_of_that_file(ferry_file, ferries, make_set, tmp_path):
    told = f'\n[[data]]\nname = "more"\nkind = "jsonl"\nfile = "{ferries}"\ntitle = "More"\nnote = "Official."\n'
    ferry_file.write_text(ferry_file.read_text() + told)
    other = make_set(tmp_path / "other.jsonl", dialogues=2)
    [table] = run(ferry_file, tmp_path / "run", data={"more": other}).tables
    assert (table.data, table.turns, table.title, table.note) == ("more", 4, "other.jsonl", "")
    assert [table.title for table in run(ferry_file, tmp_path / "2").tables] == ["", "More"]


def test_what_a_column_needs_is_missed_before_the_first_turn(ferry_file, tmp_path, monkeypatch):
    overlap = '{title = "C", metric = "consistency", source = "DOCUMENTS", critic = {kind = "overlap"}},\n]\n[[data]]'
    text = ferry_file.read_text().replace("]\n[[data]]", overlap, 1)
    ferry_file.write_text(
        text.replace("[[data]]", '[defaults]\nencoder = {kind = "onnx", weights = "nowhere.onnx"}\n[[data]]', 1)
    )
    written = count_runs(monkeypatch)
    with pytest.raises(WeightsError, match=r"nowhere\.onnx"):
        run(ferry_file, tmp_path / "run")
    assert written == []


def test_only_the_notes_of_named_systems_are_printed(ferry_file, tmp_path):
    notes = {"systems.bm25.note=Words.", "systems.never.note=Silence."}
    whole = run(ferry_file, tmp_path / "1", *notes)
    named = run(ferry_file, tmp_path / "2", *notes, "systems.never.missing=not built", systems=["bm25"])
    assert {"bm25: Words.", "never: Silence."} <= set(legend(whole, whole.tables[0]))
    assert "bm25: Words." in legend(named, named.tables[0])
    assert "never: Silence." not in legend(named, named.tables[0])


def test_the_function_takes_a_path_a_set_or_a_spec(ferries):
    never = SystemSpec(name="x", gate={"kind": "never"}, retriever={"kind": "sparse"})
    systems = {"bm25": {"retriever": "sparse"}, "never": never}
    metrics = ["hit", {"title": "F1", "metric": "gate-f1", "scale": 100}]
    spec = DataSpec(name="ferries", kind="jsonl", file=str(ferries))
    results = [
        experiment(systems, dataset, metrics, "bm25", draws=100, limit=6)
        for dataset in (ferries, str(ferries), spec, Jsonl(file=ferries))
    ]
    assert all(isinstance(result, Result) for result in results)
    cells = [[row.cells for row in result.tables[0].rows] for result in results]
    assert cells[0] == cells[1] == cells[2] == cells[3]
    assert [row.system for row in results[0].tables[0].rows] == ["bm25", "never"]
    assert results[0].tables[0].turns == 6


def test_progress_tells_turns_and_figures(ferry_file, tmp_path):
    told = []
    run(ferry_file, tmp_path / "run", progress=lambda *given: told.append(given))
    assert ("ferries", 24, 24) in {entry[:3] for entry in told}
    assert {entry[0] for entry in told} == {"Reading", "ferries", "Figures"}
    assert all(done <= total for _, done, total, _ in told)


def test_a_manifest_that_cannot_be_read_is_told(ferry_file, tmp_path):
    run(ferry_file, tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text("{}")
    with pytest.raises(InputError, match=r"run\.json"):
        run(ferry_file, tmp_path / "run")


def test_results_do_not_depend_on_the_name_of_the_folder(ferry_file, tmp_path):
    one = run(ferry_file, tmp_path / "a")
    other = run(ferry_file, tmp_path / "b")
    assert replace(one, tables=()) == replace(other, tables=())


def test_a_file_that_changes_during_the_run_gives_no_figures_and_is_not_gone_on_with(
    ferry_file, ferries, tmp_path, monkeypatch
):
    real = run_folder.RunFolder.append

    def append(self, *given):
        real(self, *given)
        ferries.write_text(ferries.read_text().replace("Thank you!", "Thanks!"), encoding="utf-8")

    whole = ferries.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(run_folder.RunFolder, "append", append)
        with pytest.raises(InputError, match="'ferries' changed while it was measured"):
            run(ferry_file, tmp_path / "run")
    assert not (tmp_path / "run" / "results.json").exists()
    ferries.write_bytes(whole)
    with pytest.raises(ConfigError, match="the files of 'ferries' changed while they were read"):
        run(ferry_file, tmp_path / "run")
    assert run(ferry_file, tmp_path / "run", fresh=True).tables[0].turns == 12


def test_what_is_no_run_is_told_apart(ferry_file, tmp_path):
    (tmp_path / "runs" / "begun").mkdir(parents=True)
    (tmp_path / "runs" / "begun" / "run.json").touch()
    run(ferry_file, tmp_path / "runs" / "done")
    for place, words in (
        (ferry_file, "is a file"),
        (tmp_path / "nowhere", "There is no folder"),
        (tmp_path / "runs" / "begun", "it goes on"),
        (tmp_path / "runs", str(tmp_path / "runs" / "done")),
    ):
        with pytest.raises(InputError) as error:
            load_run(place)
        assert words in str(error.value)


def test_a_run_is_not_written_over_a_file(ferry_file, tmp_path):
    with pytest.raises(DragomanError, match="is a file"):
        run(ferry_file, ferry_file)


@pytest.mark.parametrize(
    ("systems", "metrics", "words"),
    [
        ({"a": "sparse"}, ["hit"], "system 'a' is 'sparse'"),
        ({"a": {"retriever": "sparse"}}, [("hit", 1)], "is no metric"),
        ({"a": {"retriever": "sparse"}}, [], "'columns' is empty"),
        ({}, ["hit"], "'systems' is empty"),
    ],
)
def test_the_function_says_what_it_takes(ferries, systems, metrics, words):
    with pytest.raises(ConfigError, match=words):
        experiment(systems, ferries, metrics)
    assert experiment({"a": {"retriever": "sparse"}}, ferries, "hit").tables[0].columns[0].title == "hit"


def test_a_row_that_learns_says_no_data_where_the_training_file_is_not_here(ferry_file, tmp_path):
    text = ferry_file.read_text().replace('kind = "jsonl"\n', 'kind = "jsonl"\ntrain = "gone.jsonl"\n')
    text += '\n[[systems]]\nname = "frequent"\ngate = {kind = "never"}\nreader = {kind = "frequent"}\n'
    ferry_file.write_text(text)
    rows = {row.system: row for row in run(ferry_file, tmp_path / "run").tables[0].rows}
    assert {cell.status for cell in rows["frequent"].cells} == {"no data"}
    assert rows["bm25"].cells[0].status == "measured"


def test_slow_rows_run_where_they_are_asked_for_or_named(ferry_file, tmp_path, monkeypatch):
    ferry_file.write_text(ferry_file.read_text().replace('name = "never"\n', 'name = "never"\nslow = true\n'))

    def statuses(out, **options):
        return {row.system: row.cells[1].status for row in run(ferry_file, out, **options).tables[0].rows}

    assert statuses(tmp_path / "run")["never"] == "not run"
    assert statuses(tmp_path / "run", slow=True)["never"] == "measured"
    assert statuses(tmp_path / "other", systems=["never"])["never"] == "measured"


def test_a_slow_row_that_was_left_out_in_between_is_not_gone_on_with_under_other_settings(ferry_file, tmp_path):
    ferry_file.write_text(ferry_file.read_text().replace('name = "never"\n', 'name = "never"\nslow = true\n'))
    run(ferry_file, tmp_path / "run", slow=True)
    run(ferry_file, tmp_path / "run")
    with pytest.raises(ConfigError, match=r"systems\.never\.gate\.kind"):
        run(ferry_file, tmp_path / "run", "systems.never.gate.kind=always", slow=True)


class Spoken:
    """A set that lies in no file."""

    name, language, files = "spoken", "en", ()

    def __init__(self, inner, **changed):
        self._inner, self._changed = inner, changed
        self.sources, self.labels = inner.sources, inner.labels

    def examples(self):
        return (replace(example, **self._changed) for example in self._inner.examples())

    def passages(self):
        return self._inner.passages()


def test_a_set_that_is_an_object_goes_by_what_it_gives(ferries, tmp_path, monkeypatch):
    given = {"bm25": {"retriever": "sparse"}}, ["hit"]
    whole = Jsonl(file=ferries)

    def measured(dataset):
        return experiment(given[0], dataset, given[1], draws=100, out=tmp_path / "run")

    measured(Spoken(whole))
    written = count_runs(monkeypatch)
    measured(Spoken(whole))
    assert written == []
    first = next(iter(whole.examples()))
    with pytest.raises(ConfigError, match="of 'spoken' held other bytes before"):
        measured(Spoken(whole, candidates=first.candidates[:2]))
