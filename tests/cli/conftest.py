"""The stub assistant for every test of the command line, and the command as a process of its own."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import typer.main
import typer.testing
from typer.testing import CliRunner

import dragoman
from dragoman.cli import check
from dragoman.cli.terminal import agent_options

STUB = Path(__file__).with_name("stub.py")


def _module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session", autouse=True)
def one_command_tree():
    """Build the tree of all commands once: it takes longer than most commands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.main.get_command))
        yield


@pytest.fixture
def stub(monkeypatch):
    """The stub that `load` gives; `loaded` holds what `load` was called with."""
    assistant = _module("dragoman_cli_stub", STUB).StubAssistant()
    assistant.loaded = []

    def load(agent, **options):
        assistant.loaded.append((agent, options))
        return assistant

    monkeypatch.setattr(dragoman, "load", load, raising=False)
    for module in (agent_options, check):
        monkeypatch.setattr(module, "fetch_weights", lambda *_: None)
    return assistant


@pytest.fixture
def invoke(stub):
    """Run a command in this process with the stub."""
    from dragoman.cli.app import app

    def run(*arguments, stdin=None):
        return CliRunner().invoke(app, list(arguments), input=stdin, prog_name="dragoman")

    return run


@pytest.fixture(scope="session")
def lab_set():
    """What writes the small labelled set of the laboratory's tests."""
    return _module("lab_set", Path(__file__).parents[1] / "evaluate" / "conftest.py")


@pytest.fixture
def lab(tmp_path, monkeypatch, lab_set):
    """An empty folder to work in, with a set and an experiment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dragoman.evaluate.running.manifest.code_digest", lambda: "0" * 64)
    lab_set.write_set(tmp_path / "ferries.jsonl")
    (tmp_path / "ferry.toml").write_text(lab_set.EXPERIMENT.format(file="ferries.jsonl"), encoding="utf-8")
    return tmp_path


@pytest.fixture
def stub_file():
    return str(STUB)


@pytest.fixture
def command(tmp_path):
    """Run a command in a process of its own with the stub, in an empty folder."""

    def run(*arguments, stdin=b""):
        return subprocess.run(
            [sys.executable, str(STUB), *arguments],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture(autouse=True)
def own_interrupts():
    """Leaving on Ctrl-C ignores further interrupts, which children of this process would inherit."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)
    signal.alarm(0)
