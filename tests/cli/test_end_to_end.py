"""The command as people run it: real weights, a folder of one's own, and no stub anywhere."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.integration
COMMAND = [sys.executable, "-m", "dragoman"]


def run(*arguments, stdin=b"", cwd=None):
    return subprocess.run([*COMMAND, *arguments], input=stdin, capture_output=True, timeout=120, check=False, cwd=cwd)


@pytest.fixture
def agent(tmp_path):
    """A folder as `init` makes it."""
    assert run("init", str(tmp_path / "mine")).returncode == 0
    return tmp_path / "mine"


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_new_agent_passes_its_own_conversations(tmp_path, language):
    assert run("init", str(tmp_path / "mine"), "--language", language).returncode == 0
    done = run("check", str(tmp_path / "mine"))
    assert done.returncode == 0, done.stdout.decode()
    assert not (tmp_path / "mine" / ".dragoman").exists()


def test_piped_chat_remembers_across_processes_and_keeps_users_apart(agent):
    first = run(
        "chat", "--user", "ana", stdin=b"My bicycle is called Comet.\nWhat does a day ticket cost?\n", cwd=agent
    )
    assert first.returncode == 0, first.stderr.decode()
    assert b"6 francs" in first.stdout.splitlines()[1]
    again = run("ask", "--user", "ana", "--json", "What is my bicycle called?", cwd=agent)
    reply = json.loads(again.stdout)
    assert "Comet" in reply["text"] and reply["plan"]["steps"] == [["MEMORY"]]
    assert b"Comet" not in run("ask", "--user", "tom", "What is my bicycle called?", cwd=agent).stdout


@pytest.mark.slow
def test_an_agent_of_a_folder_elsewhere_answers_from_its_packed_file(tmp_path, monkeypatch):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "hall.md").write_text("# The hall\n\nThe hall closes at a quarter past nine.\n")
    (notes / "plan.dwg").write_bytes(b"drawing")
    assert run("init", "mine", "--documents", str(notes), cwd=tmp_path).returncode == 0
    done = run("pack", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert b"DOCUMENTS: files copied from ../notes: 1; left out, of kinds that are not read: 1" in done.stdout
    (notes / "hall.md").unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "mine.dragoman").rename(elsewhere / "mine.dragoman")
    talked = run("chat", "mine.dragoman", stdin=b"When does the hall close?\n", cwd=elsewhere)
    assert b"quarter past nine" in talked.stdout, talked.stderr.decode()


@pytest.mark.trust
def test_control_characters_in_names_of_files_do_not_reach_the_terminal(agent):
    (agent / "documents" / "\x1b]0;owned\x07.pdf").write_text("no PDF")
    (agent / "documents" / "\x1b[31mred\x07 lantern.txt").write_text("The red lantern costs 3 francs.")
    asked = run("ask", "--why", "What does the red lantern cost?", cwd=agent)
    assert b"could not read" in asked.stderr and b"3 francs" in asked.stdout and b"[31mred" in asked.stdout
    read = run("ingest", "documents", "--source", "DOCUMENTS", cwd=agent)
    assert b"Failed: " in read.stderr
    for text in (asked.stdout, asked.stderr, read.stdout, read.stderr):
        assert b"\x1b" not in text and b"\x07" not in text


@pytest.mark.slow
@pytest.mark.trust
def test_forgotten_user_leaves_no_byte_in_the_state(agent):
    run("remember", "My bicycle is called Zanzibar.", "--user", "ana", cwd=agent)
    assert b"Zanzibar" in run("recall", "--user", "ana", cwd=agent).stdout
    assert run("forget", "--all", "--yes", "--user", "ana", cwd=agent).returncode == 0
    files = [path for path in (agent / ".dragoman").rglob("*") if path.is_file()]
    assert files and not [path for path in files if b"Zanzibar" in path.read_bytes()]


@pytest.mark.slow
def test_own_files_are_ingested_and_answered_from(agent, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "garden.md").write_text("# The garden\n\nThe pear tree was planted in 1962 by Hilda.\n")
    (notes / "empty.md").write_text("")
    done = run("ingest", str(notes), cwd=agent)
    assert done.returncode == 1 and b"empty.md" in done.stderr
    assert b"1962" in run("ask", "When was the pear tree planted?", cwd=agent).stdout


@pytest.mark.slow
def test_bad_turns_and_bad_files_are_clear_errors(agent):
    for arguments, stdin in (
        (("ask",), b" \n"),
        (("ask",), b"x" * 1_000_000),
        (("ask", "hi", "--gate.treshold", "1"), b""),
    ):
        done = run(*arguments, stdin=stdin, cwd=agent)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.startswith(b"Error: ") and b"Traceback" not in done.stderr
    state = agent / ".dragoman"
    state.mkdir(exist_ok=True)
    (state / "dragoman.db").write_bytes(b"nonsense" * 1000)
    done = run("ask", "hi", cwd=agent)
    assert done.returncode == 1 and b"Traceback" not in done.stderr


@pytest.mark.slow
def test_interrupt_while_starting_or_answering_is_clean_and_loses_nothing(agent):
    run("remember", "My bicycle is called Comet.", cwd=agent)
    for seconds in (0.5, 1.0, 1.6):
        process = subprocess.Popen(
            [*COMMAND, "ask", "Tell me a long story."], cwd=agent, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        with process:
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        # by the signal, which a shell shows as 130 too: it came before the interpreter was there to meet it, or in code
        # run from a string (a dataclass that was being made), after which the interpreter ends by it regardless
        assert process.returncode in (0, 130, -signal.SIGINT), errors.decode()
        assert b"Traceback" not in errors
    assert b"Comet" in run("recall", cwd=agent).stdout


@pytest.mark.slow
def test_doctor_finds_a_working_machine(agent):
    done = run("doctor", "--json", cwd=agent)
    assert done.returncode == 0
    states = {finding["what"]: finding["state"] for finding in json.loads(done.stdout)}
    assert states["generating"] == states["encoding"] == "ok"
