"""From rows to cells: values by hand, statuses, tests, and what is refused before and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dragoman.core.errors import ConfigError, DragomanError, StoreCorruptError, UnknownNameError
from dragoman.core.examples import Example, Gold, Problem
from dragoman.core.trace import Reply, Trace
from dragoman.core.values import NULL_PLAN, Context, Passage, Source, Verdict
from dragoman.evaluate.aggregate import Measured, aggregate
from dragoman.evaluate.columns import MeasuredColumn, Measures
from dragoman.evaluate.contract import About, mean_scores
from dragoman.evaluate.results import Outcome
from dragoman.evaluate.running.kept_turns import lean_examples
from dragoman.evaluate.running.timings import join_timings, split_repeatable
from dragoman.evaluate.spec import ColumnSpec, experiment_of

SOURCES = (Source("DOCUMENTS"),)


@dataclass
class Block:
    """A set of eight turns in four dialogues; the right answer of turn i is its number."""

    labels: frozenset = frozenset({"reply"})
    language: str = "en"
    sources: tuple = SOURCES
    problems: tuple = (Problem("/home/somebody/set.jsonl", 3, "is odd", "error"),)
    skipped: int = 1204

    def examples(self):
        for number in range(8):
            yield Example(
                f"e{number}",
                Context.of("?", dialogue=f"d{number // 2}"),
                SOURCES,
                (Passage("a", "DOCUMENTS", "A"), Passage("b", "DOCUMENTS", "B")),
                Gold(evidence=("b", "c"), reply=str(number)),
            )

    def passages(self):
        yield from (Passage(name, "DOCUMENTS", name.upper()) for name in "cde")


class Right:
    """The share of turns with the right reply."""

    about = About("right", "up", (0.0, 1.0), "by hand", frozenset({"reply"}))

    def score(self, turns):
        return mean_scores(np.array([float(turn.reply.text == turn.example.gold.reply) for turn in turns]))


class Length(Right):
    """Counts only what was said; differs from run to run."""

    about = About("length", "none", (0.0, float("inf")), "by hand", repeatable=False)

    def score(self, turns):
        return mean_scores(np.array([float(len(turn.reply.text)) or np.nan for turn in turns]))


class Broken(Right):
    def score(self, turns):
        raise ZeroDivisionError("by nothing")


class Rows:
    """Replies by system."""

    def __init__(self, **said):
        self._said = said

    def outcomes(self, block, system):
        for number, text in enumerate(self._said[system]):
            yield Outcome(f"e{number}", Reply(text, Verdict(False, 0.0), NULL_PLAN, (), Trace()))


TABLES = {
    "title": "By hand",
    "baseline": "base",
    "draws": 200,
    "data": [{"name": "set", "kind": "jsonl", "file": "x"}],
    "columns": [{"title": "right", "metric": "bleu"}, {"title": "length", "metric": "length"}],
    "systems": [
        {"name": "base"},
        {"name": "good", "paper": {"set": {"right": 88.5}}},
        {"name": "mute"},
        {"name": "theirs", "missing": "no model", "paper": {"set": {"right": 90.0}}},
    ],
}
SAID = {"base": "01xxxxxx", "good": "0123456x", "mute": [""] * 8}


def result_of(*metrics, rows=None, tables=TABLES, **options):
    experiment = experiment_of(tables)
    measures = [
        MeasuredColumn(ColumnSpec(title=metric.about.title, metric="x", scale=100.0), "metric.x.v1", metric)
        for metric in metrics
    ]
    measured = Measured(experiment.data[0], Block(), measures)
    return aggregate(experiment, [measured], rows or Rows(**SAID), name="run", manifest={}, **options)


def test_values_intervals_and_differences_are_as_by_hand():
    table = result_of(Right()).tables[0]
    base, good, mute, theirs = (row.cells[0] for row in table.rows)
    assert (base.value, good.value, mute.value) == (2 / 8, 7 / 8, 0.0)
    assert (base.n, base.difference, base.tests) == (8, None, ())
    assert good.difference == pytest.approx(5 / 8)
    assert base.low <= base.value <= base.high
    assert good.paper == 88.5
    assert (theirs.status, theirs.value, theirs.paper) == ("no model", None, 90.0)
    assert (table.turns, table.dialogues, table.baseline) == (8, 4, "base")


def test_holm_corrects_over_the_column():
    table = result_of(Right()).tables[0]
    tests = {row.system: {test.name: test for test in row.cells[0].tests} for row in table.rows}
    good, mute = tests["good"]["mcnemar"], tests["mute"]["mcnemar"]
    assert good.p == pytest.approx(2 * 0.5**5)  # five turned right, none wrong
    assert mute.p == pytest.approx(2 * 0.5**2)
    assert good.adjusted == pytest.approx(2 * good.p)  # the smaller of two is doubled
    assert mute.adjusted == pytest.approx(max(mute.p, good.adjusted))


def test_a_column_has_one_test_over_turns_and_all_its_systems_are_corrected_together():
    """One system's values are 0 and 1 by chance; the column is graded all the same."""

    class Graded(Right):
        def score(self, turns):
            return mean_scores(np.array([len(turn.reply.text) / 2 for turn in turns]))

    rows = Rows(base=["", "xx"] * 4, good=["xx"] * 8, mute=["x"] * 8)
    table = result_of(Graded(), rows=rows).tables[0]
    tests = {row.system: {test.name: test for test in row.cells[0].tests} for row in table.rows}
    assert tests["good"].keys() == tests["mute"].keys() == {"paired bootstrap", "wilcoxon"}
    assert tests["good"]["wilcoxon"].adjusted == pytest.approx(2 * tests["good"]["wilcoxon"].p)


