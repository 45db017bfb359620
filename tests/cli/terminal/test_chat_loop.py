"""The interactive conversation, on a terminal of its own."""

from __future__ import annotations

import codecs
import io
import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest
from rich.console import Console

from dragoman.cli.terminal.chat_loop import ChatLoop

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Terminal:
    """A process on a pseudo-terminal: type into it, wait for what it shows."""

    def __init__(self, arguments, folder):
        self._master, slave = pty.openpty()
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
        self.process = subprocess.Popen(
            arguments, stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=environment, start_new_session=True
        )
        os.close(slave)
        self._seen = ""
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def press_ctrl_c_until(self, words):
        """Press as a person would: the interpreter's line editor can miss one that falls just before it waits."""
        for _ in range(3):
            self.press_ctrl_c()
            try:
                return self.wait_for(words, seconds=3.0)
            except AssertionError:
                continue
        return self.wait_for(words)

    def wait_for(self, words, seconds=60.0):
        """What was shown up to and including the words; they are consumed."""
        end = time.monotonic() + seconds
        while words not in self._seen:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._master], [], [], left)[0]:
                raise AssertionError(f"{words!r} was not shown; what was: {self._seen[-500:]!r}")
            self._seen = _ESCAPES.sub("", self._seen + self._decode(os.read(self._master, 65536)))
        shown, _, self._seen = self._seen.partition(words)
        return shown + words

    def type(self, text):
        os.write(self._master, text.encode())

    def press_ctrl_c(self):
        os.killpg(self.process.pid, 2)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.fixture
def terminal(stub_file, tmp_path):
    opened = Terminal([sys.executable, stub_file, "chat"], tmp_path)
    yield opened
    opened.close()


def test_greeting_names_the_agent_its_examples_and_the_commands(terminal):
    shown = terminal.wait_for("you> ")
    for words in ("Stub", "Ask me about [ferries].", "What does it cost?", "/why", "/forget", "/quit"):
        assert words in shown


def test_reply_comes_with_a_line_that_says_why(terminal):
    terminal.wait_for("you> ")
    terminal.type("how much?\n")
    shown = terminal.wait_for("you> ")
    assert "A return costs 34 francs." in shown
    assert "PERSONA > DOCUMENTS · ferry.md · relevance 0.91 · 0.4 s" in shown
    terminal.type("hello\n")
    assert "nothing looked up · small talk" in terminal.wait_for("you> ")


def test_what_a_turn_taught_is_shown_and_listed_and_forgotten(terminal):
    terminal.wait_for("you> ")
    terminal.type("I am tall\n")
    assert "remembered: I am tall" in terminal.wait_for("you> ")
    terminal.type("/memory\n")
    assert "I am tall" in terminal.wait_for("you> ")
    terminal.type("/forget tall\n")
    assert "Deleted: 1." in terminal.wait_for("you> ")
    terminal.type("/memory\n")
    assert "Nothing is remembered" in terminal.wait_for("you> ")
    terminal.type("/undo\n")
    assert "Restored: I am tall" in terminal.wait_for("you> ")
    terminal.type("/undo\n")
    assert "There is nothing to undo." in terminal.wait_for("you> ")


def test_forgetting_everything_asks_first(terminal):
    terminal.wait_for("you> ")
    terminal.type("I am tall\n")
    terminal.wait_for("you> ")
    terminal.type("/forget\n")
    assert "This deletes 1 fact about you, 1 chat and 0 uploaded files." in terminal.wait_for("Type yes: ")
    terminal.type("no\n")
    assert "Nothing was deleted." in terminal.wait_for("you> ")
    terminal.type("/forget everything\n")
    terminal.wait_for("Type yes: ")
    terminal.type("yes\n")
    assert "Deleted: 1." in terminal.wait_for("you> ")


def test_commands_show_the_trace_the_sources_and_themselves(terminal):
    terminal.wait_for("you> ")
    terminal.type("/why\n")
    assert "Nothing has been said yet" in terminal.wait_for("you> ")
    terminal.type("how much?\n")
    terminal.wait_for("you> ")
    terminal.type("/why\n")
    shown = terminal.wait_for("you> ")
    for words in ("gate.similarity.v1", "0.83", "retriever.hybrid.v1", "Evidence", "A return ticket costs 34 francs."):
        assert words in shown
    terminal.type("/sources\n")
    assert "what you said (private)" in terminal.wait_for("you> ")
    terminal.type("/help\n")
    assert "/memory" in terminal.wait_for("you> ")
    terminal.type("/whi\n")
    assert "Did you mean /why?" in terminal.wait_for("you> ")
    terminal.type("/quit\n")
    assert terminal.process.wait(timeout=60) == 0


