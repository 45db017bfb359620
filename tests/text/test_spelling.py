"""Chat spellings written out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.analyse import forget_texts
from dragoman.text.form import act_and_core, form
from dragoman.text.question_kind import offers, wants
from dragoman.text.spelling import spelt


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("wheres ur desk pls", "where's your desk please"),
        ("price 4 kids?", "price for kids?"),
        ("im from Oslo", "I'm from Oslo"),
        ("how old r u", "how old are you"),
        ("wat do u kno about me", "what do you know about me"),
        ("im tariq, studyin marine biology", "I'm Tariq, studying marine biology"),
        ("my dads 71 n cant walk far", "my dad's 71 and can't walk far"),
        ("my bikes called rosie", "my bike's called Rosie"),
        ("she alowed to sleep here?", "is she allowed to sleep here?"),
        ("til when is some1 there weds", "until when is someone there Wednesday"),
        ("wats my room no", "what's my room number"),
        ("is it open on sat?", "is it open on Saturday?"),
        ("ill be there w/ my mate", "I'll be there with my mate"),
        ("were 4 people", "we're 4 people"),
        ("我家狗叫啥来着", "我家狗叫什么"),
        ("能借充电宝不", "能借充电宝吗"),
    ],
)
def test_chat_spelling_is_written_out(typed, meant):
    assert spelt(typed) == meant


@pytest.mark.parametrize(
    "text",
    [
        "We sail at 4 o'clock.",
        "The letter is by R. Unger.",
        "4 people",
        "我不知道这件事。",
        "I am ill.",
        "He sat down.",
    ],
)
def test_ordinary_text_is_left_alone(text):
    assert spelt(text) == text


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs",)), max_size=60))
def test_writing_out_twice_changes_nothing_more(text):
    assert spelt(spelt(text)) == spelt(text)


def test_the_form_reads_through_the_spelling():
    assert form("whats my dogs name").about == "user"
    assert form("thx ur a legend").act == "thanks"
    assert form("u like golf?").about == "bot"


def test_forgetting_empties_every_cache_that_held_what_was_said():
    cached = (form, act_and_core, spelt, wants, offers)
    for remembered in cached:
        remembered("my secret word is quincunx")
    forget_texts()
    assert all(remembered.cache_info().currsize == 0 for remembered in cached)


@pytest.mark.parametrize("text", ["My birthday is 4 July.", "We stay 4 nights.", "My son is 4 years."])
def test_a_four_that_counts_or_dates_stays_a_number(text):
    assert spelt(text) == text
