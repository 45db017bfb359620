"""Thumbs: kept as places in a dialogue, so that forgetting takes them along."""

import json

import pytest

from dragoman.agent.feedback import KEY, rate, ratings, search_labels, thumbs
from dragoman.core.errors import StoreCorruptError
from dragoman.core.values import Scope, Turn
from dragoman.stores.in_memory import InMemoryStore

ANA, BEN = Scope("t", "ana"), Scope("t", "ben")


@pytest.fixture
def store():
    made = InMemoryStore()
    for scope in (ANA, BEN):
        made.append(scope, "d", [Turn("user", "I live in Bern."), Turn("agent", "I see.")])
        made.append(scope, "d", [Turn("user", "When does it leave?"), Turn("agent", "At nine.")])
    return made


def test_a_thumb_comes_with_the_dialogue_up_to_the_users_turn(store):
    rate(store, ANA, "d", retrieved=True, good=False)
    (rating,) = ratings(store, ANA)
    assert [turn.text for turn in rating.context.turns] == ["I live in Bern.", "I see.", "When does it leave?"]
    assert (rating.retrieved, rating.good, rating.context.dialogue) == (True, False, "d")
    assert list(ratings(store, BEN)) == []


def test_a_second_thumb_for_the_same_reply_counts(store):
    rate(store, ANA, "d", retrieved=True, good=False)
    rate(store, ANA, "d", retrieved=True, good=True)
    assert [rating.good for rating in ratings(store, ANA)] == [True]


def test_thumbs_of_later_replies_are_added(store):
    rate(store, ANA, "d", retrieved=True, good=True)
    store.append(ANA, "d", [Turn("user", "Thanks!"), Turn("agent", "Welcome.")])
    rate(store, ANA, "d", retrieved=False, good=True)
    assert [len(rating.context.turns) for rating in ratings(store, ANA)] == [3, 5]


def test_no_words_are_kept_with_a_thumb(store):
    rate(store, ANA, "d", retrieved=True, good=True)
    assert set(json.loads(store.kept(ANA, KEY))[0]) == {"dialogue", "turns", "retrieved", "good"}


def test_what_is_blanked_in_the_dialogue_is_gone_from_the_thumb(store):
    rate(store, ANA, "d", retrieved=True, good=True)
    store.redact(ANA, ["Bern"])
    (rating,) = ratings(store, ANA)
    assert "Bern" not in " ".join(turn.text for turn in rating.context.turns)
    store.redact(ANA, ["leave"])
    assert list(ratings(store, ANA)) == []


def test_forgetting_a_user_forgets_their_thumbs_and_no_others(store):
    for scope in (ANA, BEN):
        rate(store, scope, "d", retrieved=True, good=True)
    store.forget(ANA)
    assert store.kept(ANA, KEY) is None
    assert list(ratings(store, ANA)) == []
    assert len(list(ratings(store, BEN))) == 1


def test_damaged_ratings_are_told(store):
    store.keep(ANA, KEY, "nonsense")
    with pytest.raises(StoreCorruptError, match="ana"):
        list(ratings(store, ANA))


def test_a_better_answer_comes_with_its_thumb_and_goes_when_it_is_blanked(store):
    rate(store, ANA, "d", retrieved=True, good=False, turn=1, better="You live in Bern.")
    rate(store, ANA, "d", retrieved=True, good=False, better="At ten.")
    assert [(len(each.context.turns), each.better) for each in ratings(store, ANA)] == [
        (1, "You live in Bern."),
        (3, "At ten."),
    ]
    store.redact(ANA, ["You live in Bern"])
    assert [each.better for each in ratings(store, ANA)] == [None, "At ten."]


def test_a_word_on_the_search_stands_beside_the_thumb_and_neither_replaces_the_other(store):
    rate(store, ANA, "d", retrieved=True, needed=False)
    (rating,) = ratings(store, ANA)
    assert (rating.good, rating.needed, rating.context.last) == (None, False, "When does it leave?")
    assert thumbs(store, ANA, "d") == {}
    rate(store, ANA, "d", retrieved=True, good=True, better="At ten.")
    rate(store, ANA, "d", retrieved=True, needed=True)
    (rating,) = ratings(store, ANA)
    assert (rating.good, rating.needed, rating.better) == (True, True, "At ten.")
    assert search_labels(store, ANA, "d") == {3: True} and thumbs(store, ANA, "d") == {3: True}
