"""The usage of a turn holds every call of a model that the turn makes, in whatever role and however often."""

from __future__ import annotations

import pytest

import dragoman
from dragoman.agent.assistant import Kept, UserTurn
from dragoman.core.values import Receipt, Usage
from dragoman.models.metering import record, turn_meter

from ..agent_files import DOCUMENTS, MEMORY

pytestmark = pytest.mark.trust

AGENT = (
    f"{MEMORY}{DOCUMENTS}"
    + """
[models.language]
kind = "model.scripted.v1"
default = "Entry is 6 francs."
[models.encoder]
kind = "encoder.hashing.v1"
[gate]
kind = "{gate}"
[planner]
kind = "planner.all.v1"
[reader]
kind = "{reader}"
"""
)
QUESTION, STATEMENT = "How much is the entry to the museum?", "I am 70 years old."


@pytest.fixture
def load(tmp_path):
    opened = []

    def make(*, gate="gate.prompted.v1", reader="reader.prompted.v1"):
        (tmp_path / "documents").mkdir(exist_ok=True)
        (tmp_path / "documents" / "prices.md").write_text("# Prices\n\nEntry to the museum is 6 francs.\n")
        (tmp_path / "agent.toml").write_text(AGENT.format(gate=gate, reader=reader), encoding="utf-8")
        assistant = dragoman.load(tmp_path)
        opened.append(assistant)
        return assistant

    yield make
    for assistant in opened:
        assistant.close()


def asked(assistant, text, *, streamed):
    if not streamed:
        return assistant.ask(text)
    return next(piece.reply for piece in assistant.exchange(UserTurn(text)) if isinstance(piece, Kept))


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_calls_of_every_role_are_counted_also_those_before_the_answer(load, streamed):
    """The statement has the question before it answered on trial: those calls are paid for too."""
    assistant = load()
    model = assistant.agent.reader._model
    for text in (QUESTION, STATEMENT):
        before = len(model.history)
        reply = asked(assistant, text, streamed=streamed)
        made = len(model.history) - before
        assert made > 1
        assert reply.trace.usage.calls == made


def test_the_stored_trace_has_the_same_usage(load):
    """A request that is sent again is answered from the store, with what it cost."""
    assistant = load()
    ask = UserTurn(QUESTION, under=Receipt(request="r1"))
    reply = next(piece.reply for piece in assistant.exchange(ask) if isinstance(piece, Kept))
    _, kept = assistant.answered(ask)
    assert kept.reply.trace.usage == reply.trace.usage and reply.trace.usage.calls == 2


def test_the_budget_of_a_turn_counts_what_comes_before_the_answer(load):
    """Trial and answer are one turn: a model that may be called three times does not get three times twice."""
    assistant = load()
    asked(assistant, QUESTION, streamed=True)
    gate = assistant.agent.gate
    decide, seen = gate.decide, []

    def counted(*args):
        meter = turn_meter()
        record(Usage(1, 1, 1))
        seen.append(meter.usage.calls)
        return decide(*args)

    gate.decide = counted
    asked(assistant, STATEMENT, streamed=True)
    assert len(seen) == 2 and seen[1] > seen[0] + 1, "the trial counts for the answer's budget"
