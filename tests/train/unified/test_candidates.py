"""What a turn has to offer for learning."""

from __future__ import annotations

import random

from dragoman.core.examples import Gold
from dragoman.train.unified.candidates import CandidateSampler, sample_candidates, with_distractors, with_likely_labels

from ..lettered import CANDIDATES, example


def test_labels_make_a_plan_and_evidence_likely_where_a_turn_has_neither():
    bare = example(plan=None, evidence=None)
    labels = {("t1", one.id): score for one, score in zip(CANDIDATES, (0.2, 0.1, 0.0, 0.7, 0.4), strict=True)}
    found = with_likely_labels(bare, labels)
    assert found.gold == Gold(retrieve=False, plan=("P", "D"), evidence=("d2",), reply="ok")  # D needs P
    nothing = with_likely_labels(bare, dict.fromkeys(labels, 0.1))
    assert nothing.gold.plan == () and nothing.gold.evidence == ()
    assert with_likely_labels(bare, {}) is bare
    assert with_likely_labels(example(), labels).gold == example().gold


def test_offers_stand_after_what_they_depend_on_and_the_right_ones_are_known():
    found = CandidateSampler(("P", "D")).of(example(), ("P", "D"), random.Random(1))
    places = {offer.passage.id: place for place, offer in enumerate(found)}
    assert all(places[one.parent] < places[one.id] for one in CANDIDATES if one.parent)
    assert {offer.passage.id for offer in found if offer.is_gold} == {"p1", "d2"}
    asked = CandidateSampler(("P", "D"), everywhere=False).of(
        example(plan=("P",), evidence=("p1",)), ("P",), random.Random(1)
    )
    assert {offer.passage.source for offer in asked} == {"P"}


def test_a_turn_without_labels_is_learned_from_gold_where_that_is_wanted():
    labels = {("other", "p1"): 0.3}
    values = [
        {one.passage.id: one.value for one in offers.of(example(), ("P", "D"), random.Random(1))}
        for offers in (
            CandidateSampler(("P", "D"), relevance=labels),
            CandidateSampler(("P", "D"), relevance=labels, by_gold=frozenset({"t1"})),
        )
    ]
    assert set(values[0].values()) == {None}
    assert values[1] == {one.id: float(one.id in ("p1", "d2")) for one in CANDIDATES}


def test_gold_that_is_nowhere_is_passed_over():
    offers = CandidateSampler(("P", "D"))
    lost = example(evidence=("p1", "gone"))
    assert [one.id for one in offers.right(lost)] == ["p1"]
    assert len(offers.of(lost, ("P", "D"), random.Random(1))) == 5


def test_a_cap_below_what_is_right_keeps_all_that_is_right():
    found = CandidateSampler(("P", "D")).of(example(evidence=("d1", "d2", "d3")), ("P", "D"), random.Random(1))
    kept = {offer.passage.id for offer in sample_candidates(found, 2, random.Random(2))}
    assert kept == {"d1", "d2", "d3", "p1", "p2"}


def test_without_right_evidence_there_are_no_distractors():
    found = CandidateSampler(("P", "D")).of(example(), ("P", "D"), random.Random(1))
    assert with_distractors([], found, 5, random.Random(1)) == []
    right = [offer for offer in found if offer.is_gold and offer.passage.source == "P"]
    chosen = with_distractors(right, found, 5, random.Random(4))
    assert {offer.passage.source for offer in chosen} == {"P"} and right[0] in chosen
