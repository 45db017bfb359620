from __future__ import annotations

import pytest
from typer.testing import CliRunner

from dragoman.cli.models import app
from dragoman.core.errors import UnknownNameError, WeightsError
from dragoman.models import weights


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


@pytest.mark.parametrize("command", ["list", "pull", "path"])
def test_every_command_has_help(command):
    assert run(command, "--help").exit_code == 0
