"""Figures and tables of stored runs: well-formed, with every text in them escaped."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.server.page.stored_runs.figures import Axis, figure, legend
from dragoman.server.page.stored_runs.tables import best_of, cell_text, measured_first

nasty = st.text(alphabet=st.sampled_from("<>&\"'ab =/狗"), max_size=12)


def parsed(svg):
    return ElementTree.fromstring(svg)


def written(svg):
    return [node.text for node in parsed(svg).iter("text")]


FIGURE = {
    "title": "How <sure>?",
    "shape": "lines",
    "x": "said",
    "diagonal": True,
    "series": [
        {"name": "a", "x": [0.0, 0.5, 1.0], "y": [0.1, None, 0.9], "low": [0.0, None, 0.8], "high": [0.2, None, 1]}
    ],
}


def test_a_line_leaves_a_gap_where_there_is_no_value():
    root = parsed(figure(FIGURE))
    (path,) = root.iter("path")
    assert path.get("d").count("M") == 2
    assert len(list(root.iter("circle"))) == 2
    assert legend(FIGURE) == ["a"]


def test_bars_stand_on_zero():
    bars = {"shape": "bars", "series": [{"name": "a", "x": ["u", "v"], "y": [2.0, 4.0]}]}
    low, high = (float(node.get("height")) for node in parsed(figure(bars)).iter("rect"))
    assert high == pytest.approx(2 * low, abs=0.11)


def test_a_figure_without_values_is_not_drawn():
    assert figure({"shape": "lines", "series": [{"name": "a", "x": [1.0], "y": [None]}]}) == ""


@given(nasty, st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5))
def test_no_text_of_a_figure_becomes_markup(text, values):
    drawn = figure(
        {"title": text, "x": text, "shape": "bars", "series": [{"name": text, "x": [text] * len(values), "y": values}]}
    )
    assert {node.tag for node in parsed(drawn).iter()} <= {"svg", "rect", "text", "line"}


@pytest.mark.parametrize(("value", "ticks"), [(0.25, ["0", "0.2", "0.4"]), (0.0, ["0", "0.5", "1"])])
def test_one_value_alone_has_an_axis_that_begins_at_zero(value, ticks):
    shown = written(figure({"shape": "points", "series": [{"name": "a", "x": [value], "y": [value]}]}))
    assert set(ticks) <= set(shown)
    assert not [text for text in shown if text and text.startswith("-")]


@pytest.mark.parametrize("values", [[5e-324], [0.0, 5e-324], [1e6, math.nextafter(1e6, 2e6)], [-5e-324, 5e-324]])
def test_values_too_small_or_too_close_to_be_told_apart_are_drawn(values):
    for shape in ("bars", "lines"):
        places = [float(place) for place in range(len(values))]
        drawn = figure({"shape": shape, "series": [{"name": "a", "x": places, "y": values}]})
        assert "nan" not in drawn and "inf" not in drawn


def test_ticks_are_round_and_inside():
    assert Axis(0.0, 1.0, 0, 100).ticks() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert Axis(0.0, 1.0, 0, 100).at(0.25) == 25.0


TABLE = {
    "columns": [{"direction": "up", "scale": 100.0, "digits": 1}, {"direction": "none", "scale": 1.0, "digits": 0}],
    "rows": [
        {"system": "hole", "cells": [{"status": "no model", "value": None}, {"status": "no model", "value": None}]},
        {
            "system": "low",
            "cells": [{"status": "measured", "value": 0.2, "error": 0.05}, {"status": "measured", "value": 3}],
        },
        {"system": "high", "cells": [{"status": "measured", "value": 0.4}, {"status": "measured", "value": 2}]},
    ],
}


def test_systems_with_figures_come_first_and_the_best_is_marked():
    table = measured_first(TABLE)
    assert [row["system"] for row in table["rows"]] == ["low", "high", "hole"]
    assert best_of(table) == {0: 1}


def test_cells_are_printed_in_the_column_s_unit_and_holes_say_why():
    column = TABLE["columns"][0]
    assert [cell_text(row["cells"][0], column) for row in TABLE["rows"]] == ["no model", "20.0 ±5.0", "40.0"]
