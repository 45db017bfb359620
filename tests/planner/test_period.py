"""Which documents a question wants by their date."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from dragoman.core.control import TurnControl, checked_date
from dragoman.core.errors import InputError
from dragoman.core.values import Context, Plan, Turn
from dragoman.planner.period import documents_period, with_period

AT = datetime(2026, 11, 18, 9, tzinfo=UTC)
ZURICH = ZoneInfo("Europe/Zurich")


def days(question: str) -> tuple[str, str] | None:
    period = documents_period(question, AT, ZURICH)
    if period is None:
        return None
    return tuple("" if side is None else side.date().isoformat() for side in (period.start, period.end))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What do the documents of last year say about the ferry?", ("2025-01-01", "2026-01-01")),
        ("Are there notices since March about fares?", ("2026-03-01", "")),
        ("Is there a newsletter from before 2024?", ("", "2024-01-01")),
        ("What do the e-mails after 3 May say?", ("2026-05-04", "")),
        ("What does last week's newsletter say?", ("2026-11-09", "2026-11-16")),
        ("Show me the reports from 2025.", ("2025-01-01", "2026-01-01")),
        ("Which announcements were published in October?", ("2026-10-01", "2026-11-01")),
        ("Is there a notice about the ferry since Monday?", ("2026-11-16", "")),
        ("What's new since last week?", ("2026-11-09", "")),
        ("去年的通知说了什么？", ("2025-01-01", "2026-01-01")),
        ("五月以来的公告有哪些？", ("2026-05-01", "")),
    ],
)
def test_a_time_of_documents_is_a_filter(question: str, wanted: tuple[str, str]) -> None:
    assert days(question) == wanted


@pytest.mark.parametrize(
    "question",
    [
        "What is on in July?",
        "When did the museum open last year?",
        "Is the pool open on Friday?",
        "Is there a notice about closures in July?",
        "What do the documents say about the fares of last year?",
        "Which documents do I need from March?",
        "Do you have a report for next week?",
        "Are tickets that were issued before June still valid?",
        "七月有什么活动？",
        "通知里说去年票价是多少？",
    ],
)
def test_a_time_of_anything_else_is_none(question: str) -> None:
    assert days(question) is None


def test_the_caller_decides_before_the_question() -> None:
    control = TurnControl(since="2020-01-01")
    context = Context((Turn("user", "What do the notices of last year say?"),), control=control)
    plan = with_period(Plan((("DOCUMENTS",),)), context, ZURICH)
    assert (plan.since, plan.until, plan.period) == ("2020-01-01", "", "from 2020-01-01")


def test_a_wrong_date_is_an_error() -> None:
    with pytest.raises(InputError, match="since is 'May'"):
        checked_date("since", "May")
    assert checked_date("until", "2026-05-03") == "2026-05-03" and not checked_date("until", "")
