from __future__ import annotations

import json
import os

import pytest
from tests.models.static_part import StubTeacher, write_teacher
from typer.testing import CliRunner

from dragoman.cli.models.weights import app
from dragoman.core.errors import StoreLockedError, TrainingError, UnknownNameError, WeightsError
from dragoman.models import downloads, weights
from dragoman.models.part import open_part
from dragoman.models.suggested import SUGGESTIONS
from dragoman.train.distil import static_encoder
from dragoman.train.training_folder import claimed

WORDS = [f"w{i}" for i in range(16)]


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=True)


def place(name):
    entry = weights.find(name)
    entry.folder.mkdir(parents=True)
    for file in entry.files:
        with (entry.folder / file.name).open("wb") as opened:
            opened.truncate(file.bytes)


def test_list_says_what_is_here_and_what_to_do_next():
    place("all-minilm-l6-v2-int8")
    output = run("list").output
    assert "Apache-2.0" in output
    assert "Next: dragoman models pull smollm2-135m-instruct\n" in output


def test_list_says_which_larger_models_were_fetched():
    larger = next(iter(SUGGESTIONS.values()))
    lines = [line for line in run("list").output.splitlines() if line.startswith(larger.name)]
    file = downloads.address(larger.address).file
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF")
    after = [line for line in run("list").output.splitlines() if line.startswith(larger.name)]
    assert " no " in lines[0] and " yes " in after[0]


def test_pull_fetches_all_that_an_agent_needs_where_none_is_named(monkeypatch):
    pulled = []
    monkeypatch.setattr(weights, "pull", lambda name, progress: (pulled.append(name), progress(name, 1, 2))[0])
    result = run("pull")
    assert pulled == ["smollm2-135m-instruct", "all-minilm-l6-v2-int8"]
    assert "Next: dragoman chat" in result.output


def test_pull_checks_all_names_before_it_fetches(monkeypatch):
    monkeypatch.setattr(weights, "pull", None)
    assert isinstance(run("pull", "smollm2-135m-instruct", "smolm").exception, UnknownNameError)


def test_path_prints_the_place_alone():
    place("smollm2-135m-instruct")
    assert run("path", "smollm2-135m-instruct").output.strip() == str(weights.find("smollm2-135m-instruct").path)


def test_path_of_what_is_not_here_says_how_to_fetch_it():
    error = run("path", "smollm2-135m-instruct").exception
    assert isinstance(error, WeightsError)
    assert error.remedy == "Run `dragoman models pull smollm2-135m-instruct`."


@pytest.fixture
def teacher(tmp_path, monkeypatch):
    monkeypatch.setattr(static_encoder, "OnnxEncoder", StubTeacher)
    write_teacher(tmp_path / "teacher", WORDS)
    return str(tmp_path / "teacher")


def passages(folder, count=120):
    folder.mkdir()
    rows = [json.dumps({"text": f"{WORDS[i % 7]} {WORDS[i % 11]} {WORDS[i % 13]}"}) for i in range(count)]
    (folder / "rows.jsonl").write_text("\n".join(rows))
    return folder


def test_distil_names_what_fails_fits_to_the_rest_and_does_not_end_as_if_all_was_well(tmp_path, teacher):
    files, out = passages(tmp_path / "files"), tmp_path / "quick"
    (files / "empty.txt").write_text("")
    with (files / "rows.jsonl").open("a") as opened:
        opened.write("\n{broken\n")
    result = run("distil", str(files), "--out", str(out), "--teacher", teacher)
    assert result.exit_code == 1
    assert "empty.txt: " in result.stderr
    assert "rows.jsonl, line 121: " in result.stderr
    assert "fitted to 120 passages" in result.output


def test_distil_names_a_folder_that_cannot_be_opened(tmp_path, teacher, monkeypatch):
    files, shut = passages(tmp_path / "files"), tmp_path / "files" / "shut"
    shut.mkdir()

    def scandir(path, real=os.scandir):
        if path == shut:
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr("dragoman.sources.files.os.scandir", scandir)
    result = run("distil", str(files), "--out", str(tmp_path / "quick"), "--teacher", teacher)
    assert result.exit_code == 1
    assert "shut: The folder cannot be opened: Permission denied." in result.stderr


def test_distil_reads_files_and_says_how_good_it_is_and_what_is_next(tmp_path, teacher):
    files, out = passages(tmp_path / "files"), tmp_path / "my quick"
    result = run("distil", str(files), "--out", str(out), "--teacher", teacher)
    assert result.exit_code == 0, result.exception
    assert "fitted to 120 passages" in result.output
    assert "ten nearest" not in result.output  # of twelve that were held out they would say nothing
    assert "--state 'my quick-state' --models.encoder.kind static --models.encoder.part" in result.output
    told = open_part(out, kind="encoder.static").made["data"]
    assert [(file["name"], file["files"]) for file in told["files"]] == [("files", 1)]


def test_distil_replaces_an_encoder_only_where_it_is_told_to_and_nothing_else_ever(tmp_path, teacher):
    files, out = passages(tmp_path / "files"), tmp_path / "quick"
    given = ("distil", str(files), "--out", str(out), "--teacher", teacher)
    assert run(*given).exit_code == 0
    assert isinstance(run(*given).exception, TrainingError)
    assert run(*given, "--fresh").exit_code == 0
    other = run("distil", str(files), "--out", str(files), "--teacher", teacher, "--fresh").exception
    assert isinstance(other, TrainingError)
    assert "something else" in str(other)


def test_distil_of_an_encoder_that_is_not_there_is_refused(tmp_path):
    # before the files are looked at, which are not there either
    error = run("distil", str(tmp_path / "files"), "--out", str(tmp_path / "x"), "--teacher", "nobody")
    assert isinstance(error.exception, WeightsError)
    assert not (tmp_path / "x").exists()


def test_distil_leaves_a_folder_alone_in_which_another_process_is_at_work(tmp_path, teacher):
    files, out = passages(tmp_path / "files"), tmp_path / "quick"
    with claimed(out):
        error = run("distil", str(files), "--out", str(out), "--teacher", teacher).exception
    assert isinstance(error, StoreLockedError)
    assert list(out.iterdir()) == []
    assert run("distil", str(files), "--out", str(out), "--teacher", teacher).exit_code == 0


@pytest.mark.parametrize("command", ["list", "pull", "path", "distil"])
def test_every_command_has_help(command):
    assert run(command, "--help").exit_code == 0


def test_pull_from_a_hub_shows_the_licence_and_wants_it_accepted(monkeypatch):
    from tests.models.test_downloads import CONTENT, NAME, Hub

    hub = Hub()
    real = downloads._client
    monkeypatch.setattr(downloads, "_client", lambda transport: real(hub.transport()))
    refused = run("pull", NAME)
    assert "--yes" in refused.exception.remedy
    assert "licence: apache-2.0" in refused.output
    result = run("pull", NAME, "--yes")
    assert downloads.address(NAME).file.read_bytes() == CONTENT
    assert f"Next: dragoman chat --model {NAME}" in result.output
    before = len(hub.requests)
    run("pull", NAME)
    assert len(hub.requests) == before, "what is here is not asked about again"
    assert run("path", NAME).output.strip() == str(downloads.address(NAME).file)


def test_suggested_models_are_listed_by_memory_and_stand_for_addresses():
    assert "not tried here" in run("list").output
    for suggestion in SUGGESTIONS.values():
        assert downloads.address(suggestion.name).file == downloads.address(suggestion.address).file
        assert suggestion.bytes < suggestion.memory * 1_000_000_000
