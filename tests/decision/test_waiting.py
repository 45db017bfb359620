"""Waiting times against how long ago something was."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.decision.questions import stemmed
from dragoman.decision.times.waiting import tells_of_an_event, waited

TODAY = date(2026, 10, 1)
RULE = "After a tattoo or a piercing you must wait four months."


def analyse(text):
    return tuple(stemmed(text))


def decide(rule, fact, question="Can I give blood?", headings=()):
    return waited(rule, [fact], question, analyse, TODAY, headings)


@pytest.mark.parametrize(
    ("rule", "fact", "verdict"),
    [
        (RULE, "I got a tattoo three months ago.", "no"),
        (RULE, "I got a tattoo half a year ago.", "yes"),
        (RULE, "I got a tattoo on 3 August.", "no"),
        (RULE, "I got a tattoo.", "unknown"),
        ("Nobody may give blood for 12 weeks after giving blood.", "I gave blood five weeks ago.", "no"),
        ("You can dive again 24 hours after a flight.", "I had a flight 30 hours ago.", "yes"),
    ],
)
def test_the_time_since_an_event_decides(rule, fact, verdict):
    decision = decide(rule, fact)
    assert decision is not None
    assert decision.verdict == verdict
    assert decision.is_settled == (verdict != "yes")


def test_under_a_heading_of_waiting_times_every_length_of_time_is_one():
    fact = "I got a tattoo three months ago."
    assert decide("Tattoo: 4 months.", fact) is None
    assert decide("Tattoo: 4 months.", fact, headings=("Waiting times",)).verdict == "no"


def test_what_is_missing_is_asked_for():
    assert decide(RULE, "I got a tattoo.").ask == "You got a tattoo: how long ago was that?"


@pytest.mark.parametrize(
    ("rule", "fact", "question"),
    [
        (RULE, "I had the flu three weeks ago.", "Can I give blood?"),  # another event
        (RULE, "I got a tattoo three months ago.", "What does a tattoo cost?"),
        (RULE, "My sister got a tattoo three months ago.", "Can I give blood?"),
        ("Tickets are valid for four months.", "I got a ticket three months ago.", "Can I go in?"),
    ],
)
def test_nothing_is_decided_about_other_matters(rule, fact, question):
    assert decide(rule, fact, question) is None


@given(st.integers(1, 400))
def test_a_day_too_early_is_a_no_and_the_day_itself_a_yes(days):
    rule = f"After a tattoo you must wait {days} days."
    for ago, verdict in ((days, "yes"), (days - 1, "no")):
        if ago:
            day = TODAY - timedelta(ago)
            fact = f"I got a tattoo on {day.day} {day:%B} {day.year}."
            assert decide(rule, fact).verdict == verdict


@pytest.mark.parametrize(
    ("fact", "is_event"),
    [("I got a tattoo last week.", True), ("My hens died.", True), ("I live in Porto.", False), ("I am 71.", False)],
)
def test_a_fact_tells_of_an_event(fact, is_event):
    assert tells_of_an_event(fact) is is_event
