"""Two documents that contradict one another: the newer one answers, the older one is named."""

from __future__ import annotations

import pytest

from dragoman.core.values import Evidence, Passage
from dragoman.reader.recency import asks_for_latest, older_note, older_versions

NEW = Evidence(Passage("new", "NOTES", "Welcome. The ferry to the island leaves at 10:30.", origin="new.md"), 0.9)
OLD = Evidence(Passage("old", "NOTES", "The ferry to the island leaves at 9:00.", origin="old.md"), 0.9)
SAME = Evidence(Passage("same", "NOTES", "The ferry to the island leaves at 10:30.", origin="same.md"), 0.9)
MUSEUM = Evidence(Passage("museum", "NOTES", "The museum opens at 9:00.", origin="museum.md"), 0.9)
DAYS = {"new": "2026-05-03", "old": "2024-05-03", "same": "2020-01-01", "museum": "2019-01-01"}
QUESTION = "What is the latest notice about the ferry?"


def test_the_older_of_two_contradicting_passages_is_named_with_its_date():
    (older,) = older_versions(QUESTION, [OLD, MUSEUM, NEW, SAME], DAYS)
    assert older.evidence is OLD
    assert (
        older_note([older], "en") == " An older document (3 May 2024) differs: The ferry to the island leaves at 9:00."
    )
    assert "2024年5月3日" in older_note([older], "zh")


def test_without_dates_no_passage_is_older():
    assert older_versions(QUESTION, [OLD, NEW], {}) == ()
    assert older_versions(QUESTION, [OLD, NEW], {"old": "2024-05-03", "new": "2024-05-03"}) == ()


def test_a_negation_is_a_contradiction_too():
    closed = Evidence(Passage("c", "NOTES", "The museum is not open on Mondays.", origin="c.md"), 0.9)
    opened = Evidence(Passage("o", "NOTES", "The museum is open on Mondays.", origin="o.md"), 0.9)
    (older,) = older_versions("Is the museum currently open?", [closed, opened], {"c": "2026-01-01", "o": "2025-01-01"})
    assert older.evidence is opened


@pytest.mark.parametrize(
    ("question", "latest"),
    [
        (QUESTION, True),
        ("What does it currently cost?", True),
        ("最新的票价是多少？", True),
        ("When does the ferry leave?", False),
    ],
)
def test_who_asks_for_the_latest_says_so(question, latest):
    assert asks_for_latest(question) is latest
