from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dragoman.core.values import Fact
from dragoman.memory.calendar_words import with_dates
from dragoman.memory.dating import dated

AT = datetime(2026, 11, 18, 20, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("I broke my wrist last month.", "I broke my wrist in October 2026."),
        ("My dog died yesterday.", "My dog died on 17 November 2026."),
        ("I became a member last week.", "I became a member in the week of 9 November 2026."),
        ("We were in Rome last summer.", "We were in Rome in summer 2026."),
        ("She uses a wheelchair since last winter.", "She uses a wheelchair since winter 2025/26."),
        ("I lost my job two weeks ago.", "I lost my job around 4 November 2026."),
        ("I married three years ago.", "I married around November 2023."),
        ("I can not walk far since last year.", "I can not walk far since 2025."),
        ("I have been living in Lyon for five years.", "I have been living in Lyon since 2021."),
        ("I live in Germany for 3 years.", "I have lived in Germany since 2023."),
        ("I will be 30 next month.", "I will be 30 in December 2026."),
        ("I arrive next Tuesday.", "I arrive on Tuesday 24 November 2026."),
        ("I come on Saturday.", "I come on Saturday."),
        ("I have my last exam.", "I have my last exam."),
    ],
)
def test_relative_times_become_dates(said, kept):
    assert with_dates(said, AT, UTC) == kept


def test_a_sentence_about_a_later_wedding_does_not_begin_in_the_past():
    fact = dated(Fact("We are getting married in June.", "plan", "married", "We are getting married in June."), AT, UTC)
    assert fact.valid_from == fact.said_at


def test_a_span_says_since_when():
    text = "I live in Germany since 3 years"
    fact = dated(Fact("I live in Germany for 3 years.", "home", "Germany", text), AT, UTC)
    assert fact.valid_from.startswith("2023-11-18")
    assert fact.text == "I have lived in Germany since 2023."
