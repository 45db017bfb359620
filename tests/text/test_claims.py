"""Numbers, names and negation, and whether another text supports them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.claims import names, negated, numbers, unsupported


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("34 francs", {"34"}),
        ("It opens at 09:30.", {"9:30"}),
        ("1,200.50 and 1200.5", {"1200.5"}),
        ("twenty-five people", {"25"}),
        ("one hundred and five steps", {"105"}),
        ("三十五元，两个人", {"35", "2"}),
        ("一万两千人", {"12000"}),
        ("no numbers here", set()),
    ],
)
def test_numbers_have_one_spelling(text, found):
    assert numbers(text) == found


def test_names_are_capitals_inside_a_sentence():
    assert names("The curator is Ines Halloran. It is open on Monday in Ellisund.") == {"ines", "halloran", "ellisund"}
    assert names('Oslo. Bergen! "Rome" (Paris) xBern USA 3Lyon McAdam') == {"mcadam"}
    assert names("in Oslo, Bergen") == {"oslo", "bergen"}


def test_an_invented_number_or_name_is_unsupported():
    # The measured failure of a small model: "34 francs" became "64".
    assert unsupported("It costs 64 francs, says Bob.", ["it costs 34 francs"]) == ("64", "bob")
    assert unsupported("It costs thirty-four francs.", ["It costs 34 francs."]) == ()


@given(st.text(max_size=80))
def test_a_text_always_supports_itself(text):
    assert unsupported(text, [text]) == ()


def test_negation_is_seen_in_both_languages():
    assert negated("Dogs are not allowed.")
    assert negated("不能带狗")
    assert not negated("Dogs are allowed.")
