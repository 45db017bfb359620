import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.typos import untyped


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Is there a wokrshop for her?", "Is there a workshop for her?"),
        ("how much is the tiket for my daugher", "how much is the ticket for my daughter"),
        ("i am allegic to milk", "i am allergic to milk"),
        ("when does the museeum open", "when does the museum open"),
        ("can rufus ride in the dog trailr", "can rufus ride in the dog trailer"),
    ],
)
def test_one_slip_is_mended(typed, meant):
    assert untyped(typed) == meant


@pytest.mark.parametrize(
    "text",
    [
        "I am vegan, can I have the halal brownie?",
        "My son Theo and our dog Brambel are here",  # names have capitals
        "which club is right for theo?",  # and short words may be names
        "Ich möchte heute nicht kommen, danke schön",
        "我想参观博物馆",
        "see https://example.org/wokrshop-list or write to wokrshop@example.org",
        "",
    ],
)
def test_the_rest_stays(text):
    assert untyped(text) == text


@given(st.text(max_size=200))
def test_no_text_is_shortened_by_more_than_its_words(text):
    assert len(untyped(text).split()) == len(text.split())
    assert untyped(untyped(text)) == untyped(text)
