""" "Why?" is answered by what the reply rested on: the user's fact and the sentence of the documents."""

from __future__ import annotations

import pytest

import dragoman

from ..agent_files import REMEMBERING

RULES = """# Dogs

Dogs are not allowed in the tower. In the garden they must be kept on a lead.

# Tickets

A ticket for the tower costs 7 euros.
"""


@pytest.fixture
def assistant(tmp_path):
    source = '[[sources]]\nname = "DOCUMENTS"\npath = "rules.md"\n'
    (tmp_path / "rules.md").write_text(RULES, encoding="utf-8")
    (tmp_path / "agent.toml").write_text(f'name = "Robin"\n{source}{REMEMBERING}', encoding="utf-8")
    with dragoman.load(tmp_path) as loaded:
        yield loaded


@pytest.mark.parametrize("question", ["Why?", "why not", "How do you know that?", "Where did you get that from?"])
def test_the_last_reply_gives_its_reason(assistant, question):
    assistant.ask("How much is a ticket for the tower?")
    reply = assistant.ask(question)
    assert reply.text.startswith('Because the documents say: "') and "costs 7 euros" in reply.text
    assert [piece.source for piece in reply.evidence] == ["DOCUMENTS"]


def test_an_earlier_reply_is_found_by_its_words(assistant):
    assistant.ask("Are dogs allowed in the tower?")
    assistant.ask("How much is a ticket for the tower?")
    assert "not allowed in the tower" in assistant.ask("Why did you say that dogs are not allowed?").text


def test_a_reply_from_memory_rests_on_what_the_user_told(assistant):
    assistant.ask("I live in Leeds.")
    assistant.ask("What do you know about me?")
    assert assistant.ask("How do you know?").text == "Because you told me that you live in Leeds."


def test_without_a_reply_there_is_no_reason(assistant):
    assert not assistant.ask("Why?").text.startswith("Because")


def test_a_question_that_names_its_matter_is_looked_up(assistant):
    assistant.ask("How much is a ticket for the tower?")
    assert not assistant.ask("Why are dogs not allowed in the tower?").text.startswith("Because")


def test_a_dog_known_by_name_is_a_dog_to_the_documents(assistant):
    assistant.ask("I have a dog called Biscuit.")
    assert "Dogs are not allowed in the tower" in assistant.ask("May Biscuit come into the tower?").text


def test_an_answer_is_not_told_back_twice(assistant):
    assistant.ask("Where do I live?")
    assert assistant.ask("I live in York.").text == "Got it: you live in York."


@pytest.mark.parametrize("question", ["What did I ask you first?", "what was my first question?"])
def test_the_first_question_of_a_chat_is_known(assistant, question):
    assistant.ask("I live in Leeds.")
    assistant.ask("Are dogs allowed in the tower?")
    assistant.ask("How much is a ticket for the tower?")
    assert '"Are dogs allowed in the tower?"' in assistant.ask(question).text
    assert '"How much is a ticket for the tower?"' in assistant.ask("What did I just ask?").text
