"""Figures are data: each kind by a worked example, wrong options with a word, drawings the same every time."""

import pytest

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.examples import Example, Gold
from dragoman.core.trace import Reply, Trace
from dragoman.core.values import Context, Plan, Verdict
from dragoman.evaluate.contract import Judged
from dragoman.evaluate.results import Column, Figure, ResultCell, Series, SystemRow, Table
from dragoman.evaluate.show.draw import svg
from dragoman.evaluate.show.figures import KINDS, figure
from dragoman.evaluate.spec import FigureSpec


def turn(position, *, retrieve, gold, domain="hotel"):
    plan = Plan((("DOCUMENTS",),)) if retrieve else Plan()
    reply = Reply("", Verdict(retrieve, 0.5), plan, (), Trace())
    example = Example(f"d#{position}", Context.of("hi"), (), gold=Gold(retrieve=gold), position=position, domain=domain)
    return Judged(example, reply)


TURNS = {
    "always": [
        turn(0, retrieve=True, gold=False),
        turn(0, retrieve=True, gold=True),
        turn(1, retrieve=True, gold=True),
    ],
    "never": [
        turn(0, retrieve=False, gold=False),
        turn(0, retrieve=False, gold=True),
        turn(1, retrieve=False, gold=True),
    ],
}


def column(title):
    return Column(title, "metric", "up", (0.0, 1.0), "", True, 100.0, 1)


def table(cells, titles=("F1",)):
    rows = tuple(SystemRow(name, "", "", given) for name, given in cells.items())
    return Table("set", "Set", "", 3, 1, None, tuple(map(column, titles)), rows)


MEASURED = table({name: (ResultCell("measured", 0.5, 3),) for name in TURNS})


def test_augmentation_by_position_is_the_share_of_turns_at_each_place():
    made = figure(FigureSpec(kind="by-position"), MEASURED, TURNS)
    assert [(one.name, one.x, one.y) for one in made.series] == [
        ("gold labels", (1.0, 2.0), (0.5, 1.0)),
        ("always", (1.0, 2.0), (1.0, 1.0)),
        ("never", (1.0, 2.0), (0.0, 0.0)),
    ]
    assert made.series[0].labels == ("1 of 2", "1 of 1")


def test_places_in_parts_are_relative_to_the_length_of_the_dialogue():
    # positions 0, 0 and 1 of a dialogue of two turns: its first half and its second
    made = figure(FigureSpec(kind="by-position", parts=2, systems=["never"]), MEASURED, TURNS)
    assert [(one.name, one.x, one.y) for one in made.series] == [
        ("gold labels", (0.25, 0.75), (0.5, 1.0)),
        ("never", (0.25, 0.75), (0.0, 0.0)),
    ]
    assert made.shape == "lines"


def test_a_dialogue_cannot_be_cut_into_no_parts():
    with pytest.raises(ConfigError, match="parts = 0"):
        figure(FigureSpec(kind="by-position", parts=0), MEASURED, TURNS)


def test_an_open_gate_with_a_null_plan_looks_nothing_up():
    replied = Judged(TURNS["always"][0].example, Reply("", Verdict(True, 1.0), Plan(), (), Trace()))
    made = figure(FigureSpec(kind="by-position", systems=["always"]), MEASURED, {"always": [replied]})
    assert made.series[-1].y == (0.0,)


def test_domains_come_with_the_most_frequent_first_and_turns_without_one_are_left_out():
    turns = [turn(0, retrieve=True, gold=True, domain=name) for name in ("train", "hotel", "hotel", "")]
    made = figure(FigureSpec(kind="by-domain"), table({"always": (ResultCell("measured", 0.5, 3),)}), {"always": turns})
    assert made.series[0].x == ("hotel", "train")
    assert made.shape == "bars"


def test_every_domain_of_a_usual_set_is_drawn_and_what_is_not_is_said():
    alone = table({"always": (ResultCell("measured", 0.5, 3),)})
    many = [turn(0, retrieve=True, gold=True, domain=f"d{number:02}") for number in range(43)]
    usual = figure(FigureSpec(kind="by-domain"), alone, {"always": many[:17]})
    assert (len(usual.series[0].x), usual.note) == (17, "")
    made = figure(
        FigureSpec(kind="by-domain"), alone, {"always": [*many, turn(0, retrieve=True, gold=True, domain="")]}
    )
    assert len(made.series[0].x) == 40
    assert "The 40 most frequent of 43 are shown; 3 of 44 turns are in others." in made.note
    assert "1 of 44 turns have no domain." in made.note


def test_gold_is_a_share_of_the_turns_that_are_labelled():
    turns = [turn(0, retrieve=True, gold=label) for label in (True, False, None, None)]
    turns.append(turn(1, retrieve=True, gold=None))
    made = figure(
        FigureSpec(kind="by-position"), table({"always": (ResultCell("measured", 0.5, 3),)}), {"always": turns}
    )
    assert (made.series[0].y, made.series[0].labels) == ((0.5, None), ("1 of 2", "0 of 0"))
    assert made.series[1].y == (1.0, 1.0)


