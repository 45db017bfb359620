"""Logs say what happened, never what somebody said or what a document holds."""

from __future__ import annotations

import logging

import pytest

import dragoman
from dragoman.core.errors import InputError

pytestmark = pytest.mark.trust

SECRET = "quillfeather"
TURNS = (
    f"My dog is called {SECRET}.",
    f"Remember that the code is {SECRET}.",
    f"I adore the smell of {SECRET} in the morning.",
    "What is my dog called?",
    f"Write me a poem about {SECRET}.",
    f"Forget {SECRET}.",
)


def converse(assistant, tmp_path, caplog):
    note = tmp_path / "note.md"
    note.write_text(f"# Note\n\nThe {SECRET} is in the drawer.\n")
    (tmp_path / "torn.pdf").write_bytes(SECRET.encode())
    caplog.set_level(logging.DEBUG, "dragoman")
    assistant.ingest([note, tmp_path / "torn.pdf"], source="NOTES", user=SECRET)
    for turn in TURNS:
        list(assistant.stream(turn, user=SECRET, dialogue=SECRET))
        assistant.ask(turn, user=SECRET)
    assistant.recall(SECRET, user=SECRET)
    with pytest.raises(InputError):
        assistant.ask(SECRET * 10_000, user=SECRET)
    assistant.forget(user=SECRET)


def test_debug_logs_hold_nothing_that_was_said(folder, tmp_path, caplog):
    with dragoman.load(folder) as assistant:
        converse(assistant, tmp_path, caplog)
    assert caplog.records, "something is logged"
    assert SECRET not in "\n".join(record.getMessage() for record in caplog.records).lower()


@pytest.mark.integration
@pytest.mark.slow
def test_nor_with_the_real_models(robin, tmp_path, caplog, capfd):
    converse(robin(), tmp_path, caplog)
    shown = "\n".join(record.getMessage() for record in caplog.records) + "".join(capfd.readouterr())
    assert SECRET not in shown.lower()
