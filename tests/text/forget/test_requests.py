"""Requests to forget: those to the agent are understood, whatever else mentions forgetting asks for nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.effort import seconds_of

import dragoman
from dragoman.text.forget.requests import MOST_CHARACTERS, ForgetRequest, forget_request, means_everything
from dragoman.text.form import form

from ...agent_files import MEMORY, REMEMBERING

GROUPS = tomllib.loads((Path(__file__).parent / "data" / "requests.toml").read_text(encoding="utf-8"))["group"]
IDLE = [text for group in GROUPS if group["asks"] == "nothing" for text in group["sentences"]]
EVERYTHING = [text for group in GROUPS if group["asks"] == "everything" for text in group["sentences"]]
MEANT = {text: fact for group in GROUPS if group["asks"] == "one" for text, _, fact in group["sentences"]}
"""A fact that each request for one means."""
ONE = [(text, about) for group in GROUPS if group["asks"] == "one" for text, about, _ in group["sentences"]]
FACTS = ["I live in Bern.", "My name is Ana.", "My dog is called Rufus.", "我对花生过敏。"]


def test_the_corpus_is_large_and_a_good_third_of_it_did_not_shape_the_recogniser():
    assert len(set(IDLE)) >= 300 and len({*EVERYTHING, *(text for text, _ in ONE)}) >= 100
    held = sum(len(group["sentences"]) for group in GROUPS if group.get("held"))
    assert 0.35 <= held / sum(len(group["sentences"]) for group in GROUPS) <= 0.6


def test_a_mention_of_forgetting_asks_for_nothing():
    assert [text for text in IDLE if forget_request(text) is not None or form(text).act == "forget"] == []


def test_a_request_for_everything_is_understood():
    request = ForgetRequest(True, "everything")
    assert [text for text in EVERYTHING if forget_request(text) != request or form(text).act != "forget"] == []


def test_a_request_for_one_fact_is_understood_with_its_words():
    requests = [(forget_request(text), about) for text, about in ONE]
    assert [
        (request, about)
        for request, about in requests
        if request is None or request.everything or about.lower() not in request.what.lower()
    ] == []


def test_a_request_inside_a_quotation_a_report_or_a_long_text_asks_for_nothing():
    frames = (
        "“{}”",
        "> {}",
        "```\n{}\n```",
        "She wrote this to me:\n{}",
        "It rained all day in the town. " * 20 + "{}",
    )
    texts = [frame.format(text) for text in (*EVERYTHING, *(text for text, _ in ONE)) for frame in frames]
    assert [text for text in texts if forget_request(text) is not None] == []


@pytest.fixture
def knowing(request, tmp_path):
    """An assistant that knows some facts about Ana: with the rules alone, or as it comes, with its real models."""
    (tmp_path / "agent.toml").write_text(request.param, encoding="utf-8")
    with dragoman.load(tmp_path) as assistant:
        for fact in FACTS:
            assistant.remember(fact, user="ana")
        assistant.ask("Hello there.", user="ana", dialogue="old")
        yield assistant


def texts(assistant, user):
    return [fact.text for fact in assistant.recall(user=user)]


TOLD = {
    "Don't forget the milk.": "the milk",
    "I keep my secrets in a notebook.": "I keep my secrets in a notebook.",
    "忘了告诉你，我是素食者。": "我是素食者。",
    "我手机丢了，怎么把里面的东西全清空？": "我手机丢了。",
    "我不吃香菜，请把香菜去掉。": "我不吃香菜。",
    "我手机里的照片全被清空了。": "我手机里的照片全被清空了。",
    "Our teacher keeps us from forgetting anything.": "My teacher keeps us from forgetting anything.",
    "I'm allergic to shrimp, please forget the shrimp salad and suggest something else.": "I am allergic to shrimp.",
}
"""What an idle mention tells beside: the rules learn it, as from any other turn."""
LETTER = "I have been a customer since"


@pytest.mark.trust
@pytest.mark.slow
@pytest.mark.parametrize("knowing", [REMEMBERING], ids=["rules"], indirect=True)
def test_no_idle_mention_changes_the_memory_of_an_assistant(knowing):
    before = known = texts(knowing, "ana")
    for place, text in enumerate(IDLE):
        reply = knowing.ask(text, user="ana", dialogue=f"d{place}")
        assert not any(note.value.pending for note in reply.trace.of("memory")), text
        now = texts(knowing, "ana")
        new = [fact for fact in now if fact not in known and not fact.startswith(LETTER)]
        assert now[: len(known)] == known and new == ([TOLD[text]] if text in TOLD else []), text
        assert knowing.history(user="ana", dialogue=f"d{place}")[0].text == text
        known = now
    assert known[: len(before)] == before
    assert len(knowing.dialogues(user="ana")) == 1 + len(IDLE)
    assert knowing.history(user="ana", dialogue="old")[0].text == "Hello there."


@pytest.mark.trust
@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize("knowing", [MEMORY], ids=["as it comes"], indirect=True)
def test_no_idle_mention_deletes_a_fact_of_the_default_agent(knowing):
    known = texts(knowing, "ana")
    for place, text in enumerate(IDLE[::16]):
        reply = knowing.ask(text, user="ana", dialogue=f"d{place}")
        assert not any(note.value.pending or note.value.forgotten for note in reply.trace.of("memory")), text
        assert texts(knowing, "ana")[: len(known)] == known, text


@pytest.mark.trust
@pytest.mark.slow
@pytest.mark.parametrize("knowing", [REMEMBERING], ids=["rules"], indirect=True)
def test_every_request_for_everything_is_asked_back_and_a_yes_erases(knowing):
    for place, text in enumerate(EVERYTHING):
        user = f"user-{place}"
        knowing.remember(FACTS[0], user=user)
        asked = knowing.ask(text, user=user, dialogue="d")
        assert texts(knowing, user) == FACTS[:1], f"{text} erases before anybody has said yes"
        assert [note.value.pending.facts for note in asked.trace.of("memory")] == [1], text
        knowing.ask("是的" if any("一" <= char <= "鿿" for char in text) else "yes", user=user, dialogue="d")
        assert texts(knowing, user) == [] and len(knowing.dialogues(user=user)) <= 1, text
    assert texts(knowing, "ana") == FACTS, "somebody else's facts stay"


@pytest.mark.trust
@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize("knowing", [MEMORY], ids=["as it comes"], indirect=True)
def test_every_request_for_one_fact_deletes_that_fact_alone(knowing):
    for place, (text, fact) in enumerate(MEANT.items()):
        user = f"user-{place}"
        knowing.remember(fact, user=user)
        knowing.remember("I like jazz.", user=user)
        assert len(texts(knowing, user)) == 2, text
        knowing.ask(text, user=user, dialogue="d")
        assert texts(knowing, user) == ["I like jazz."], text
    assert texts(knowing, "ana") == FACTS, "somebody else's facts stay"


def test_quoted_words_may_name_the_fact():
    assert forget_request('Please forget "I live in Bern".') == ForgetRequest(False, '"I live in Bern"')
    assert forget_request('Forget my "secret project".') == ForgetRequest(False, 'my "secret project"')


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Forget what I said.", "what I said"),
        ("please forget my dog, he died", "my dog"),
        ("forget everything about my job", "my job"),
        ("忘记我刚才说的话", "我刚才说的话"),
        ("Delete my data after my death.", None),
        ("Could you delete my dog from the list?", None),
        ("please forget me not", None),
        ("forget Karl's age", "Karl's age"),
        ("please delete where Ida lives", "where Ida lives"),
        ("forget how old Karl is", "how old Karl is"),
        ("Forget Karl's rude remark.", None),
        ("delete Karl's name from the list", None),
        ("Forget where Caesar is, where is the museum?", None),
    ],
)
def test_the_object_is_neither_more_nor_less_than_was_said(text, what):
    request = forget_request(text)
    assert (request and (request.everything, request.what)) == (what and (False, what))


@pytest.mark.parametrize(
    ("what", "all_of_it"),
    [
        ("everything", True),
        ("everything about me", True),
        ("all my data", True),
        ("where I live", False),
        ("everything on my phone", False),
        ("一切", True),
        ("我的名字", False),
        ("", False),
    ],
)
def test_everything_is_told_from_one_thing(what, all_of_it):
    assert means_everything(what) is all_of_it


@pytest.mark.parametrize(
    "piece",
    [
        "please ",
        "forget ",
        "hi, ",
        "请",
        "把",
        "everything about me ",
        "thanks, ",
        "全部",
        "'a ",
        "a.",
        "忘",
        "i want ",
    ],
)
def test_long_texts_cost_time_in_proportion_at_most(piece):
    for length in (MOST_CHARACTERS, 32_000):
        text = piece * (length // len(piece))
        assert seconds_of(lambda text=text: forget_request(text)) < 0.5  # half a millisecond as a rule
