"""How a dialogue becomes the text that a trained part reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import WeightsError
from dragoman.core.values import Context
from dragoman.text.view import View

TALK = Context.of("Hi.", "Hello!", "Do you  have\nrooms?", "We do.", "How much?")


def test_newest_turns_come_first():
    assert View(turns=3).text(TALK) == "User: How much? Agent: We do. User: Do you have rooms?"


def test_oldest_first_keeps_the_order_of_the_dialogue():
    assert View(turns=2, order="oldest").text(TALK) == "Agent: We do. User: How much?"


def test_zero_turns_are_all():
    assert View(turns=0, order="oldest", labels=False).text(TALK) == "Hi. Hello! Do you have rooms? We do. How much?"


def test_chinese_speakers_have_chinese_labels():
    assert View(turns=2, language="zh").text(Context.of("你好", "您好", "多少钱？")) == "用户：多少钱？ 系统：您好"


def test_nothing_said_is_an_empty_text():
    assert View().text(Context(())) == ""


@given(st.integers(0, 9), st.sampled_from(["newest", "oldest"]), st.booleans(), st.sampled_from(["en", "zh"]))
def test_view_is_read_as_it_was_written(turns, order, labels, language):
    view = View(turns, order, labels, language)
    assert View.from_json(view.to_json()) == view


@given(st.lists(st.text(min_size=1), min_size=1, max_size=8), st.integers(1, 4))
def test_turns_further_back_change_nothing(texts, turns):
    said = Context.of(*texts)
    cut = Context(said.turns[-turns:])
    assert View(turns=turns).text(said) == View(turns=turns).text(cut)


@pytest.mark.parametrize("table", [{"turns": 4, "speed": 3}, {"turns": -1}, {"order": "sideways"}, {"turns": "four"}])
def test_view_that_this_version_does_not_know_is_told(table):
    with pytest.raises(WeightsError, match="view"):
        View.from_json(table)
