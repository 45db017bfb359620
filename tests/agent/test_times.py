"""Time in a turn: what is stored of it, questions about the user's history, and the latest of two documents."""

from __future__ import annotations

import pytest

from dragoman.agent.agent import Agent
from dragoman.agent.assistant import Assistant
from dragoman.core.clock import moment_of, use_clock
from dragoman.core.trace import Note, Reply
from dragoman.core.values import Draft, Passage, Plan, Source
from dragoman.memory import RuleMemory
from dragoman.models.scripted import ScriptedEncoder, ScriptedModel
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing.stubs import StubGate, StubPlanner, StubReader, StubRetriever
from dragoman.text.analyse import Analyser

SOURCES = (Source("MEMORY", about="user", private=True), Source("DOCUMENTS"))
NEW = Passage("new", "DOCUMENTS", "The ferry leaves at 10:30.", origin="new.md", meta={"date": "2026-05-03"})
OLD = Passage("old", "DOCUMENTS", "The ferry leaves at 9:00.", origin="old.md", meta={"date": "2024-05-03"})


class Quoting(StubReader):
    """Answers with the first piece of evidence, and quotes it."""

    def read(self, tasks):
        return [Draft(task.evidence[0].text, 1.0, "quoted", (task.evidence[0].id,)) for task in tasks]

    def stream(self, task):
        (draft,) = self.read([task])
        yield draft.text
        yield draft


@pytest.fixture
def assistant():
    store, encoder = InMemoryStore(), ScriptedEncoder()
    memory = RuleMemory(
        store=store,
        encoder=encoder,
        analyse=Analyser(language="auto"),
        sources=SOURCES,
        language_model=ScriptedModel(undecided="first", choices=(("Statement:", "no"),)),
        time_zone="UTC",
    )
    agent = Agent(
        gate=StubGate(),
        planner=StubPlanner(Plan((("DOCUMENTS",),))),
        retriever=StubRetriever((OLD, NEW)),
        reader=Quoting(),
        sources=SOURCES,
        date_of=lambda scope, passage: passage.date,
    )
    return Assistant(agent, store, memory, SOURCES, encoder)


def at(assistant, moment, text, **options):
    with use_clock(moment):
        return assistant.ask(text, **options)


def test_both_turns_are_stored_with_their_time(assistant):
    at(assistant, "2026-05-03T12:30:00Z", "Hello")
    assert [turn.said_at for turn in assistant.history()] == ["2026-05-03T12:30:00Z"] * 2


def test_a_question_about_history_is_answered_by_memory_with_its_evidence(assistant):
    at(assistant, "2024-03-04T10:00:00Z", "I live in Bern.", dialogue="first")
    at(assistant, "2025-05-03T10:00:00Z", "I live in Basel.", dialogue="second")
    reply = at(assistant, "2025-06-01T10:00:00Z", "Where did I live before?", dialogue="third")
    assert reply.text == "Before that, you lived in Bern (until 3 May 2025)."
    assert reply.verdict.retrieve and reply.plan.sources == ("MEMORY",)
    assert [piece.text for piece in reply.evidence] == ["I live in Bern."]
    assert [note.role for note in reply.trace] == ["gate", "planner", "retriever", "reader"]
    assert assistant.last_reply(dialogue="third") == reply


def test_a_streamed_answer_from_history_is_the_same(assistant):
    at(assistant, "2024-03-04T10:00:00Z", "I live in Bern.")
    with use_clock("2025-06-01T10:00:00Z"):
        pieces = list(assistant.stream("When did I tell you that I live in Bern?"))
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    assert text == pieces[-1].text == "You told me on 4 March 2024 at 10:00 that you live in Bern."
    assert isinstance(pieces[-1], Reply) and isinstance(pieces[0], Note)


def test_when_did_i_tell_you_that_means_the_fact_just_spoken_of(assistant):
    at(assistant, "2024-03-04T10:00:00Z", "I live in Bern.")
    at(assistant, "2024-04-04T10:00:00Z", "I like jazz.")
    at(assistant, "2024-05-05T10:00:00Z", "When did I tell you that I live in Bern?")
    assert "4 March 2024" in at(assistant, "2024-05-05T10:01:00Z", "When did I tell you that?").text


def test_one_user_never_hears_the_history_of_another(assistant):
    at(assistant, "2024-03-04T10:00:00Z", "I live in Bern.", user="ana")
    at(assistant, "2024-03-05T10:00:00Z", "I live in Basel.", user="ana")
    reply = at(assistant, "2024-03-06T10:00:00Z", "Where did I live before?", user="ben")
    assert "Bern" not in reply.text and "Basel" not in reply.text


def test_recall_at_a_moment(assistant):
    at(assistant, "2024-03-04T10:00:00Z", "I live in Bern.")
    at(assistant, "2025-05-03T10:00:00Z", "I live in Basel.")
    with use_clock("2025-06-01T10:00:00Z"):
        then = assistant.recall(at=moment_of("2024-06-01T00:00:00Z"))
    assert [row.text for row in then] == ["I live in Bern."]


def test_who_asks_for_the_latest_hears_the_newer_document_and_that_an_older_one_differs(assistant):
    reply = at(assistant, "2026-06-01T10:00:00Z", "What is the latest time of the ferry?")
    assert reply.text == "The ferry leaves at 10:30. An older document (3 May 2024) differs: The ferry leaves at 9:00."
    assert {piece.id for piece in reply.evidence} == {"new", "old"}
    with use_clock("2026-06-01T10:00:00Z"):
        pieces = list(assistant.stream("What is the latest time of the ferry?"))
    assert "".join(piece for piece in pieces if isinstance(piece, str)) == pieces[-1].text == reply.text


def test_other_questions_are_read_from_everything(assistant):
    assert at(assistant, "2026-06-01T10:00:00Z", "When does the ferry leave?").text == "The ferry leaves at 9:00."


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("When did I ask about the ferry?", ["3 May 2025 at 10:00", "ferry"]),
        ("What did we talk about in May?", ["ferry", "museum"]),
        ("What did I ask you on 4 May?", ["museum"]),
        ("我上个月问了什么？", ["ferry", "museum"]),
        ("Did we talk about dinosaurs?", ["nothing about that"]),
    ],
)
def test_past_chats_are_evidence_with_their_dates(assistant, question, found):
    at(assistant, "2025-05-03T10:00:00Z", "When does the ferry leave?", dialogue="first")
    at(assistant, "2025-05-04T10:00:00Z", "Is the museum open?", dialogue="second")
    at(assistant, "2025-06-01T09:00:00Z", "What did we talk about in May?", user="ben")
    answer = at(assistant, "2025-06-01T10:00:00Z", question, dialogue="third").text
    assert all(part in answer for part in found)
    assert ("museum" in found) == ("museum" in answer)


def test_a_forgotten_turn_is_no_evidence_any_more(assistant):
    at(assistant, "2025-05-03T10:00:00Z", "When does the ferry leave?", dialogue="first")
    assistant.forget_dialogue("first")
    answer = at(assistant, "2025-06-01T10:00:00Z", "When did I ask about the ferry?", dialogue="second").text
    assert answer == "I found nothing about that in your chats."
