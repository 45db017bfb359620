"""What a linear gate reads of a turn."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.values import Context, Turn
from dragoman.gate.features import Features, runs

DIALOGUE = Context.of(
    "I need a hotel in Phoenix.", "The Aloft is nice. Shall I book it?", "Is there a museum near the hotel?"
)


def test_runs_see_where_a_text_begins_and_ends():
    assert runs(("a", "b"), 2) == ["a", "b", "< a", "a b", "b >"]
    assert runs(("a", "b"), 1) == ["a", "b"]
    assert runs((), 2) == []


def test_each_field_holds_its_own_turns():
    terms, _ = Features(ngrams=1).of(DIALOGUE)
    assert terms["user"] == ["is", "there", "a", "museum", "near", "the", "hotel"]
    assert terms["agent"] == ["the", "aloft", "is", "nice", "shall", "i", "book", "it"]
    assert terms["earlier"] == ["i", "need", "a", "hotel", "in", "phoenix"]


def test_new_words_are_those_that_nobody_said_before():
    terms, shape = Features(ngrams=1).of(DIALOGUE)
    assert terms["new"] == ["there", "museum", "near"]
    assert shape["new share"] == pytest.approx(3 / 7)
    assert shape["new words"] == pytest.approx(math.log1p(3) / 3)


def test_shape_by_hand():
    _, shape = Features().of(DIALOGUE)
    assert shape["position 1"] == 1.0
    assert shape["user question"] == shape["user asks"] == shape["user ends asking"] == 1.0
    assert shape["agent asks"] == shape["agent name"] == shape["agent new name"] == 1.0
    assert "user name" not in shape
    assert "user again" not in shape


def test_a_name_that_was_said_before_is_not_new():
    _, shape = Features().of(Context.of("Tell me about Bern.", "Fine.", "How old is Bern?"))
    assert shape["user name"] == 1.0
    assert "user new name" not in shape


def test_two_turns_of_the_user_in_a_row():
    turns = (Turn("agent", "Hello!"), Turn("user", "Wait."), Turn("user", "When does it leave?"))
    terms, shape = Features(ngrams=1).of(Context(turns))
    assert terms["agent"] == ["hello"]
    assert terms["earlier"] == ["wait"]
    assert shape["user again"] == 1.0


def test_only_so_many_earlier_turns_are_read():
    context = Context.of("one", "two", "three", "four", "five")
    assert Features(earlier=1).of(context)[0]["earlier"] == ["three"]
    assert Features(earlier=0).of(context)[0]["earlier"] == []


def test_a_long_dialogue_reads_as_one_that_an_agent_remembers():
    texts = [f"turn {number}" for number in range(41)]
    assert Features().of(Context.of(*texts)) == Features().of(Context.of(*texts[-13:]))


def test_chinese_is_read_by_pairs_of_characters():
    terms, shape = Features(language="zh").of(Context.of("你好", "有什么可以帮您？", "博物馆几点开门？"))
    assert {"博物", "物馆", "开门"} <= set(terms["user"])
    assert shape["user asks"] == shape["agent asks"] == 1.0


def test_wrong_options_are_named():
    with pytest.raises(UnknownNameError, match="Did you mean 'user'"):
        Features(fields=("users",))
    with pytest.raises(ConfigError, match="reads nothing"):
        Features(fields=(), structure=False)
    with pytest.raises(ConfigError, match="-1 earlier"):
        Features(earlier=-1)


TURNS = st.lists(st.builds(Turn, st.sampled_from(["user", "agent"]), st.text(max_size=60)), max_size=6)


@given(turns=TURNS, last=st.text(max_size=80), language=st.sampled_from(["en", "zh", "de", "xx"]))
def test_any_text_has_finite_features_and_always_the_same(turns, last, language):
    features = Features.from_json(Features(language=language).to_json())
    context = Context((*turns, Turn("user", last)))
    terms, shape = features.of(context)
    assert (terms, shape) == features.of(context)
    assert set(terms) == {"user", "agent", "earlier", "new"}
    assert all(math.isfinite(value) for value in shape.values())


def test_forgetting_empties_the_words_that_were_cut():
    from dragoman.text.analyse import forget_texts, words

    Features().of(DIALOGUE)
    assert words.cache_info().currsize
    forget_texts()
    assert not words.cache_info().currsize
