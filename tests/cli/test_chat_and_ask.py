"""`ask`, and `chat` down a pipe."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from dragoman.cli.chat import _folded
from dragoman.core.trace import reply_from_json


def test_ask_prints_the_reply_alone_when_nobody_looks(invoke, stub):
    done = invoke("ask", "how", "much?", "--user", "ana", "--dialogue", "trip")
    assert done.exit_code == 0
    assert done.stdout == "You said: how much?\nA return costs 34 francs.\n"
    assert stub.calls == [("how much?", "ana", "trip")]
    assert stub.closed


def test_ask_takes_an_agent_before_the_question_as_chat_does(invoke, stub, tmp_path):
    (tmp_path / "museum").mkdir()
    (tmp_path / "museum" / "agent.toml").write_text("")
    (tmp_path / "museum.dragoman").write_bytes(b"")
    for agent in (str(tmp_path / "museum"), str(tmp_path / "museum.dragoman")):
        assert invoke("ask", agent, "how", "much?").exit_code == 0
        assert (stub.calls[-1][0], stub.loaded[-1][0]) == ("how much?", agent)
    assert invoke("ask", str(tmp_path / "museum"), stdin="how much?").exit_code == 0
    assert (stub.calls[-1][0], stub.loaded[-1][0]) == ("how much?", str(tmp_path / "museum"))
    invoke("ask", str(tmp_path), "how much?")
    assert stub.calls[-1][0] == f"{tmp_path} how much?"


def test_ask_begins_a_new_dialogue_each_time(invoke, stub):
    invoke("ask", "one")
    invoke("ask", "two")
    assert len({dialogue for *_, dialogue in stub.calls}) == 2


@pytest.mark.parametrize("arguments", [("ask",), ("ask", "-")])
def test_ask_reads_the_turn_from_a_pipe(invoke, stub, arguments):
    assert invoke(*arguments, stdin="how\nmuch?\n").exit_code == 0
    assert stub.calls[0][0] == "how\nmuch?"


def test_ask_why_shows_roles_scores_and_evidence(invoke):
    out = invoke("ask", "how much?", "--why").stdout
    for words in ("gate.similarity.v1", "0.83", "PERSONA > DOCUMENTS", "0.200", "0.91", "ferry.md", "34 francs"):
        assert words in out


def test_ask_json_is_one_line_that_reads_back(invoke):
    out = invoke("ask", "how much?", "--json").stdout
    assert out.count("\n") == 1
    reply = reply_from_json(json.loads(out))
    assert reply.text == "You said: how much?\nA return costs 34 francs."
    assert [note.role for note in reply.trace] == ["memory", "gate", "planner", "retriever", "reader"]


def test_dotted_options_and_set_are_the_same_overrides(invoke, stub):
    invoke("ask", "hi", "--gate.threshold", "0.6", "--retriever.k=5", "--set", "memory.learn=false")
    assert stub.loaded[0][1]["overrides"] == {"gate.threshold": "0.6", "retriever.k": "5", "memory.learn": "false"}


def test_override_may_be_a_negative_number(invoke, stub):
    assert invoke("ask", "hi", "--gate.bias", "-1").exit_code == 0
    assert stub.loaded[0][1]["overrides"] == {"gate.bias": "-1"}


def test_agent_is_the_current_folder_where_it_has_an_agent_toml(invoke, stub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    invoke("ask", "hi")
    (tmp_path / "agent.toml").write_text("")
    invoke("ask", "hi")
    invoke("ask", "hi", "--agent", "other")
    assert [agent for agent, _ in stub.loaded] == ["harbour", ".", "other"]


@pytest.mark.trust
def test_control_characters_of_a_document_do_not_reach_the_terminal(invoke):
    assert "\x1b" not in invoke("ask", "a\x1b[2Jb").stdout


def test_piped_chat_answers_line_by_line_in_one_dialogue(command):
    done = command("chat", stdin=b"hello\n\nhow much?\r\nlast")
    assert done.stdout.decode().splitlines() == [
        "You said: hello A return costs 34 francs.",
        "You said: how much? A return costs 34 francs.",
        "You said: last A return costs 34 francs.",
    ]
    assert done.stderr.decode() == "Line 2 is empty and was skipped.\n"
    assert done.returncode == 0


def test_commands_are_obeyed_down_a_pipe_and_are_no_messages(invoke, stub):
    done = invoke("chat", stdin="/private\nI am ill\n/private\nhello\n/nosearch how much?\n/quit\nlast\n")
    assert [text for text, *_ in stub.calls] == ["I am ill", "hello", "how much?"]
    assert done.exit_code == 0 and "/private" not in done.stdout
    assert "nothing you say from now on is saved" in done.stderr


def test_a_line_that_only_looks_like_a_command_is_a_message(command):
    done = command("chat", stdin=b"/etc is a folder\n")
    assert done.stdout.decode().startswith("You said: /etc is a folder")


def test_piped_chat_prints_a_list_one_line_an_item():
    assert (
        _folded("You told me:\n- you are 9\n- you  live\n  in Bern") == "You told me:\n- you are 9\n- you live in Bern"
    )


def test_piped_chat_survives_invalid_utf8_and_emoji(command):
    done = command("chat", stdin=b"caf\xe9 \xff\n" + "⛴️ 你好\n".encode())
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2
    assert "⛴️ 你好" in done.stdout.decode()


def test_refused_turn_costs_only_itself_and_the_exit_code(command):
    done = command("chat", "--json", stdin=b"refuse\nhello\n")
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert first == {"error": "That turn is refused.", "remedy": "Say something else."}
    assert second["text"].startswith("You said: hello")
    assert b"Line 1: Error: That turn is refused." in done.stderr
    assert done.returncode == 1


def test_piped_chat_with_no_input_says_nothing_and_succeeds(command):
    done = command("chat")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_replies_come_as_they_are_ready_and_not_at_the_end(stub_file):
    process = subprocess.Popen(
        [sys.executable, stub_file, "chat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        process.stdin.write(b"hello\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"You said: hello")
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_interrupted_generation_leaves_with_130_and_no_traceback(stub_file):
    process = subprocess.Popen(
        [sys.executable, stub_file, "ask", "count"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    with process:
        assert process.stdout.read(2) == b"0 "
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == b"Stopped.\n"


def test_closed_standard_input_is_an_empty_pipe(stub_file):
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" "$1" chat <&-', sys.executable, stub_file], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_chat_takes_the_agent_as_an_argument(invoke, stub):
    assert invoke("chat", "pier.dragoman", stdin="hello\n").exit_code == 0
    assert stub.loaded[-1][0] == "pier.dragoman"
    assert "Two agents" in str(invoke("chat", "a", "--agent", "b", stdin="x\n").exception)


def test_pack_writes_one_file_and_says_how_to_talk_to_it(invoke, tmp_path):
    done = invoke("pack", "harbour", "--out", str(tmp_path / "h"))
    assert done.exit_code == 0 and f"dragoman chat {tmp_path / 'h.dragoman'}" in done.stdout
    assert (tmp_path / "h.dragoman").is_file()


def test_pack_says_what_makes_others_refuse_the_file(invoke, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "agent.toml").write_text('name = "A"\n[models]\nlanguage = "openai:gpt-4.1-mini"\n')
    done = invoke("pack", str(tmp_path / "a"), "--out", str(tmp_path / "h"))
    assert done.exit_code == 0 and "Talk to it" not in done.stdout
    assert "talks to a server" in done.stderr and "unzip it" in done.stderr


def test_parts_list_names_the_shipped_parts(invoke):
    out = invoke("parts", "list").stdout
    assert "english-unified" in out and "gate.encoder" in out
