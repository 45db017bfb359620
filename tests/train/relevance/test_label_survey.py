"""How labels are distributed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from dragoman.train.relevance.candidate_pools import turn_to_label
from dragoman.train.relevance.label_file import LabelRow
from dragoman.train.relevance.label_survey import LabelSpread, survey


@pytest.fixture
def toys(load_beside):
    return load_beside("relevance_toys")


def test_counts_by_hand(toys):
    turns = [turn_to_label(toys.turn(0), "plan"), turn_to_label(toys.turn(1, evidence=("sea",)), "plan")]
    scores = {"tea": 0.5, "sea": 0.5, "tea-1": 0.0, "tea-2": 0.9, "sea-1": 0.9}
    rows = [LabelRow(id=turn.example.id, sha256=turn.sha256, scores=scores) for turn in turns]
    found = survey(turns, rows)
    assert list(found.sources) == ["PERSONA", "DOCUMENTS"]
    persona, documents = found.sources.values()
    assert persona.counts == (0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0)
    assert (persona.total, persona.high, persona.gold_among_high, persona.auc) == (4, 4, 0.5, 0.5)
    # right: one of 0.9; wrong: 0.0 twice, 0.9 three times: (2 + 3 / 2) / 5
    assert documents.auc == pytest.approx(0.7)
    assert documents.gold_among_high == 0.25
    assert found.all.total == 10


def test_what_failed_or_has_no_truth_is_not_counted_as_wrong(toys):
    turn = turn_to_label(toys.turn(evidence=None), "plan")
    row = LabelRow(id="d0#1", sha256=turn.sha256, scores={"tea": 1.0, "sea": 0.0}, failed={"DOCUMENTS": "no"})
    found = survey([turn], [row])
    assert found.sources["DOCUMENTS"].total == 0
    assert found.all.total == 2
    assert math.isnan(found.all.auc)
    assert math.isnan(found.all.gold_among_high)


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=2, max_size=60))
def test_roc_auc_equals_scikit_learns(entries):
    counts = [
        tuple(sum(step == at and right in kinds for step, right in entries) for at in range(11))
        for kinds in ((True, False), (True,), (False,))
    ]
    found = LabelSpread(*counts).auc
    truths = [right for _, right in entries]
    if all(truths) or not any(truths):
        assert math.isnan(found)
    else:
        assert found == pytest.approx(roc_auc_score(truths, [step / 10 for step, _ in entries]))
