"""Exit codes and messages of the whole command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib.metadata import version

import pytest

from dragoman.cli.main import run
from dragoman.cli.terminal import interrupts
from dragoman.core.errors import StoreError


@pytest.fixture(autouse=True)
def hook(monkeypatch):
    """What `run` sets for its process is put back after each test."""
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    yield
    interrupts._pressed.clear()


def outcome(capfd, *arguments):
    with pytest.raises(SystemExit) as leaving:
        run(list(arguments))
    printed = capfd.readouterr()
    return leaving.value.code, printed.out, printed.err


def test_version_is_the_package_version(capfd):
    assert outcome(capfd, "--version")[:2] == (0, f"dragoman {version('dragoman')}\n")


def test_bare_command_shows_help_and_the_next_thing_to_try(capfd):
    code, out, err = outcome(capfd)
    assert code == 0 and err == ""
    assert "Start with: dragoman chat" in out
    for name in ("chat", "ask", "ingest", "remember", "recall", "forget", "init", "check", "doctor", "models"):
        assert f"\n  {name} " in out


def test_known_error_is_a_message_with_a_remedy_and_exit_code_1(capfd, stub):
    code, out, err = outcome(capfd, "ask", "refuse")
    assert (code, out) == (1, "")
    assert err == "Error: That turn is refused.\n       Say something else.\n"


def test_unexpected_error_is_one_line_and_points_at_debug(capfd, stub):
    code, _, err = outcome(capfd, "ask", "boom")
    assert code == 1
    assert "RuntimeError: wires crossed" in err and "--debug" in err and "Traceback" not in err


@pytest.mark.parametrize("arguments", [("--debug", "ask", "boom"), ("ask", "boom", "--verbose", "--debug")])
def test_debug_raises_wherever_it_stands(stub, arguments):
    with pytest.raises(RuntimeError, match="wires crossed"):
        run(list(arguments))


def test_debug_after_the_dashes_is_an_ordinary_word(capfd, stub):
    assert outcome(capfd, "ask", "--", "boom", "--debug")[0] == 0
    assert stub.calls[0][0] == "boom --debug"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ask", "hi", "--usr", "x"), "--user"),
        (("cht",), "Did you mean 'chat'"),
        (("ask", "hi", "--set", "threshold"), "is not PATH=VALUE"),
        (("ask", "hi", "--gate.threshold"), "needs a value"),
        (("forget",), "Say what to forget"),
        (("check", "--limit", "0"), "--limit"),
    ],
)
def test_wrong_use_is_exit_code_2_and_says_what_is_right(capfd, stub, arguments, words):
    code, out, err = outcome(capfd, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert not stub.loaded


@pytest.mark.parametrize("words", [["chat"], ["--debug", "chat"], ["label", "thumbs"]])
def test_only_the_command_that_runs_is_built(words, monkeypatch):
    from dragoman.cli import app as module

    built = []
    monkeypatch.setattr("typer.main.get_command", lambda app: built.append(app) or (lambda *_, **__: None))
    module.app(words, prog_name="dragoman")
    module.app(["cht"], prog_name="dragoman")
    module.app(["--help", "chat"], prog_name="dragoman")
    one, misspelt, helped = (len(app.registered_commands) + len(app.registered_groups) for app in built)
    assert one == 1 and misspelt == helped > 20


def test_help_starts_quickly_because_nothing_heavy_is_imported():
    heavy = "numpy|onnxruntime|xllamacpp|tantivy|usearch|apsw|rich.progress|httpx|torch"
    code = f"import sys, dragoman.cli.app; print([m for m in sys.modules if m in '{heavy}'.split('|')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_closed_pipe_is_quiet(stub_file):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as broken:
        done = subprocess.run(
            [sys.executable, stub_file, "chat"],
            input=b"hello\n",
            stdout=broken,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b""


def test_warnings_of_the_library_are_shown_and_its_news_only_when_asked(capfd, stub, monkeypatch):
    import logging

    def ask(*_, **__):
        logging.getLogger("dragoman.test").warning("could not read %s", "old.pdf")
        logging.getLogger("dragoman.test").info("all is well")
        return iter(())

    monkeypatch.setattr(stub, "stream", ask)
    assert outcome(capfd, "ask", "hi")[2] == "Warning: could not read old.pdf\n"
    assert "INFO dragoman.test: all is well" in outcome(capfd, "ask", "hi", "--verbose")[2]
    assert "all is well" not in outcome(capfd, "ask", "hi")[2]


def test_interrupt_that_fell_into_a_callback_is_not_lost(capfd, stub, monkeypatch):
    class Unlucky:
        def __del__(self):
            raise KeyboardInterrupt

    def ask(*_, **__):
        Unlucky()
        for _ in range(500):
            time.sleep(0.01)
        return iter(())

    monkeypatch.setattr(stub, "stream", ask)
    code, _, err = outcome(capfd, "ask", "hi")
    assert (code, err) == (130, "Stopped.\n")


def test_interrupt_that_a_native_library_made_an_error_of_is_not_lost(capfd, stub, monkeypatch):
    def ask(*_, **__):
        raise ValueError('Error building "literal" validator:\n  KeyboardInterrupt: ')

    monkeypatch.setattr(stub, "stream", ask)
    code, _, err = outcome(capfd, "ask", "hi")
    assert (code, err) == (130, "Stopped.\n")


def test_error_right_after_an_interrupt_that_was_swallowed_is_an_interrupt(capfd, stub, monkeypatch):
    def ask(*_, **__):
        with suppress(KeyboardInterrupt):  # as a native library does while it loads
            signal.raise_signal(signal.SIGINT)
        raise ImportError("cannot load module more than once per process")

    monkeypatch.setattr(stub, "stream", ask)
    code, _, err = outcome(capfd, "ask", "hi")
    assert (code, err) == (130, "Stopped.\n")


def test_error_long_after_an_interrupt_is_told(capfd, stub, monkeypatch):
    def ask(*_, **__):
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        interrupts._pressed.append(interrupts._pressed.pop() - 16)
        raise ImportError("cannot load module more than once per process")

    monkeypatch.setattr(stub, "stream", ask)
    code, _, err = outcome(capfd, "ask", "hi")
    assert code == 1 and "more than once" in err


def test_errors_that_cause_each_other_in_a_circle_are_told(capfd, stub, monkeypatch):
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert not interrupts.caused(first)
    first.__cause__ = first
    assert not interrupts.caused(first)


def test_interrupts_are_ignored_where_they_were_before(monkeypatch):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.noticed():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("error", [ImportError("initialization failed"), StoreError("It broke.", remedy="Repeat.")])
def test_error_that_an_interrupt_caused_is_an_interrupt(capfd, stub, monkeypatch, error):
    def ask(*_, **__):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise error from interrupt

    monkeypatch.setattr(stub, "stream", ask)
    code, _, err = outcome(capfd, "ask", "hi")
    assert (code, err) == (130, "Stopped.\n")


def test_what_fails_while_the_process_ends_after_an_interrupt_is_no_traceback(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import sys
import dragoman.cli.app as module
from dragoman.cli.main import run

def broken_off():
    try:
        yield
    finally:
        raise RuntimeError("closed already")

held = broken_off()

def interrupted(*given, **options):
    next(held)
    raise KeyboardInterrupt

module.app = interrupted
run(["check"])
""")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, "Stopped.\n")


def test_interrupt_that_passed_through_exec_still_ends_with_the_code(tmp_path):
    (tmp_path / "stopped.py").write_text(
        "import dragoman.cli.app, dragoman.cli.main\n"
        "dragoman.cli.app.app = lambda *_, **__: exec('raise KeyboardInterrupt')\n"
        "dragoman.cli.main.run([])\n"
    )
    command = [sys.executable, "-m", "stopped"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "Stopped.\n")
