"""A set in figures, worked out by hand."""

from __future__ import annotations

import json

from dragoman.core.codec import encode
from dragoman.core.examples import Example, Gold, Problem
from dragoman.core.values import Context, Passage, Scope, Source
from dragoman.datasets.check import Spread, check, decision

SOURCES = (Source("A", private=True), Source("B", private=True))


class Set:
    """A set of what it is given."""

    name, language, sources, files = "mine", "en", SOURCES, ()
    labels = frozenset({"plan", "retrieve"})

    def __init__(self, *found, corpus=()):
        self._found, self._corpus = found, corpus

    def examples(self):
        return iter(self._found)

    def passages(self):
        return iter(self._corpus)


def turn(name, dialogue="d", text="hello", candidates=0, **gold):
    passages = tuple(Passage(f"{number}", "AB"[number % 2], f"text {number}") for number in range(candidates))
    return Example(name, Context.of(text, scope=Scope("t", name), dialogue=dialogue), SOURCES, passages, Gold(**gold))


def test_counts_what_there_is():
    report = check(
        Set(
            turn("1", candidates=3, retrieve=True, plan=("A",), evidence=("0",), reply="yes"),
            turn("2", candidates=1, retrieve=True, plan=("A", "B"), evidence=("0", "1"), reply="maybe"),
            turn("3", "e", "你好吗", candidates=6, retrieve=False, plan=(), evidence=()),
            turn("4", "e", "and you?", candidates=2, retrieve=True, plan=("A",), evidence=("1",), reply="no"),
            corpus=(Passage("x", "A", "x"),),
        )
    )
    assert (report.dialogues, report.turns, report.passages) == (2, 4, 1)
    assert report.retrieve == {"true": 3, "false": 1}
    assert list(report.plans.items()) == [("A", 2), ("A+B", 1), ("NULL", 1)]
    assert report.evidence == {0: 1, 1: 2, 2: 1}
    assert report.candidates == Spread(1, 2.5, 6, 12, 4)
    assert report.by_source == {"A": 7, "B": 5}
    assert report.replies == Spread(2, 3, 5, 10, 3)
    assert report.languages == {"en": 3, "zh": 1}
    assert (report.errors, report.warnings, report.problems) == (0, 0, ())


def test_what_no_turn_has_is_empty():
    report = check(Set(turn("1")))
    assert report.retrieve == report.plans == report.evidence == report.domains == {}
    assert report.candidates is None and report.replies is None


def test_an_empty_set_is_a_report_too():
    report = check(Set())
    assert (report.turns, report.contexts) == (0, None)


def test_a_turn_that_repeats_another_is_counted():
    same = [turn("1", reply="a"), turn("2", reply="a"), turn("3", reply="b"), turn("4", reply="a", candidates=1)]
    assert check(Set(*same)).duplicates == 1


def test_all_problems_are_counted_and_the_first_kept():
    wrong = [Problem("f", row, "broken") for row in range(1, 6)]
    report = check(Set(*wrong, Problem("f", 9, "odd", "warning"), turn("1")), keep=3)
    assert (report.errors, report.warnings, report.turns) == (5, 1, 1)
    assert [problem.row for problem in report.problems] == [1, 2, 3]


def test_most_frequent_domains_come_first():
    rows = [Example(f"{n}", Context.of("x"), SOURCES, domain="ab"[n % 3 == 0]) for n in range(7)]
    assert list(check(Set(*rows)).domains.items()) == [("a", 4), ("b", 3)]


def test_report_is_json():
    assert json.loads(json.dumps(encode(check(Set(turn("1", reply="x"))))))["turns"] == 1


def test_decisions_have_names():
    assert [decision(plan) for plan in ((), ("A",), ("A", "B"))] == ["NULL", "A", "A+B"]