def test_a_system_that_does_not_say_what_is_read_is_not_available_and_a_label_that_no_turn_has_leaves_no_turns():
    table = result_of(Length()).tables[0]
    assert [row.cells[0].status for row in table.rows[:3]] == ["measured", "measured", "not available"]

    class Nowhere(Right):
        def score(self, turns):
            return mean_scores(np.full(len(turns), np.nan))

    assert {row.cells[0].status for row in result_of(Nowhere()).tables[0].rows[:3]} == {"no turns"}


def test_problems_are_told_without_folders_and_counted():
    table = result_of(Right()).tables[0]
    assert table.problems == ("set.jsonl:3: is odd",)
    assert table.skipped == 1204  # more than are kept


def test_only_some_systems_leave_the_others_out_but_not_those_that_cannot_run():
    table = result_of(Right(), systems=["good"]).tables[0]
    assert [row.system for row in table.rows] == ["good", "theirs"]
    assert table.baseline is None
    assert table.rows[0].cells[0].tests == ()


def test_a_failing_metric_names_column_system_and_set():
    with pytest.raises(DragomanError, match=r"'right' .* failed for 'base' on 'set': ZeroDivisionError") as error:
        result_of(Broken())
    assert "turns are kept" in error.value.remedy


def test_rows_of_other_turns_or_too_few_are_refused():
    with pytest.raises(StoreCorruptError, match="answered 3 of the 8"):
        result_of(Right(), rows=Rows(base="012", good="012", mute="012"))
    with pytest.raises(StoreCorruptError, match="no such turn"):
        result_of(Right(), rows=Rows(base="0123456789", good="0", mute="0"))


def test_a_set_that_is_not_here_has_holes_and_the_papers_figures():
    experiment = experiment_of(TABLES)
    result = aggregate(experiment, [experiment.data[0]], Rows(), name="run", manifest={})
    rows = {row.system: row.cells[0] for row in result.tables[0].rows}
    assert {name: cell.status for name, cell in rows.items()} == {
        "base": "no data", "good": "no data", "mute": "no data", "theirs": "no model",
    }  # fmt: skip
    assert rows["good"].paper == 88.5


def test_lean_examples_hold_the_gold_passages_alone_those_of_the_corpus_included():
    lean = lean_examples(Block())
    assert [[passage.id for passage in example.candidates] for example in lean] == [["b", "c"]] * 8


def test_what_differs_from_run_to_run_is_parted_and_comes_back():
    result = result_of(Length(), Right())
    stable, times = split_repeatable(result)
    assert [column.title for column in stable.tables[0].columns] == ["right"]
    assert [column.title for column in times.tables[0].columns] == ["length"]
    assert join_timings(stable, times, ["length", "right"]) == result


def checked(*columns, labels=("reply",)):
    tables = {**TABLES, "columns": list(columns), "systems": [{"name": "base"}]}
    return Measures(experiment_of(tables)).of("set", Block(labels=frozenset(labels)))


def test_a_column_without_its_label_names_column_set_label_and_what_works():
    columns = ({"title": "BLEU", "metric": "bleu"}, {"title": "F1", "metric": "gate-f1"})
    with pytest.raises(ConfigError, match=r"'F1' needs the label 'retrieve'.*'set' does not have") as error:
        checked(*columns)
    assert "The columns that work there: BLEU" in error.value.remedy


def test_a_filter_needs_its_label_too():
    with pytest.raises(ConfigError, match="needs the label 'plan'"):
        checked({"title": "BLEU", "metric": "bleu", "where": {"plan": []}})


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"title": "x", "metric": "bleuu"}, "Did you mean 'bleu'"),
        ({"title": "x", "metric": "bleu", "ordr": 2}, "Did you mean 'order'"),
        ({"title": "x", "metric": "bleu", "where": {"plann": []}}, "Did you mean 'plan'"),
    ],
)
def test_wrong_names_are_told_with_what_was_meant(column, message):
    with pytest.raises(UnknownNameError, match=message):
        checked(column)


def test_a_wrong_value_of_an_option_names_the_column():
    with pytest.raises(ConfigError, match="column 'x'"):
        checked({"title": "x", "metric": "bleu", "order": "two"})


def test_a_metric_gets_its_critic_and_its_encoder_built():
    measures = checked(
        {"title": "P.C", "metric": "consistency", "source": "DOCUMENTS", "critic": {"kind": "overlap"}},
        labels=("reply", "evidence", "plan"),
    )
    assert measures[0].kind == "metric.consistency.v1"
