"""Which facts fit a query: of the kind and with the leaning asked for, by the words that told them, of a period."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.clock import use_clock
from dragoman.core.values import Passage, Scope
from dragoman.memory.selection import best_facts, kinds_of
from dragoman.models.scripted import ScriptedEncoder
from dragoman.stores.in_memory import InMemoryStore, words

ANA = Scope("acme", "ana")


class Same:
    """An encoder to which every text is the same."""

    dimensions = 2

    def encode(self, texts):
        return np.tile(np.array([1.0, 0.0], dtype=np.float32), (len(texts), 1))


def found(rows: list[Passage], query: str, encoder=None, **options) -> list[str]:
    store, encoder = InMemoryStore(), encoder or Same()
    store.put(ANA, rows, encoder.encode([row.indexed for row in rows]))
    named = {"encoder": encoder, "analyse": words, "scope": ANA, "source": "MEMORY", "k": 5}
    with use_clock("2026-05-04T10:00:00Z"):
        return [row.text for row in best_facts(store, query, **(named | options))]


def fact(number: int, text: str, *, said: str = "", said_at: str = "") -> Passage:
    return Passage(f"fact-{number}", "MEMORY", text, meta={"slot": "about", "said": said, "said_at": said_at})


LIKE, DISLIKE = "I like mushrooms.", "I do not like mushrooms with garlic."


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Which vegetables do I like?", LIKE),
        ("Which vegetables don't I like?", DISLIKE),
        ("What do I hate?", DISLIKE),
        ("What are my favourite vegetables?", LIKE),
    ],
)
def test_likes_are_told_from_dislikes(query, first):
    rows = [fact(1, DISLIKE), fact(2, LIKE)]
    assert found(rows, query)[0] == first
    assert found(rows[::-1], query)[0] == first


def test_a_query_is_read_with_the_kind_that_it_asks_for():
    assert "companions" in kinds_of("With whom do I watch films?") and "companions" in kinds_of("Who cooks with me?")
    assert "skill" in kinds_of("How well can I cook?")
    assert kinds_of("Where do I live?") == ""


def test_a_fact_is_found_by_the_sentence_that_told_it():
    festival = fact(2, "I like film festivals.", said="I helped to organise one for independent directors in June.")
    rows = [fact(1, "I like film music."), festival]
    assert found(rows, "We met independent directors again.", ScriptedEncoder())[0] == festival.text


def test_a_sentence_that_says_no_more_than_the_fact_is_not_indexed_twice():
    assert fact(1, "I live in Bern.", said="i live in Bern").indexed == "I live in Bern."
    assert Passage("a", "DOCUMENTS", "Text", meta={"said": "Other words"}).indexed == "Text"


def test_what_was_told_lately_comes_first():
    old, new = (
        fact(1, "I play chess.", said_at="2024-05-04T10:00:00Z"),
        fact(2, "I play go.", said_at="2026-05-03T10:00:00Z"),
    )
    assert found([old, new], "games") == ["I play go.", "I play chess."]
    assert found([fact(1, "Undated."), new], "games")[0] == "I play go."


def test_only_facts_of_a_period_are_given():
    rows = [fact(n, f"I like song {n}.", said_at=f"20{10 + n}-05-04T10:00:00Z") for n in range(40)]
    assert sorted(found(rows, "songs", since="2012", until="2014", k=10)) == ["I like song 2.", "I like song 3."]
