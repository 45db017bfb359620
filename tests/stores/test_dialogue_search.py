"""Search in past dialogues: by words, time and speaker, of one user alone, and gone when the turns are."""

from __future__ import annotations

import pytest

from dragoman.core.values import ASIDE, Scope, Turn
from dragoman.models.scripted import ScriptedEncoder
from dragoman.stores.dialogue_search import DialogueQuery, DialogueSearch
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import Analyser

ANA, BEN = Scope("acme", "ana"), Scope("acme", "ben")


@pytest.fixture
def store():
    held = InMemoryStore()
    held.append(
        ANA,
        "march",
        [
            Turn("user", "The plumber was called Otto Brandt.", "2026-03-02T10:00:00Z"),
            Turn("agent", "I see.", "2026-03-02T10:00:05Z"),
            Turn("user", "Which boat goes to Gull Holm?", "2026-03-02T10:01:00Z"),
            Turn("agent", "The Petrel goes to Gull Holm.", "2026-03-02T10:01:05Z"),
        ],
    )
    held.append(ANA, "may", [Turn("user", "Another plumber came today.", "2026-05-04T10:00:00Z")])
    held.append(ANA, f"{ASIDE}march", [Turn("user", "plumber plumber", "2026-03-02T10:00:00Z")])
    held.append(BEN, "march", [Turn("user", "My plumber is Ines.", "2026-03-02T10:00:00Z")])
    return held


@pytest.fixture
def search(store):
    return DialogueSearch(store, ScriptedEncoder(), Analyser(language="en"))


def texts(hits):
    return [hit.text for hit in hits]


def test_a_turn_is_found_with_date_speaker_and_chat(search):
    best = search.search(ANA, DialogueQuery("plumber Otto"))[0]
    assert best.text == "The plumber was called Otto Brandt."
    assert (best.source, best.passage.date) == ("DIALOGUES", "2026-03-02")
    assert (best.passage.meta["speaker"], best.passage.meta["dialogue"]) == ("user", "march")
    assert best.scores["covers"] == 1.0


def test_time_and_speaker_limit_the_turns(search):
    later = search.search(ANA, DialogueQuery("plumber", since="2026-04-01"))
    assert texts(later) == ["Another plumber came today."]
    earlier = search.search(ANA, DialogueQuery("plumber", 1, until="2026-04-01"))
    assert texts(earlier) == ["The plumber was called Otto Brandt."]
    said = search.search(ANA, DialogueQuery("Gull Holm", 1, speaker="agent"))
    assert texts(said) == ["The Petrel goes to Gull Holm."]


def test_nobody_finds_the_turns_of_others_or_ratings(search):
    found = texts(search.search(ANA, DialogueQuery("plumber Ines", 10)))
    assert "My plumber is Ines." not in found
    assert "plumber plumber" not in found
    assert search.search(Scope("acme", "eve"), DialogueQuery("plumber")) == []


def test_what_is_deleted_or_blanked_is_found_no_more(store, search):
    search.search(ANA, DialogueQuery("plumber"))
    store.erase_turns(ANA, "may")
    store.redact(ANA, ["Otto Brandt"])
    assert not [text for text in texts(search.search(ANA, DialogueQuery("plumber", 10))) if "plumber" in text]


def test_relevance_is_in_its_range(search):
    assert all(0 <= hit.relevance <= 1 for hit in search.search(ANA, DialogueQuery("plumber Otto boat", 10)))
