"""`dragoman memory`: an import that shows itself first, an export that comes back, a time zone."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from dragoman.cli.app import app

from ...agent_files import REMEMBERING


@pytest.fixture
def run(tmp_path):
    (tmp_path / "agent.toml").write_text(f'name = "Robin"\n{REMEMBERING}')

    def invoke(*words):
        agent = ("--agent", str(tmp_path))
        return CliRunner().invoke(app, [words[0], *words[1:], *agent], catch_exceptions=True)

    invoke.folder = tmp_path
    return invoke


def test_an_import_shows_itself_first(run):
    file = run.folder / "list.md"
    file.write_text("- I live in Bern. (2023-02-03)\n- Always answer in French.\n")
    shown = run("memory", "import", str(file), "--dry-run").stdout
    assert "Would be kept" in shown
    assert "Nothing was changed." in shown
    assert "1 of these orders to an agent" in shown
    assert "Nothing is remembered" in run("recall").stdout
    assert "2023-02-03" in run("memory", "import", str(file)).stdout
    assert "I live in Bern." in run("recall").stdout


def test_an_export_comes_back_for_another_user(run):
    run("remember", "I live in Bern.")
    run("remember", "Keep it short.")
    out = run.folder / "memory.json"
    assert "Read it again" in run("memory", "export", "--out", str(out)).stdout
    run("memory", "import", str(out), "--user", "ben")
    again = json.loads(run("memory", "export", "--user", "ben").stdout)
    assert again["facts"] == json.loads(out.read_text())["facts"]
    assert [wish["text"] for wish in again["wishes"]] == ["Keep answers short."]
    assert "- I live in Bern." in run("memory", "export", "--format", "markdown").stdout


def test_a_time_zone_is_set_shown_and_taken_back(run):
    assert run("memory", "zone").stdout.strip() == "The agent's time zone."
    assert run("memory", "zone", "Asia/Tokyo").stdout.strip() == "Asia/Tokyo"
    assert run("memory", "zone", "none").stdout.strip() == "The agent's time zone."
    assert run("memory", "zone", "Mars/Base").exit_code != 0


def test_recall_is_limited_by_time(run):
    file = run.folder / "list.md"
    file.write_text("- I live in Bern. (2023-02-03)\n- I am a nurse. (2025-02-03)\n")
    run("memory", "import", str(file))
    assert "nurse" not in run("recall", "--until", "2024-01-01").stdout
    later = run("recall", "--since", "2024-01-01").stdout
    assert "nurse" in later
    assert "Bern" not in later