def test_numbered_services_count_as_their_domain():
    turns = [turn(0, retrieve=True, gold=True, domain=name) for name in ("Hotels_2", "Hotels_4", "Trains_1+Hotels_2")]
    made = figure(FigureSpec(kind="by-domain"), table({"always": (ResultCell("measured", 0.5, 3),)}), {"always": turns})
    assert made.series[0].x == ("Hotels", "Trains+Hotels")
    assert made.series[0].labels == ("2 of 2", "1 of 1")


def test_a_set_without_domains_has_no_figure_of_them():
    turns = {name: [turn(0, retrieve=True, gold=True, domain="")] for name in TURNS}
    assert figure(FigureSpec(kind="by-domain"), MEASURED, turns) is None


def test_lines_take_scaled_values_and_intervals_from_the_table():
    cells = {"one": (ResultCell("measured", 0.25, 3, low=0.2, high=0.3),), "two": (ResultCell("not built"),)}
    spec = FigureSpec(kind="lines", systems=["one", "two"], x=[1, 2], columns=["F1"])
    made = figure(spec, table(cells), {"one": TURNS["always"]})
    assert made.series == (Series("F1", (1.0, 2.0), (25.0, None), (20.0, None), (30.0, None)),)


def test_lines_need_as_many_systems_as_places():
    with pytest.raises(ConfigError, match="same length"):
        figure(FigureSpec(kind="lines", systems=["always"], x=[1, 2]), MEASURED, TURNS)


def test_curves_are_taken_from_the_first_column_that_has_them():
    details = {"pr": {"recall": [1.0, 0.5], "precision": [0.4, 0.9], "threshold": [0.1, None]}}
    cells = {
        "always": (ResultCell("measured", 0.5, 3), ResultCell("measured", 0.5, 3, details=details)),
        "never": (ResultCell("measured"),) * 2,
    }
    made = figure(FigureSpec(kind="precision-recall"), table(cells, ("F1", "AP")), TURNS)
    assert made.series == (Series("always", (1.0, 0.5), (0.4, 0.9)),)


def test_a_reliability_curve_is_a_list_of_points_beside_the_diagonal():
    points = [{"probability": 0.1, "true": 0.2, "count": 5}, {"probability": 0.9, "true": 0.7, "count": 3}]
    cells = {"always": (ResultCell("measured", 0.1, 8, details={"reliability": points}),)}
    made = figure(FigureSpec(kind="reliability"), table(cells), TURNS)
    assert made.series[0].x == (0.1, 0.9)
    assert made.diagonal


def test_a_gate_that_only_says_yes_or_no_stays_in_the_reliability_diagram():
    points = [{"probability": number / 4, "true": 0.5, "count": 5} for number in range(4)]
    told = {"always": [points[0], points[3]], "never": points}
    cells = {name: (ResultCell("measured", 0.1, 8, details={"reliability": found}),) for name, found in told.items()}
    made = figure(FigureSpec(kind="reliability"), table(cells), TURNS)
    assert [one.name for one in made.series] == ["always", "never"]


def test_a_constant_has_no_precision_recall_curve_beside_others():
    told = {"always": [1.0, 0.0], "never": [1.0, 0.5, 0.0]}
    cells = {
        name: (ResultCell("measured", 0.5, 3, details={"pr": {"recall": found, "precision": found}}),)
        for name, found in told.items()
    }
    made = figure(FigureSpec(kind="precision-recall"), table(cells), TURNS)
    assert [one.name for one in made.series] == ["never"]


def test_systems_that_were_not_run_have_no_series_and_a_figure_of_none_is_left_out():
    unbuilt = table({"DPR": (ResultCell("not built"),)})
    assert figure(FigureSpec(kind="by-position"), unbuilt, {}) is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (FigureSpec(kind="by-postion"), "Did you mean 'by-position'"),
        (FigureSpec(kind="by-position", system=["x"]), "Did you mean 'systems'"),
        (FigureSpec(kind="by-position", systems=["alwys"]), "Did you mean 'always'"),
        (FigureSpec(kind="reliability", column="F"), "Available: F1"),
    ],
)
def test_wrong_figures_are_refused_with_a_suggestion(spec, message):
    with pytest.raises((ConfigError, UnknownNameError), match=message):
        figure(spec, MEASURED, TURNS)


@pytest.mark.parametrize("shape", ["lines", "bars", "points"])
def test_a_drawing_is_the_same_every_time_and_keeps_its_words(shape):
    series = (
        Series("甲 & <b>", (1.0, 2.0), (0.1, None)),
        Series("two", (1.0, 2.0), (0.3, 0.4), (0.2, 0.3), (0.4, 0.5)),
    )
    if shape == "points":
        series = tuple(Series(one.name, one.x[:1], one.y[:1]) for one in series)
    drawn = Figure("kind", "title", "set", shape, "x", "y", series, diagonal=True)
    first = svg(drawn)
    assert first == svg(drawn)
    assert first.startswith("<svg")
    assert "甲 &amp; &lt;b&gt;" in first


def test_every_kind_is_known():
    assert {"by-position", "by-domain", "lines", "rank-test", "reliability", "precision-recall", "latency-quality"} <= {
        *KINDS
    }
