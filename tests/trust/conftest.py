"""An agent folder without weights, the command run against it in this process, and the same agent with real ones."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import dragoman
from dragoman.cli.main import run

from ..agent_files import DOCUMENTS, MEMORY, NOTES, WITHOUT_WEIGHTS
from ..stores.conftest import empty, make_store, schema, server  # noqa: F401 - fixtures: a real PostgreSQL server

AGENT = 'name = "Robin"\n' + MEMORY + NOTES + DOCUMENTS


@pytest.fixture
def folder(tmp_path):
    """An agent of one's own that needs no weights."""
    place = tmp_path / "robin"
    (place / "documents").mkdir(parents=True)
    (place / "agent.toml").write_text(AGENT + WITHOUT_WEIGHTS, encoding="utf-8")
    (place / "documents" / "prices.md").write_text("# Prices\n\nA day ticket costs 6 francs.\n", encoding="utf-8")
    return place


@pytest.fixture
def state(folder):
    return folder / ".dragoman"


@pytest.fixture
def command(folder, capfd):
    """Run a command for the folder; what it wrote and how it ended."""

    def call(*arguments, agent=True):
        with pytest.raises(SystemExit) as left:
            run([*arguments, "--agent", str(folder)] if agent else list(arguments))
        out, err = capfd.readouterr()
        return SimpleNamespace(code=left.value.code or 0, out=out, err=err)

    return call


@pytest.fixture
def refused(command):
    """Run a command that must fail in words: exit code 1, an error, its remedy, nothing on standard output."""

    def call(*arguments, code=1, agent=True):
        done = command(*arguments, agent=agent)
        assert (done.code, done.out) == (code, ""), done
        assert "Traceback" not in done.err and "unexpected" not in done.err
        return done.err

    return call


@pytest.fixture
def robin(folder):
    """The agent of the folder with the real models; each call opens it anew."""
    (folder / "agent.toml").write_text(AGENT, encoding="utf-8")
    assistants = []

    def load(**overrides):
        assistant = dragoman.load(folder, overrides=overrides)
        assistants.append(assistant)
        return assistant

    yield load
    for assistant in assistants:
        assistant.close()
