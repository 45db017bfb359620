"""Standing wishes in a conversation: kept apart from facts, obeyed, shown, taken back, erased."""

from __future__ import annotations

import pytest

import dragoman

from ..agent_files import ALL_SOURCES, DOCUMENTS, REMEMBERING


@pytest.fixture
def assistant(tmp_path):
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "boats.md").write_text(
        "# Boats\n\n## The Tern\n\nThe Tern leaves at nine. It returns at noon. It takes forty people.\n"
    )
    (tmp_path / "agent.toml").write_text(f'name = "Robin"\n{REMEMBERING}{DOCUMENTS}')
    with dragoman.load(tmp_path) as made:
        yield made


def test_a_wish_is_kept_apart_from_facts(assistant):
    reply = assistant.ask("Keep it short.")
    assert reply.text == "Got it: I'll keep my answers short."
    assert not reply.verdict.retrieve
    assert [row.text for row in assistant.wishes()] == ["Keep answers short."]
    assert assistant.recall() == ()


def test_a_wish_is_obeyed_in_other_chats_and_noted(assistant):
    long = assistant.ask("When does the Tern leave?", dialogue="one").text
    assistant.ask("Keep it short.", dialogue="two")
    reply = assistant.ask("When does the Tern leave?", dialogue="three")
    assert len(reply.text) < len(long)
    assert "The Tern leaves at nine" in reply.text
    assert reply.trace.of("reader")[-1].value.notes["wishes"] == "Keep answers short."


def test_a_stream_obeys_like_a_whole_reply(assistant):
    assistant.ask("Keep it short.")
    whole = assistant.ask("When does the Tern leave?", dialogue="one").text
    *_, streamed = assistant.stream("When does the Tern leave?", dialogue="two")
    assert streamed.text == whole


def test_the_user_is_called_as_they_wish(assistant):
    assert assistant.ask("Call me Dr. Lee.").text == "Got it: I'll call you Dr. Lee."
    assert assistant.ask("hello", dialogue="two").text.startswith("Hello, Dr. Lee!")


def test_a_form_of_address_does_not_replace_a_known_name(assistant):
    assistant.remember("My name is Samuel.")
    assistant.ask("Call me Sam.")
    assert [fact.text for fact in assistant.recall()] == ["My name is Samuel."]


def test_the_rest_of_the_turn_is_answered(assistant):
    reply = assistant.ask("Keep it short. When does the Tern leave?")
    assert "nine" in reply.text
    assert assistant.history()[0].text == "Keep it short. When does the Tern leave?"
    assert len(assistant.wishes()) == 1


def test_a_newer_wish_takes_the_place_of_an_older_one(assistant):
    assistant.ask("Always answer in Spanish.")
    assistant.ask("Always answer in French.")
    assert [row.text for row in assistant.wishes()] == ["Answer in French."]


def test_a_wish_that_nothing_here_can_follow_says_so(assistant):
    assert "larger model" in assistant.ask("Always answer in Spanish.").text


def test_wishes_are_listed_and_taken_back(assistant):
    assistant.ask("Call me Sam.")
    assistant.ask("Keep it short.")
    listed = assistant.ask("What are my standing wishes?").text
    assert "Call me Sam." in listed
    assert "Keep answers short." in listed
    assert assistant.ask("You don't have to keep it short any more.").text == 'Dropped: "Keep answers short".'
    assert assistant.end_wish(assistant.wishes()[0].id) is not None
    assert assistant.wishes() == ()


def test_another_user_has_other_wishes(assistant):
    assistant.ask("Call me Sam.", user="ana")
    assert assistant.wishes(user="ben") == ()
    assert "Sam" not in assistant.ask("hello", user="ben").text


def test_a_private_turn_leaves_no_wish(assistant):
    assistant.ask("Call me Sam.", keep=False)
    assert assistant.wishes() == ()


def test_without_memory_wishes_do_not_count(assistant):
    assistant.ask("Call me Sam.")
    assert "Sam" not in assistant.ask("hello", memory="off", dialogue="two").text


def test_forgetting_everything_forgets_wishes(assistant):
    assistant.ask("Call me Sam.")
    assistant.forget()
    assert assistant.wishes() == ()


def test_a_wish_is_never_evidence(tmp_path):
    (tmp_path / "agent.toml").write_text(f'name = "Robin"\n{REMEMBERING}{ALL_SOURCES}')
    with dragoman.load(tmp_path) as made:
        made.ask("Call me Quillon.")
        assert not [piece for piece in made.ask("Who is Quillon?").evidence if "Call me" in piece.text]


def test_remembering_a_wish_keeps_a_wish(assistant):
    assert [row.text for row in assistant.remember("Keep it short.").wishes] == ["Keep answers short."]
    assert assistant.recall() == ()
