"""Preference changes the order of evidence, never its calibrated relevance."""

import pytest

from dragoman.core.values import Context, Evidence, Passage, Request, Source
from dragoman.retriever.judge import Candidate, by_log_odds, to_evidence
from dragoman.retriever.relevance import Terms
from dragoman.retriever.search import PREFERENCE, searches
from dragoman.text.analyse import analyse

NEAR, CHILD = Passage("near", "D", "A ticket costs 5 francs."), Passage("child", "D", "Tickets cost 5.", parent="p")
TERMS = Terms.of(analyse("What does a ticket cost?"), (), 10, {"ticket": 3, "cost": 3})


def judge(dependency, *cosines):
    given = (Evidence(Passage("p", "P", "I keep the desk."), 0.9),)
    asked = Request(Context.of("What does a ticket cost?"), (Source("D", needs=("P",)),), given=given)
    [search] = searches([asked], analyse=analyse, dependency=dependency)
    candidates = [Candidate(row, cosine) for row, cosine in zip((NEAR, CHILD), cosines, strict=True)]
    return to_evidence(search, candidates, TERMS, analyse)


def test_preference_is_added_to_the_log_odds_of_a_child_alone():
    plain, liked = judge("off", 0.5, 0.5), judge("prefer", 0.5, 0.5)
    assert liked[0][0] == pytest.approx(plain[0][0])
    assert liked[1][0] == pytest.approx(plain[1][0] + PREFERENCE)
    assert [piece.relevance for _, piece in liked] == [piece.relevance for _, piece in plain]


def test_a_child_passes_a_slightly_nearer_row_and_not_a_much_nearer_one():
    assert [piece.id for piece in by_log_odds(judge("off", 0.52, 0.50))] == ["near", "child"]
    assert [piece.id for piece in by_log_odds(judge("prefer", 0.52, 0.50))] == ["child", "near"]
    assert [piece.id for piece in by_log_odds(judge("prefer", 0.90, 0.30))] == ["near", "child"]
