"""Requests to forget: those to the agent are understood, whatever else mentions forgetting asks for nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.effort import seconds_of

import dragoman
from dragoman.text.forget.requests import MOST_CHARACTERS, ForgetRequest, forget_request, means_everything
from dragoman.text.form import form

from ...agent_files import REMEMBERING

GROUPS = tomllib.loads((Path(__file__).parent / "data" / "requests.toml").read_text(encoding="utf-8"))["group"]
IDLE = [text for group in GROUPS if group["asks"] == "nothing" for text in group["sentences"]]
EVERYTHING = [text for group in GROUPS if group["asks"] == "everything" for text in group["sentences"]]
ONE = [tuple(pair) for group in GROUPS if group["asks"] == "one" for pair in group["sentences"]]
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


@pytest.mark.trust
def test_no_idle_mention_deletes_anything_of_a_real_assistant(tmp_path):
    (tmp_path / "agent.toml").write_text(REMEMBERING, encoding="utf-8")
    with dragoman.load(tmp_path) as assistant:
        for fact in FACTS:
            assistant.remember(fact, user="ana")
        assistant.ask("Hello there.", user="ana", dialogue="old")
        for place, text in enumerate(IDLE[::3]):
            reply = assistant.ask(text, user="ana", dialogue=f"d{place}")
            assert "elete" not in reply.text or "would not know" in reply.text, text
        assert {fact.text for fact in assistant.recall(user="ana")} >= set(FACTS)
        assert len(assistant.dialogues(user="ana")) == 1 + len(IDLE[::3])
        assert not any("[forgotten]" in turn.text for turn in assistant.history(user="ana", dialogue="d0"))


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
