"""What was said in earlier chats is found, with its date; facts come first, and other users' chats never count."""

from __future__ import annotations

import pytest

import dragoman
from dragoman.core.clock import use_clock

from ..agent_files import REMEMBERING, RULES_ALONE

DIALOGUES = """
[[sources]]
name = "DIALOGUES"
private = true
dialogues = true
"""


@pytest.fixture
def make(tmp_path):
    def load(more=""):
        (tmp_path / "agent.toml").write_text(f'name = "Robin"\n{REMEMBERING.replace(RULES_ALONE, more + RULES_ALONE)}')
        return dragoman.load(tmp_path)

    return load


@pytest.fixture
def assistant(make):
    with make() as made:
        yield made


def told(assistant, **options):
    with use_clock("2026-09-14T10:00Z"):
        assistant.ask("The plumber who fixed our sink was called Otto Brandt.", dialogue="one", **options)
    return lambda text, **more: assistant.ask(text, dialogue="two", **more)


@pytest.mark.parametrize(
    "question",
    ["Which plumber fixed our sink?", "What did I say about the plumber?", "Did I ever mention a plumber?"],
)
def test_what_was_said_once_is_found_with_its_date(assistant, question):
    reply = told(assistant)(question)
    assert "Otto Brandt" in reply.text
    assert "14 September 2026" in reply.text
    assert [piece.source for piece in reply.evidence] == ["DIALOGUES"]
    assert reply.plan.sources == ("DIALOGUES",)


def test_a_stored_fact_comes_first(assistant):
    with use_clock("2026-09-14T10:00Z"):
        assistant.ask("I live in Bern.", dialogue="one")
    assert assistant.ask("Where do I live?", dialogue="two").text == "You told me: you live in Bern."


def test_the_agents_own_words_are_found(assistant):
    with use_clock("2026-09-14T10:00Z"):
        assistant.ask("hello", dialogue="one")
    assert "I said" in assistant.ask("What did you say about Robin?", dialogue="two").text


@pytest.mark.parametrize("options", [{"user": "ben"}, {"memory": "off"}])
def test_others_and_turns_without_memory_find_nothing(assistant, options):
    assert "Otto" not in told(assistant)("Which plumber fixed our sink?", **options).text


def test_a_private_chat_is_not_found(assistant):
    assert "Otto" not in told(assistant, keep=False)("Which plumber fixed our sink?").text


def test_what_was_deleted_is_not_found(assistant):
    ask = told(assistant)
    assistant.forget_dialogue("one")
    assert "Otto" not in ask("Which plumber fixed our sink?").text


def test_dialogues_can_be_a_declared_source(make):
    with make(DIALOGUES) as assistant:
        ask = told(assistant)
        reply = ask("Tell me about Otto Brandt the plumber", retrieve="always", sources=["DIALOGUES"])
        piece = reply.evidence[0]
        assert piece.passage.title == "Your message of 14 September 2026"
        assert not ask("Tell me about Otto Brandt", retrieve="always", sources=["DIALOGUES"], memory="off").evidence


def test_a_source_of_dialogues_must_be_private(make):
    with pytest.raises(dragoman.DragomanError, match="private = true"), make(DIALOGUES.replace("private = true\n", "")):
        pass
