"""Which names a text says, exactly or nearly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.names import Names, common_words, words_of

HOTELS = (
    "ACORN GUEST HOUSE",
    "BRIDGE GUEST HOUSE",
    "A AND B GUEST HOUSE",
    "THE LENSFIELD HOTEL",
    "ASHLEY HOTEL",
    "GONVILLE HOTEL",
    "STAZIONE RESTAURANT AND COFFEE BAR",
    "NANDOS",
    "NANDOS CITY CENTRE",
)
COMMON = frozenset("the is it a bridge house guest hotel city and view nice have does variety".split())


@pytest.fixture(scope="module")
def names():
    return Names(HOTELS, common=COMMON)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Is the Acorn Guest House quiet?", "ACORN GUEST HOUSE"),
        ("the lensfield hotel, please", "THE LENSFIELD HOTEL"),
        ("I booked the Lensfield.", "THE LENSFIELD HOTEL"),
        ("a table at Stazione", "STAZIONE RESTAURANT AND COFFEE BAR"),
        ("the Gonvile hotel", "GONVILLE HOTEL"),
        ("acorn guesthouse", "ACORN GUEST HOUSE"),
    ],
)
def test_a_name_is_found_as_people_say_it(names, said, meant):
    assert names.find(said) == (meant,)


def test_a_longer_name_hides_the_one_inside_it(names):
    assert names.find("We ate at Nandos city centre.") == ("NANDOS CITY CENTRE",)


def test_common_words_are_no_names(names):
    assert names.find("Does it have a nice view of the bridge and a variety of guests?") == ()


def test_names_come_in_the_order_they_are_said(names):
    assert names.find("Ashley Hotel or Acorn Guest House?") == ("ASHLEY HOTEL", "ACORN GUEST HOUSE")


def test_the_latest_mention_wins(names):
    said = [
        "Tell me about the Ashley Hotel.",
        "It is in the north.",
        "And the Gonville Hotel?",
        "It has parking.",
        "Ok",
    ]
    assert names.latest(said) == ("GONVILLE HOTEL",)
    assert names.latest(said, most=2) == ("GONVILLE HOTEL", "ASHLEY HOTEL")
    assert names.latest(said, most=0) == ("GONVILLE HOTEL", "ASHLEY HOTEL")


def test_a_turn_that_compares_is_about_all_it_names(names):
    assert set(names.latest(["Ashley Hotel or Gonville Hotel?", "Which one has parking?"])) == {
        "ASHLEY HOTEL",
        "GONVILLE HOTEL",
    }


def test_a_guess_does_not_hide_an_earlier_sure_mention(names):
    """'stazione' alone may be a station: the hotel before it stays in question."""
    assert set(names.latest(["The Ashley Hotel is booked.", "Is it near the stazione?"])) == {
        "ASHLEY HOTEL",
        "STAZIONE RESTAURANT AND COFFEE BAR",
    }


def test_without_common_words_short_beginnings_stand_for_nothing():
    assert Names(HOTELS).find("Is there a bar at the stazione?") == ()


def test_chinese_names_are_found_inside_a_run_of_characters():
    assert Names(["故宫博物院", "颐和园"]).find("我想去颐和园看看") == ("颐和园",)


def test_common_words_are_those_under_several_names():
    texts = [(name, "the room was clean") for name in "abc"] + [("a", "the acorn tree"), ("b", "acorn")]
    assert common_words(texts) == {"the", "room", "was", "clean"}


def test_words_ignore_case_apostrophes_and_ampersands():
    assert words_of("Rosa's B&B") == ["rosas", "b", "and", "b"]


@given(name=st.sampled_from(HOTELS), before=st.text(max_size=12), after=st.text(max_size=12))
def test_a_whole_name_among_other_words_is_always_found(name, before, after):
    found = Names([name], common=COMMON).find(f"{before} , {name} . {after}")
    assert found == (name,)


@given(st.text(max_size=60))
def test_any_text_can_be_read(text):
    assert set(Names(HOTELS, common=COMMON).find(text)) <= set(HOTELS)
