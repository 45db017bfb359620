"""Turns that name a rare word of a deleted fact are shown, and go at the user's word."""

from __future__ import annotations

import pytest

import dragoman
from dragoman.core.values import Passage
from dragoman.memory.deletion.mentions import mentioning, rare_words
from dragoman.text.confirmations import is_confirmation, is_those_too, is_undo

from ...agent_files import REMEMBERING

pytestmark = pytest.mark.trust


@pytest.fixture
def assistant(tmp_path):
    (tmp_path / "agent.toml").write_text(REMEMBERING, encoding="utf-8")
    with dragoman.load(tmp_path, state=tmp_path / "state") as opened:
        yield opened


def holding(folder, *words):
    needles = [word.encode() for word in words]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(needle in path.read_bytes().lower() for needle in needles)]


def fact(text, value=""):
    return Passage("f", "MEMORY", text, meta={"value": value})


@pytest.mark.parametrize(
    ("text", "kept", "words"),
    [
        ("I have a cat called zorbolin.", "", {"zorbolin"}),
        ("I take methotrexate for my knees.", "", {"methotrexate"}),
        ("My gate code is 471193.", "", {"471193"}),
        ("I work as a nurse in a hospital.", "", set()),
        ("My brothers are running every day.", "", set()),
        ("I have a cat called zorbolin.", "I have a dog called zorbolin.", set()),
        ("我有一只猫叫佐博林尼。", "", {"博林尼"}),
        ("我在医院工作。", "", set()),
    ],
)
def test_rare_words_are_names_drugs_and_numbers_and_no_common_words(text, kept, words):
    found = rare_words([fact(text)], [fact(kept)])
    assert bool(found) == bool(words)
    if text.isascii():
        assert found == words


def test_a_turn_mentions_a_word_in_any_case_and_plural_and_not_inside_others():
    turns = ["What does Zorbolin eat?", "two zorbolins", "zorbolinism", "nothing", "What does Zorbolin eat?"]
    assert mentioning(turns, frozenset({"zorbolin"})) == ("What does Zorbolin eat?", "two zorbolins")
    assert mentioning(["佐博林吃什么", "猫吃什么"], frozenset({"博林"})) == ("佐博林吃什么",)


def test_mentions_are_shown_and_deleted_at_the_users_word(assistant, tmp_path):
    assistant.ask("i own a boat with a zorbolin engine", dialogue="a")
    assistant.ask("who repairs a zorbolin?", dialogue="b")
    assistant.ask("Do ferries run on Sundays?", dialogue="b")
    reply = assistant.ask("Forget my boat.", dialogue="c")
    assert 'It is still mentioned in 1 message, such as "who repairs a zorbolin?"' in reply.text
    assert assistant.mentions() == ("who repairs a zorbolin?",)
    assert "Deleted: 1 message." in assistant.ask("delete those too", dialogue="c").text
    assert assistant.mentions() == ()
    assert "Do ferries run on Sundays?" in [turn.text for turn in assistant.history(dialogue="b")]
    assert holding(tmp_path / "state", "zorbolin") == []


def test_without_the_users_word_they_stay_and_no_trace_keeps_what_was_shown(assistant, tmp_path):
    assistant.ask("i own a boat with a zorbolin engine", dialogue="a")
    assistant.ask("who repairs a zorbolin?", dialogue="b")
    assistant.ask("Forget my boat.", dialogue="c")
    assert assistant.history(dialogue="b")[0].text == "who repairs a zorbolin?"
    assert all("zorbolin" not in turn.text for turn in assistant.history(dialogue="c"))
    assert "undo" not in assistant.ask("undo", dialogue="c").text and assistant.mentions() == ()


def test_those_too_deletes_nothing_where_nothing_was_shown(assistant):
    assistant.ask("I live in Bern.", dialogue="a")
    before = [turn.text for turn in assistant.history(dialogue="a")]
    assistant.ask("delete those too", dialogue="b")
    assert [turn.text for turn in assistant.history(dialogue="a")] == before
    assert [row.text for row in assistant.recall()] == ["I live in Bern."]


@pytest.mark.parametrize(
    "text", ["Delete those too.", "yes, delete them too", "delete these as well", "那些也删除", "好的，把那些也删掉吧"]
)
def test_the_words_for_those_too(text):
    assert is_those_too(text) and not is_undo(text) and not is_confirmation(text)


@pytest.mark.parametrize(
    "text", ["delete those", "I deleted those too", "should I delete those too?", "too", "也删除照片"]
)
def test_other_words_are_none(text):
    assert not is_those_too(text)


def test_the_command_shows_them_and_deletes_them_with_yes(tmp_path):
    from typer.testing import CliRunner

    from dragoman.cli.app import app

    (tmp_path / "agent.toml").write_text(REMEMBERING, encoding="utf-8")
    place = ["--agent", str(tmp_path), "--state", str(tmp_path / "state")]
    with dragoman.load(tmp_path, state=tmp_path / "state") as opened:
        for round_, options in enumerate(([], ["--yes"])):
            opened.ask("i own a boat with a zorbolin engine", dialogue=f"a{round_}")
            opened.ask("who repairs a zorbolin?", dialogue=f"b{round_}")
            told = CliRunner().invoke(app, ["forget", "I own a boat with a zorbolin engine.", *place, *options])
            assert told.exit_code == 0, told.output
            assert ("more messages that mention it" if options else "still mention it") in told.output
    assert holding(tmp_path / "state", "zorbolin") == []


@pytest.mark.parametrize(
    ("told", "asked", "request_", "name"),
    [
        ("my boat is the mv thessaly-rose", "is the thessaly-rose allowed here?", "forget my boat", "hessaly"),
        ("我有一只叫嘟噜噜的猫。", "嘟噜噜爱吃什么？", "请忘记我的猫。", "嘟噜噜"),
    ],
)
def test_what_was_told_and_became_no_fact_is_shown_and_goes_too(assistant, tmp_path, told, asked, request_, name):
    about = "Tea is nice."
    assistant.ask(told, dialogue="a")
    assistant.ask(asked, dialogue="b")
    assistant.ask(about, dialogue="b")
    assert assistant.recall() == (), "no rule places it"
    reply = assistant.ask(request_, dialogue="c")
    assert told in reply.text and set(assistant.mentions()) == {told, asked}
    assistant.ask("那些也删除" if "忘" in request_ else "delete those too", dialogue="c")
    assert holding(tmp_path / "state", name) == [], reply.text
    assert about in [turn.text for turn in assistant.history(dialogue="b")]


def test_a_question_about_the_same_kind_of_thing_is_not_shown(assistant):
    assistant.ask("When does the boat leave?", dialogue="a")
    assistant.ask("Can I bring my boat?", dialogue="a")
    assert "nothing noted" in assistant.ask("forget my boat", dialogue="b").text
    assert assistant.mentions() == ()


def test_a_name_behind_a_title_goes_with_its_fact(assistant, tmp_path):
    assistant.ask("My therapist is Dr. Vanterpool.", dialogue="a")
    assistant.ask("When is my next session with Vanterpool?", dialogue="b")
    assistant.ask("Please forget my therapist.", dialogue="c")
    assert holding(tmp_path / "state", "vanterpool") == []
