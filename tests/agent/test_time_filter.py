"""Search by time in a turn: documents of a period, the newest first, and what the trace says of it."""

import os
from pathlib import Path

import pytest

import dragoman
from dragoman.core.clock import use_clock
from dragoman.core.trace import Retrieval
from dragoman.core.values import Plan

AGENT = """
name = "Robin"
[[sources]]
name = "MEMORY"
about = "user"
private = true
[[sources]]
name = "DOCUMENTS"
path = "notices"
[models.encoder]
kind = "encoder.hashing.v1"
[gate]
kind = "gate.always.v1"
[reader]
kind = "reader.extractive.v1"
"""


@pytest.fixture
def assistant(tmp_path: Path):
    notices = tmp_path / "notices"
    notices.mkdir()
    (tmp_path / "agent.toml").write_text(AGENT)
    for day, fare in (("2024-02-01", 4), ("2025-03-01", 5), ("2025-09-01", 6), ("2026-04-01", 7)):
        text = f"---\ndate: {day}\n---\n# Ferry notice\n\nThe ferry costs {fare} francs for adults.\n"
        (notices / f"{day}.md").write_text(text)
    undated = notices / "old.md"
    undated.write_text("# Ferry notice\n\nThe ferry costs 2 francs for adults.\n")
    os.utime(undated, (1_500_000_000, 1_500_000_000))  # 14 July 2017
    with dragoman.load(tmp_path) as opened, use_clock("2026-06-01T10:00:00Z"):
        yield opened


def evidence(reply: dragoman.Reply) -> list[str]:
    return sorted(piece.passage.origin.removesuffix(".md")[-10:] for piece in reply.evidence)


def test_a_question_for_documents_of_a_period_finds_those(assistant) -> None:
    reply = assistant.ask("What do the notices of last year say about the ferry for adults?")
    assert evidence(reply) == ["2025-03-01", "2025-09-01"]
    plan = next(note.value for note in reply.trace if isinstance(note.value, Plan))
    assert (plan.since, plan.until) == ("2025-01-01", "2026-01-01")
    assert "only what is dated from 2025-01-01 and before 2026-01-01" in plan.reason


def test_the_caller_limits_a_turn_to_a_period(assistant) -> None:
    reply = assistant.ask("What does the ferry cost?", since="2026-01-01")
    assert evidence(reply) == ["2026-04-01"]
    assert "7 francs" in reply.text


def test_a_document_without_a_date_counts_by_its_file(assistant) -> None:
    assert evidence(assistant.ask("What does the ferry cost?", until="2020-01-01")) == ["otices/old"]


def test_a_period_without_documents_is_said_in_the_trace(assistant) -> None:
    reply = assistant.ask("What do the notices before 2010 say about the ferry?")
    assert not reply.evidence
    warnings = [warning for note in reply.trace if isinstance(note.value, Retrieval) for warning in note.value.warnings]
    assert warnings == ["No document is dated before 2010-01-01."]


def test_facts_are_limited_by_the_caller_alone(assistant) -> None:
    with use_clock("2024-06-01T10:00:00Z"):
        assistant.remember("I live in Bern.")
    assert [piece.text for piece in assistant.ask("Where do I live?", since="2026-01-01").evidence] == []
    assert "Bern" in assistant.ask("Where do I live?").text


def test_the_newest_document_comes_first(assistant) -> None:
    reply = assistant.ask("What does the latest notice say about the ferry for adults?")
    documents = [piece for piece in reply.evidence if piece.source == "DOCUMENTS"]
    assert documents[0].passage.date == "2026-04-01"
    assert "7 francs" in reply.text and "An older document" in reply.text
