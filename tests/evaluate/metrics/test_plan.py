"""Planned sources: decisions as sets, orphans, order; scikit-learn as the reference for F1."""

import json
import math
from itertools import chain, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, f1_score

from dragoman.core.errors import ConfigError
from dragoman.core.values import Plan, Source
from dragoman.evaluate.metrics.plan import PlanF1, PlanMacroF1, PlanOrder, choice, decision_f1, in_order, macro_f1

NULL, P, PD = frozenset(), frozenset({"PERSONA"}), frozenset({"PERSONA", "DOCUMENTS"})
KINDS = {"NULL": NULL, "P": P, "PD": PD}
SOURCES = (Source("PERSONA"), Source("DOCUMENTS", needs=("PERSONA",)))

# Gold NULL NULL P PD PD PD; taken NULL P P PD PD NULL.
GOLD = [NULL, NULL, P, PD, PD, PD]
TAKEN = [NULL, P, P, PD, PD, NULL]
kinds = st.sampled_from(sorted(KINDS))


def test_f1_of_each_decision_counted_by_hand():
    assert decision_f1(GOLD, TAKEN, NULL) == pytest.approx(2 / (2 + 1 + 1))
    assert decision_f1(GOLD, TAKEN, P) == pytest.approx(2 / (2 + 1))
    assert decision_f1(GOLD, TAKEN, PD) == pytest.approx(4 / (4 + 1))
    assert macro_f1(GOLD, TAKEN) == pytest.approx((1 / 2 + 2 / 3 + 4 / 5) / 3)


@given(st.lists(st.tuples(kinds, kinds), min_size=1, max_size=40))
def test_f1_equals_scikit_learn(pairs):
    gold, taken = zip(*pairs, strict=True)
    sets = [[KINDS[name] for name in names] for names in (gold, taken)]
    labels = sorted(set(gold))
    expected = f1_score(gold, taken, labels=labels, average=None, zero_division=0)
    for label, value in zip(labels, expected, strict=True):
        assert decision_f1(*sets, KINDS[label]) == pytest.approx(value)
    assert macro_f1(*sets) == pytest.approx(expected.mean())


@given(st.lists(st.tuples(kinds, kinds), min_size=1, max_size=40))
def test_f1_is_bounded_and_symmetric_in_gold_and_taken(pairs):
    gold, taken = ([KINDS[name] for name in names] for names in zip(*pairs, strict=True))
    for kind in KINDS.values():
        value = decision_f1(gold, taken, kind)
        assert math.isnan(value) or 0 <= value <= 1
        assert decision_f1(taken, gold, kind) == pytest.approx(value, nan_ok=True)


def test_documents_without_what_they_need_count_as_null_only_where_asked():
    alone = Plan((("DOCUMENTS",),))
    assert choice(alone, SOURCES) == {"DOCUMENTS"}
    assert choice(alone, SOURCES, "null") == NULL
    assert choice(Plan((("PERSONA",), ("DOCUMENTS",))), SOURCES, "null") == PD


def test_order_is_free_inside_a_joint_step_alone():
    gold = ("PERSONA", "DOCUMENTS")
    assert in_order(Plan((("PERSONA",), ("DOCUMENTS",))), gold)
    assert not in_order(Plan((("DOCUMENTS",), ("PERSONA",))), gold)
    assert in_order(Plan((("DOCUMENTS", "PERSONA"),)), gold)
    assert not in_order(Plan((("DOCUMENTS", "PERSONA"),)), gold, joint=False)


def test_order_wants_every_source_once_and_no_other():
    assert in_order(Plan(), ())
    assert not in_order(Plan(), ("PERSONA",))
    assert not in_order(Plan((("PERSONA",),)), ())
    assert not in_order(Plan((("PERSONA",), ("PERSONA",))), ("PERSONA",))


names = st.sampled_from("ABC")


@given(st.lists(st.lists(names, min_size=1, max_size=3), max_size=3), st.lists(names, max_size=4))
def test_order_holds_where_some_order_inside_the_steps_gives_gold(steps, gold):
    orders = (list(chain(*chosen)) for chosen in product(*map(permutations, steps)))
    plan = Plan(tuple(map(tuple, steps)))
    assert in_order(plan, gold) == any(order == gold for order in orders)
    assert in_order(plan, gold, joint=False) == (list(chain(*steps)) == gold)
    assert in_order(plan, [name for step in steps for name in sorted(step)])


@pytest.fixture(scope="module")
def turns(judged):
    order = ("PERSONA", "DOCUMENTS")
    made = [
        judged(plan=[name for name in order if name in gold], steps=[[name] for name in order if name in taken])
        for gold, taken in zip(GOLD, TAKEN, strict=True)
    ]
    return [*made, judged(steps=[["PERSONA"]])]


def test_the_metric_speaks_of_turns_with_a_gold_plan(turns):
    scores = PlanF1(decision=["PERSONA", "DOCUMENTS"]).score(turns)
    assert scores.counted == [True] * 6 + [False]
    assert scores.values(np.ones((1, 7)))[0] == pytest.approx(0.8)
    assert scores.per_turn[:6].tolist() == [1, 1, 1, 1, 1, 0]
    assert math.isnan(scores.per_turn[6])


def test_details_hold_the_confusion_and_what_was_taken_how_often(turns):
    details = PlanMacroF1().score(turns).details
    assert details["decisions"] == ["NULL", "PERSONA", "PERSONA+DOCUMENTS"]
    names = {NULL: "0", P: "1", PD: "2"}
    expected = confusion_matrix([names[kind] for kind in GOLD], [names[kind] for kind in TAKEN])
    assert details["confusion"] == expected.tolist()
    assert details["predicted"] == {"NULL": 2, "PERSONA": 2, "PERSONA+DOCUMENTS": 2}
    assert details["gold"] == {"NULL": 2, "PERSONA": 1, "PERSONA+DOCUMENTS": 3}
    assert details["f1"]["PERSONA"] == pytest.approx(2 / 3)
    json.dumps(dict(details), allow_nan=False)


def test_macro_is_over_gold_decisions_or_given_ones(turns):
    once = np.ones((1, 7))
    assert PlanMacroF1().score(turns).values(once)[0] == pytest.approx(macro_f1(GOLD, TAKEN))
    two = PlanMacroF1(decisions=[[], ["PERSONA"]]).score(turns)
    assert two.values(once)[0] == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_a_draw_without_a_decision_takes_the_mean_over_the_others(turns):
    drawn = np.array([[1.0, 0, 0, 1, 0, 0, 0]])
    assert PlanMacroF1().score(turns).values(drawn)[0] == 1.0
    assert math.isnan(PlanMacroF1().score(turns).values(np.zeros((1, 7)))[0])


def test_order_accuracy_is_the_share_of_exact_plans(turns):
    scores = PlanOrder().score(turns)
    assert scores.values(np.ones((1, 7)))[0] == pytest.approx(4 / 6)


def test_a_decision_given_as_a_word_is_refused():
    with pytest.raises(ConfigError, match=r'\["PERSONA"\]'):
        PlanF1(decision="PERSONA")
