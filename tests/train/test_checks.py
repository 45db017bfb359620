"""What nothing can be learned from is refused before anything is trained, with what is needed."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Source
from dragoman.train.checks import check_sides, labelled
from dragoman.train.contract import Corpus


def side(*labels, same=0, field="retrieve"):
    """Turns with these labels; the first `same` of them say the same words."""
    examples = tuple(
        Example(f"t{n}", Context.of("the same" if n < same else f"text {n}"), (), gold=Gold(**{field: label}))
        for n, label in enumerate(labels)
    )
    return Corpus((), examples, origin=({"name": "mine.jsonl"},))


GOOD = side(*[True, False] * 15)


def test_enough_of_both_passes():
    check_sides("gate.linear", GOOD, side(True, False))


def test_one_class_only_is_refused():
    with pytest.raises(TrainingError, match="All 30 training turns have the same label: retrieve = true"):
        check_sides("gate.linear", side(*[True] * 30), GOOD)
    with pytest.raises(TrainingError, match="All 3 dev turns have the same label: retrieve = false"):
        check_sides("gate.linear", GOOD, side(False, False, False))


def test_ten_examples_are_too_few():
    with pytest.raises(TrainingError, match=r"only 10 labelled training turns \(mine.jsonl\).*At least 20"):
        check_sides("gate.linear", side(*[True, False] * 5), GOOD)


def test_too_few_of_one_class_are_refused():
    with pytest.raises(TrainingError, match=r"Only 4 training turns have retrieve = true.*at least 5 of each"):
        check_sides("gate.linear", side(*[False] * 30, *[True] * 4), GOOD)


def test_an_empty_dev_side_is_refused():
    with pytest.raises(TrainingError, match=r"dev data is empty.*--data dev=FILE"):
        check_sides("gate.linear", GOOD, side())


def test_a_label_file_of_another_kind_is_told_with_the_labels_it_has():
    replies = side(*["Yes."] * 30, field="reply")
    with pytest.raises(
        TrainingError, match=r"None of the 30 training turns \(mine.jsonl\) has .*'retrieve'; they have reply"
    ):
        check_sides("gate.linear", replies, GOOD)
    with pytest.raises(TrainingError, match="has the label 'evidence' and 'reply'; they have retrieve"):
        check_sides("critic.nli", GOOD, GOOD)


def test_turns_without_the_label_do_not_count():
    mixed = Corpus((), (*GOOD.examples, *side("Yes.", field="reply").examples))
    assert len(labelled(mixed, ["retrieve"])) == 30


def test_some_contradictions_are_warned_of(caplog):
    torn = side(*[True, False] * 15, same=4)
    with caplog.at_level(logging.WARNING, logger="dragoman.train"):
        check_sides("gate.linear", torn, GOOD)
    assert "4 of 30 training turns have the same dialogue as another with another label" in caplog.text
    assert "t0 (true) and t1 (false)" in caplog.text


def test_mostly_contradicting_labels_are_refused():
    with pytest.raises(TrainingError, match=r"16 of 30 .*labels contradict each other"):
        check_sides("gate.linear", side(*[True, False] * 15, same=16), GOOD)


def test_plans_must_differ_and_evidence_must_be_named():
    with pytest.raises(TrainingError, match="plan = NULL"):
        check_sides("planner.classifier", side(*[()] * 30, field="plan"), side((), field="plan"))
    nothing = side(*[()] * 30, field="evidence")
    with pytest.raises(TrainingError, match="names a passage as evidence"):
        check_sides("retriever.bi", nothing, nothing)
    named = side(*[("p1",)] * 30, field="evidence")
    with pytest.raises(TrainingError, match="No dev turn names a passage"):
        check_sides("retriever.bi", named, nothing)


PLANS = side(*[("documents",), ()] * 15, field="plan")


def test_a_rare_plan_is_no_mistake():
    check_sides("planner.classifier", side(*[("documents",), ()] * 15, ("user",), field="plan"), PLANS)


def test_a_dev_side_of_one_plan_alone_is_refused():
    with pytest.raises(TrainingError, match=r"All 3 dev turns have the same label: plan = documents.*both kinds"):
        check_sides("planner.classifier", PLANS, side(*[("documents",)] * 3, field="plan"))


def test_a_dev_side_without_plans_is_refused():
    with pytest.raises(TrainingError, match=r"None of the 30 dev turns .* has the label 'plan'"):
        check_sides("unified", PLANS, GOOD)


def test_mostly_contradicting_plans_are_refused_but_not_those_of_other_sources():
    torn = side(*[("documents",), ()] * 15, same=16, field="plan")
    with pytest.raises(TrainingError, match=r"16 of 30 .*t0 \(documents\) and t1 \(NULL\).*contradict each other"):
        check_sides("planner.classifier", torn, PLANS)
    offered = [
        replace(example, sources=(Source("documents"),) if example.gold.plan else (Source("user"),))
        for example in torn.examples
    ]
    check_sides("planner.classifier", replace(torn, examples=tuple(offered)), PLANS)


def test_what_to_do_about_dev_hangs_on_where_it_comes_from():
    one = side(False, False)
    with pytest.raises(TrainingError, match="leave --data dev out: a part of the training dialogues is held out"):
        check_sides("gate.linear", GOOD, one)
    cut = replace(one, origin=({"name": "mine.jsonl", "cut": "dev, 0.2 of the dialogues, seed 1"},))
    with pytest.raises(TrainingError, match="Dev was held out of the training dialogues: label more"):
        check_sides("gate.linear", GOOD, cut)
