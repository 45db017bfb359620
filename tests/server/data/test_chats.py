"""Titles, pins, branches, search and export of chats."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dragoman.core.control import TurnControl
from dragoman.core.errors import AbsentError, ServiceError
from dragoman.core.values import Turn
from dragoman.server.access.caller import LOCAL
from dragoman.server.access.quota import Quota
from dragoman.server.data import chat_settings, chats, user_data
from dragoman.server.data.chat_versions import Variants, branch, variants

TICKET = "What does a day ticket cost?"


@pytest.fixture
def seat(make_house):
    return make_house().hosted("robin").seat(LOCAL)


def talk(seat, *texts, name=None):
    name = name or chats.new_chat()
    for text in texts:
        seat.assistant.ask(text, user=seat.user, dialogue=name)
    return name


def listed(seat, query=""):
    return [row.title for row in chats.chats(seat, query=query)[0]]


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("api-20261117-101010-abcdef012345", "api"),
        ("20261117-101010-abcdef01234516", "api"),
        ("r-0123", "api"),
        ("mcp-20261117-101010-abc", "mcp"),
        ("my-shop", "api"),
        ("main", "terminal"),
    ],
)
def test_a_name_tells_where_a_chat_was_begun(name, origin):
    assert chats.origin_of(name) == origin


def test_a_chat_begun_on_the_page_says_so():
    assert chats.origin_of(chats.new_chat()) == "page"


def test_a_chat_that_begins_with_a_greeting_goes_by_what_it_is_about(seat):
    name = talk(seat, "Hello there.")
    assert listed(seat) == ["Hello there."]
    talk(seat, "Thanks!", TICKET, name=name)
    assert listed(seat) == [TICKET]


@pytest.mark.parametrize(
    ("text", "title"),
    [("Hello! I travel with a dog.", "I travel with a dog."), ("你好！几点开门？", "几点开门？"), ("Hi. ", "Hi.")],
)
def test_a_title_leaves_a_greeting_out(seat, text, title):
    talk(seat, text)
    assert listed(seat) == [title]


def test_a_chat_goes_by_its_first_words_until_it_is_renamed(seat):
    name = talk(seat, TICKET)
    assert listed(seat) == [TICKET]
    chats.rename(seat, name, "  Tickets  for Ana ")
    assert listed(seat) == ["Tickets for Ana"]
    chats.rename(seat, name, "")
    assert listed(seat) == [TICKET]


def test_forgetting_a_fact_takes_it_from_titles(seat):
    name = talk(seat, "I live in Bern.")
    chats.rename(seat, name, "I live in Bern.")
    seat.assistant.forget("I live in Bern.", user=seat.user)
    assert "Bern" not in str(chats.chats(seat))


def test_pinned_chats_come_first_and_the_others_by_age(seat):
    first, _, _ = (talk(seat, f"Question {number}?", name=f"20261117-10000{number}-abcdef") for number in range(3))
    chats.pin(seat, first, pinned=True)
    assert listed(seat) == ["Question 0?", "Question 2?", "Question 1?"]
    chats.pin(seat, first, pinned=False)
    assert listed(seat) == ["Question 2?", "Question 1?", "Question 0?"]


def test_a_search_looks_into_replies_and_shows_where(seat):
    talk(seat, TICKET)
    talk(seat, "Hello")
    (row,) = chats.chats(seat, query="SIX francs".replace("SIX", "6"))[0]
    assert row.title == TICKET and "6 francs" in row.snippet
    assert listed(seat, "no such words") == []


@pytest.mark.parametrize("before", ["", "a ", "a word " * 40])
def test_what_a_search_matched_stands_near_the_beginning_of_its_line(before):
    snippet = chats._around(f"{before}the quay, and {'more ' * 40}", "quay")
    assert snippet.index("quay") < 30 and len(snippet) < 90
    assert snippet.removeprefix("…").split(" ")[0] in {"a", "word", "the"}


def test_a_branch_keeps_both_and_its_explanations(seat):
    name = talk(seat, TICKET, "And for children?")
    other = branch(seat, name, 2)
    talk(seat, "And for dogs?", name=other)
    texts = [turn.text for turn in seat.assistant.history(user=seat.user, dialogue=other)]
    assert texts[0] == TICKET and texts[2] == "And for dogs?"
    assert seat.assistant.replies(user=seat.user, dialogue=other)[1] is not None
    assert len(seat.assistant.history(user=seat.user, dialogue=name)) == 4
    assert variants(seat, name) == {2: Variants((name, other), 0)}
    assert variants(seat, other) == {2: Variants((name, other), 1)}
    assert len(chats.chats(seat)[0]) == 1  # one chat in the list, with two versions
    with pytest.raises(AbsentError):
        branch(seat, name, 1)  # a reply is no question


def test_branches_of_branches_are_versions_of_their_own_question(seat):
    name = talk(seat, "One?", "Two?", "Three?")
    second = talk(seat, "Two, anew?", name=branch(seat, name, 2))
    third = talk(seat, "Two, once more?", name=branch(seat, name, 2))
    deeper = talk(seat, "Four?", name=branch(seat, second, 0))
    assert variants(seat, third) == {2: Variants((name, second, third), 2)}
    assert variants(seat, deeper)[0] == Variants((second, deeper), 1)


def test_a_deleted_chat_leaves_neither_title_nor_settings(seat):
    name = talk(seat, TICKET)
    chats.rename(seat, name, "secret plans")
    chats.forget_chat(seat, name)
    assert chat_settings.settings(seat) == {} and "secret" not in str(
        seat.assistant.store.dialogue(seat.scope, chats.TITLES)
    )


def test_an_exported_chat_cites_its_passages(seat):
    name = talk(seat, TICKET)
    text = chats.export_markdown(seat, name)
    assert text.startswith(f"# {TICKET}") and f"**{seat.assistant.name}:**" in text
    assert "> [1] Prices (documents/prices.md):\n>\n> A day ticket costs 6 francs." in text
    told = chats.export_json(seat, name)
    assert told["title"] == TICKET and list(told["turns"])[1]["reply"]["quoted"]


def test_an_exported_chat_keeps_lines_of_passages_and_names_facts_as_such(seat, monkeypatch):
    row = {"id": "a", "source": "NOTES", "title": "Prices", "headings": [], "origin": "", "meta": {}}
    table = {**row, "text": "- Child: 3 francs\n- Adult: 6 francs"}
    fact = {**row, "id": "b", "source": "MEMORY", "title": "", "meta": {"slot": "age"}, "text": "I am ten."}
    turns = [
        {"speaker": "user", "text": "多少钱？", "reply": None},
        {"speaker": "agent", "text": "3 francs.", "reply": {"sources": [fact, table], "quoted": ["a", "b"]}},
    ]
    monkeypatch.setattr(chats, "dialogue", lambda *_: turns)
    text = chats.export_markdown(seat, talk(seat, TICKET), you="您", fact="您说过")
    assert "**您:**\n\n多少钱？" in text and "> 您说过: I am ten.\n" in text
    assert "> [1] Prices (NOTES):\n>\n> - Child: 3 francs\n> - Adult: 6 francs\n" in text


def test_a_chat_remembers_its_control_without_what_is_gone(seat):
    talk(seat, "Hello", name="a")
    control = TurnControl("never", "read", sources=("MEMORY", "CELLAR"))
    chat_settings.keep_control(seat, "a", control, model="gone")
    assert chat_settings.control_of(seat, "a") == (replace(control, sources=("MEMORY",)), "")
    assert chat_settings.control_of(replace(seat, models=("gone",)), "a")[1] == "gone"
    assert chat_settings.control_of(seat, "b") == (TurnControl(), "")
    chat_settings.keep_control(seat, "a", TurnControl())
    assert chat_settings.settings(seat) == {}


@pytest.mark.trust
def test_metadata_of_chats_is_bounded_and_the_latest_is_kept(seat, monkeypatch):
    name = talk(seat, TICKET)
    for number in range(5):
        chat_settings.keep_metadata(seat, name, user="", metadata={f"{number}-{i}": "v" for i in range(16)})
    assert list(chat_settings.settings(seat)[name].metadata) == [f"4-{i}" for i in range(16)]
    monkeypatch.setattr(chat_settings, "_MOST_SETTINGS", 4000)
    others = [f"d{number}" for number in range(10)]
    for other in others:
        chat_settings.keep_metadata(seat, other, user="u", metadata={"note": "x" * 1000})
    kept = chat_settings.settings(seat)
    assert len(seat.assistant.store.kept(seat.scope, chat_settings.KEY)) <= 4000
    assert [bool(kept[other].metadata) for other in others] == [False] * 7 + [True] * 3


@pytest.mark.trust
def test_a_branch_counts_like_other_chats(make_house):
    seat = make_house(quota=Quota(user_chat_bytes=200_000)).hosted("robin").seat(LOCAL)
    name = chats.new_chat()
    seat.assistant.store.append(seat.scope, name, [Turn("user", "x" * 60_000), Turn("agent", "y"), Turn("user", "z")])
    made = branch(seat, name, 2)
    branch(seat, made, 0)  # nothing of it is copied
    branch(seat, name, 2)
    with pytest.raises(ServiceError, match="MB of chats"):
        branch(seat, name, 2)


@pytest.mark.trust
def test_thumbs_on_every_reply_of_a_long_chat_write_it_once_not_as_often(seat):
    name = chats.new_chat()
    talk(seat, "Hello", name="other")
    trace = seat.assistant.store.trace(seat.scope, "other")
    for number in range(60):
        turns = [Turn("user", f"{number} " + "x" * 5000), Turn("agent", "Yes.")]
        seat.assistant.store.append(seat.scope, name, turns, trace)
        user_data.rate(seat, name, "up", turn=2 * number + 1)
    lines = [json.loads(line) for line in user_data.thumbs(seat)]
    assert len(lines) == 60 and all(line["context"][-1]["text"].startswith(f"{n} ") for n, line in enumerate(lines))
    assert sum(len(turn["text"]) for line in lines for turn in line["context"]) < 60 * 25_000


def test_versions_of_a_chat_are_listed_and_counted_as_one(seat):
    name = talk(seat, "One?", "Two?")
    talk(seat, "Two, anew?", name=branch(seat, name, 2))
    newest = talk(seat, "Two, once more?", name=branch(seat, name, 2))
    other = talk(seat, TICKET)
    rows = {row.id: row for row in chats.chats(seat)[0]}
    assert set(rows) == {newest, other}
    assert len(rows[newest].versions) == 3 and name in rows[newest].versions
    assert user_data.erasure(seat).chats == 2


def test_a_version_whose_question_was_stopped_does_not_hide_the_others(seat):
    name = talk(seat, "One?", "Two?")
    branch(seat, name, 2)
    assert [row.id for row in chats.chats(seat)[0]] == [name]


def test_a_version_keeps_the_title_of_its_chat(seat):
    name = talk(seat, "One?", "Two?")
    chats.rename(seat, name, "Tickets for Ana")
    version = talk(seat, "Two, anew?", name=branch(seat, name, 2))
    assert listed(seat) == ["Tickets for Ana"]
    chats.rename(seat, version, "For Ben")
    assert chats.title_of(seat, name) == "Tickets for Ana"
    assert chats.title_of(seat, talk(seat, "Zero?", name=branch(seat, version, 0))) == "For Ben"
