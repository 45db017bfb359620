"""The kind of answer that a question expects and a sentence offers."""

import pytest

from dragoman.text.question_kind import offers, wants


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("How much is a ticket?", "A ticket costs 34 francs."),
        ("What would one night set me back?", "A bed costs 36 francs."),
        ("When does it open?", "It opens at 09:30."),
        ("Who designed the breakwater?", "The engineer was Odile Brandt."),
        ("How long does it take?", "The crossing takes 25 minutes."),
        ("How far is it?", "The path runs for 7 kilometres."),
        ("Which number do I ring?", "A table must be reserved on 4460."),
        ("In which year was it built?", "It was built in 1874."),
        ("On which days does it run?", "It sails on Wednesdays and Fridays."),
        ("Where is it?", "It is in Bell Lane."),
        ("龙井多少钱？", "龙井每壶68元。"),
        ("几点开门？", "早上九点开门。"),
    ],
)
def test_a_fitting_sentence_offers_what_is_wanted(question, sentence):
    assert wants(question) & offers(sentence)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("How much is a ticket?", "The boat leaves from berth 3."),
        ("Who designed the breakwater?", "After the storm a breakwater was built."),
        ("When does it open?", "Dogs are welcome."),
    ],
)
def test_another_kind_of_sentence_does_not(question, sentence):
    assert not wants(question) & offers(sentence)


def test_a_yes_or_no_question_wants_no_kind():
    assert wants("Can I bring my dog?") == frozenset()