def test_error_ends_the_turn_and_not_the_conversation(terminal):
    terminal.wait_for("you> ")
    terminal.type("refuse\n")
    assert "That turn is refused." in terminal.wait_for("you> ")
    terminal.type("hello\n")
    assert "You said: hello" in terminal.wait_for("you> ")


def test_ctrl_c_stops_the_reply_and_at_the_prompt_leaves(terminal):
    terminal.wait_for("you> ")
    terminal.type("count\n")
    terminal.wait_for("2 3 ")
    terminal.press_ctrl_c()
    shown = terminal.wait_for("you> ")
    assert "(stopped" in shown and "199" not in shown
    terminal.type("hello\n")
    assert "You said: hello" in terminal.wait_for("you> ")
    terminal.press_ctrl_c_until("Goodbye.")
    assert terminal.process.wait(timeout=60) == 0


def test_ctrl_d_leaves(terminal):
    terminal.wait_for("you> ")
    terminal.type("\x04")
    terminal.wait_for("Goodbye.")
    assert terminal.process.wait(timeout=60) == 0


def test_forgetting_a_fact_clears_the_why_of_the_last_reply(terminal):
    terminal.wait_for("you> ")
    terminal.type("hello\n")
    terminal.wait_for("you> ")
    terminal.type("/forget jazz\n")
    terminal.wait_for("you> ")
    terminal.type("/why\n")
    assert "Nothing has been said yet" in terminal.wait_for("you> ")


def test_ctrl_d_at_the_question_forgets_nothing_and_stays(terminal):
    terminal.wait_for("you> ")
    terminal.type("/forget\n")
    terminal.wait_for("Type yes: ")
    terminal.type("\x04")
    assert "Nothing was deleted" in terminal.wait_for("you> ")


def test_a_reply_can_be_called_good_or_bad(terminal):
    terminal.wait_for("you> ")
    terminal.type("/good\n")
    terminal.wait_for("Nothing has been said yet.")
    terminal.type("What does it cost?\n")
    terminal.wait_for("34 francs.")
    terminal.wait_for("you> ")
    terminal.type("/bad\n")
    terminal.wait_for("Noted as wrong: something was looked up.")


@pytest.fixture
def loop(stub):
    """Handles lines as if they were typed; what each of them prints."""
    chat = ChatLoop(stub, user="ana", dialogue="d")

    def handle(line):
        chat._console = Console(file=io.StringIO(), width=200)
        chat._handle(line)
        return " ".join(chat._console.file.getvalue().split())

    handle.assistant = stub
    return handle


def test_search_and_nosearch_control_one_turn(loop):
    assert "('retrieve', 'always')" in loop("/search hello") and "DOCUMENTS" in loop("/search hello")
    assert "('retrieve', 'never')" in loop("/nosearch how much?")
    loop("how much?")
    assert loop.assistant.control == {}
    assert getattr(loop.assistant, "labels", []) == []


def test_search_and_nosearch_alone_label_the_last_reply(loop):
    assert "Nothing has been said yet" in loop("/search") and "Nothing has been said yet" in loop("/nosearch")
    loop("hello")
    assert "Nothing was looked up" in loop("/nosearch")
    assert "You said: hello" in loop("/search")
    assert loop.assistant.labels == [(True, "ana", "d")] and loop.assistant.control == {"retrieve": "always"}
    assert "searched for already" in loop("/search")
    assert "no search was needed" in loop("/nosearch")
    assert loop.assistant.labels == [(True, "ana", "d"), (False, "ana", "d")]


def test_private_turns_are_neither_kept_nor_rated_nor_labelled(loop):
    assert "nothing you say from now on is saved" in loop("/private")
    loop("how much?")
    assert loop.assistant.control == {"keep": False}
    assert "cannot be rated" in loop("/good")
    loop("/nosearch")
    assert not hasattr(loop.assistant, "rated") and not hasattr(loop.assistant, "labels")
    assert "No longer private" in loop("/private")
    loop("how much?")
    assert loop.assistant.control == {}


def test_memory_and_sources_are_chosen_for_the_chat(loop):
    assert "read, not written" in loop("/memory read")
    assert "Searching only: PERSONA, DOCUMENTS." in loop("/sources documents")
    loop("how much?")
    assert loop.assistant.control == {"memory": "read", "sources": ("PERSONA", "DOCUMENTS")}
    assert "/memory on, /memory read or /memory off" in loop("/memory perhaps")
    loop("/memory on")
    loop("/sources all")
    loop("how much?")
    assert loop.assistant.control == {}
