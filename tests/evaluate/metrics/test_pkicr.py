"""PK-ICR's measures: Eq. 7 and 9, Tables 1, 3 and 4 by hand; properties of the rank."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from dragoman.core.errors import InputError
from dragoman.core.values import Passage
from dragoman.evaluate.metrics.pkicr import (
    KnowledgeAccuracy,
    NullPositiveRank,
    NullRank,
    PersonaAccuracy,
    PersonaF1,
    ZeroAccuracy,
    candidates,
    flat_accuracy,
    non_triviality,
    null_rank,
    zero_accuracy,
)

PERSONAS = [Passage(name, "PERSONA", f"persona {name}") for name in "abcde"]
scores = st.floats(-5, 5)


def once(metric, turns):
    return metric.score(turns).values(np.ones((1, len(turns))))[0]


def test_ranks_of_the_papers_figure_3():
    """One positive, three negatives: from -1, above all, over 0, right below the positive, to +3, below all."""
    others = (0.6, 0.4, 0.2)
    ranks = [NullRank((0.8,), others, null).rank() for null in (0.9, 0.7, 0.5, 0.3, 0.1)]
    assert ranks == [-1, 0, 1, 2, 3]


def test_rank_counts_from_as_many_positives_as_there_are_or_as_the_release_from_one():
    without = NullRank((), (0.6, 0.4), 0.9)
    assert (without.rank(), without.rank("one")) == (0, -1)
    two = NullRank((0.8, 0.7), (0.1,), 0.5)
    assert (two.rank(), two.rank("one")) == (0, 1)


def test_a_tie_puts_the_bare_question_last():
    assert NullRank((0.5,), (0.5, 0.1), 0.5).rank() == 1


def test_non_triviality_counted_by_hand():
    """Ranks -1, 0, 0, 2, 3: T = 6/5, T^2 = 14/5; T+ of 0, 0, 2, 3 = 5/4; T- of -1, 0, 0 = 1/3."""
    ranks = [-1, 0, 0, 2, 3]
    assert non_triviality(ranks, "T") == pytest.approx(6 / 5)
    assert non_triviality(ranks, "T2") == pytest.approx(14 / 5)
    assert non_triviality(ranks, "T+") == pytest.approx(5 / 4)
    assert non_triviality(ranks, "T-") == pytest.approx(1 / 3)
    assert math.isnan(non_triviality([2], "T-"))


def test_zero_accuracy_counted_by_hand():
    """Best is gold: 4 of 4 right. Best is not: 2 of 4. No gold: 3 of 4. Two gold, one taken: 3 of 4."""
    turns = [
        NullRank((0.9,), (0.1, 0.2, 0.3), 0.0),
        NullRank((0.2,), (0.9, 0.2, 0.3), 0.0),
        NullRank((), (0.9, 0.2, 0.3, 0.1), 0.0),
        NullRank((0.9, 0.8), (0.1, 0.2), 0.0),
    ]
    assert [zero_accuracy([turn]) for turn in turns] == [1.0, 0.5, 0.75, 0.75]
    assert zero_accuracy(turns) == pytest.approx(12 / 16)


@given(st.lists(scores, max_size=5), st.lists(scores, max_size=5), scores)
def test_rank_lies_between_all_positives_and_all_negatives_and_heeds_only_order(positives, negatives, null):
    turn = NullRank(tuple(positives), tuple(negatives), null)
    assert -len(positives) <= turn.rank() <= len(negatives)
    doubled = NullRank(tuple(2 * s for s in positives), tuple(2 * s for s in negatives), 2 * null)
    assert doubled.rank() == turn.rank()


@given(st.lists(st.integers(-3, 5), min_size=1, max_size=30))
def test_squares_are_never_below_distances_and_halves_bound_the_whole(ranks):
    whole, squared = non_triviality(ranks, "T"), non_triviality(ranks, "T2")
    assert 0 <= whole <= squared
    above, below = non_triviality(ranks, "T+"), non_triviality(ranks, "T-")
    zeros = ranks.count(0)
    sizes = [sum(rank >= 0 for rank in ranks), sum(rank <= 0 for rank in ranks)]
    total = sum(0 if math.isnan(part) else part * size for part, size in zip((above, below), sizes, strict=True))
    assert sum(sizes) - zeros == len(ranks)
    assert total / len(ranks) == pytest.approx(whole)


@pytest.fixture(scope="module")
def persona(judged, found):
    """A turn of five personas; `taken` are (name, relevance), `gold` names."""

    def make(gold, *taken, **more):
        return judged(gold=gold, candidates=PERSONAS, evidence=[found(n, relevance=r) for n, r in taken], **more)

    return make


def test_persona_accuracy_is_over_flattened_labels_so_none_scores_high(persona):
    turns = [persona(["a"]), persona([])]
    assert once(PersonaAccuracy(), turns) == pytest.approx(9 / 10)
    assert once(PersonaF1(), turns) == 0.0
    assert PersonaAccuracy().score(turns).details["none"] == pytest.approx(9 / 10)


def test_the_best_persona_is_taken_where_it_reaches_the_threshold(persona):
    """Eq. 7, threshold .5: a (.5) is taken, b (.4) is not; at most one."""
    turns = [persona(["a"], ("b", 0.4), ("a", 0.5))]
    assert once(PersonaAccuracy(), turns) == 1.0
    assert once(PersonaAccuracy(threshold=0.6), turns) == pytest.approx(4 / 5)
    assert once(PersonaAccuracy(threshold=0.0, k=2), turns) == pytest.approx(4 / 5)
    assert once(PersonaF1(threshold=0.0, k=2), turns) == pytest.approx(2 / 3)


@given(st.lists(st.tuples(st.sets(st.sampled_from("abcde")), st.sampled_from("abcde"), st.floats(0, 1)), min_size=1))
def test_persona_measures_equal_scikit_learn_over_flattened_labels(persona, rows):
    turns = [persona(sorted(gold), (best, relevance)) for gold, best, relevance in rows]
    labels = [name in gold for gold, _, _ in rows for name in "abcde"]
    taken = [name == best and relevance >= 0.5 for _, best, relevance in rows for name in "abcde"]
    assert once(PersonaAccuracy(), turns) == pytest.approx(accuracy_score(labels, taken))
    sets = (
        [frozenset(gold) for gold, _, _ in rows],
        [frozenset({best} if relevance >= 0.5 else ()) for _, best, relevance in rows],
    )
    assert flat_accuracy(*sets, [5] * len(rows)) == pytest.approx(accuracy_score(labels, taken))
    if any(labels) or any(taken):
        assert once(PersonaF1(), turns) == pytest.approx(f1_score(labels, taken, zero_division=0))


def test_details_hold_accuracy_by_threshold(persona):
    curve = PersonaAccuracy().score([persona(["a"], ("a", 0.7))]).details["thresholds"]
    at = dict(zip(curve["threshold"], curve["accuracy"], strict=True))
    assert (at[0.0], at[0.5], at[1.0]) == (1.0, 1.0, 0.8)


def test_the_number_of_candidates_may_be_told_where_they_were_dropped(judged, found):
    turn = judged(gold=["a"], candidates=PERSONAS[:1], meta={"candidates:PERSONA": "5"}, evidence=[found("b")])
    assert candidates(turn.example, "PERSONA") == 5
    assert once(PersonaAccuracy(), [turn]) == pytest.approx(3 / 5)


def test_dropped_candidates_that_nobody_counted_are_noticed(judged, found):
    turn = judged(name="t3", gold=["a"], candidates=PERSONAS[:1], evidence=[found("b")])
    with pytest.raises(InputError, match="'t3' has 1 candidates"):
        PersonaAccuracy().score([turn])


@pytest.fixture(scope="module")
def scored(judged, found):
    def make(gold, null, joint, **more):
        pieces = [found(name, joint=score, null=null) for name, score in zip("abcde", joint, strict=False)]
        return judged(gold=gold, candidates=PERSONAS[: more.pop("n", len(pieces))], retrieved=pieces, **more)

    return make


def test_the_rank_test_reads_joint_and_null_scores(scored):
    turns = [
        scored(["a"], 0.5, [0.9, 0.1, 0.2, 0.3, 0.4]),  # right below: 0
        scored(["a"], 0.95, [0.9, 0.1, 0.2, 0.3, 0.4]),  # above all: -1
        scored(["a"], 0.25, [0.9, 0.1, 0.2, 0.3, 0.4]),  # below two others: +2
    ]
    assert null_rank(turns[0]) == NullRank((0.9,), (0.1, 0.2, 0.3, 0.4), 0.5)
    assert once(NullPositiveRank(), turns) == pytest.approx(1.0)
    assert once(NullPositiveRank(variant="T2"), turns) == pytest.approx(5 / 3)
    assert once(NullPositiveRank(variant="T+"), turns) == pytest.approx(1.0)
    assert once(NullPositiveRank(variant="T-"), turns) == pytest.approx(1 / 2)
    details = NullPositiveRank().score(turns).details
    assert details["ranks"] == {"-1": 1, "0": 1, "2": 1}
    json.dumps(dict(details))
    assert once(ZeroAccuracy(), turns) == 1.0


def test_turns_without_such_scores_are_not_counted_and_half_scored_ones_are_an_error(scored, judged, found):
    bare = judged(gold=["a"], candidates=PERSONAS, retrieved=[found("a")])
    assert NullPositiveRank().score([bare]).counted == [False]
    assert ZeroAccuracy().score([bare]).counted == [False]
    with pytest.raises(InputError, match="5 candidates of PERSONA, but joint scores of 3"):
        NullPositiveRank().score([scored(["a"], 0.5, [0.9, 0.1, 0.2], n=5)])


def test_knowledge_is_right_where_the_first_passage_is(judged, found):
    known = [Passage(name, "KNOWLEDGE", name) for name in ("k1", "k2")]
    right = judged(gold=["k1"], candidates=known, retrieved=[found("p"), found("k1", "KNOWLEDGE")])
    wrong = judged(gold=["k1"], candidates=known, retrieved=[found("k2", "KNOWLEDGE"), found("k1", "KNOWLEDGE")])
    assert once(KnowledgeAccuracy(), [right, wrong]) == pytest.approx(1 / 2)
