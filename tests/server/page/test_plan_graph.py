"""The drawn plan: well-formed, with every text in it escaped, and every bar in its place."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.values import Plan, Source, Verdict
from dragoman.server.page.plan_graph import fitted, graph, seconds_text, span_of
from dragoman.server.page.texts import words
from dragoman.server.page.turn_view import Stop, TurnPicture

EN = words("en")
SOURCES = [Source("PERSONA"), Source("MEMORY"), Source("DOCUMENTS")]
TURN = TurnPicture(
    verdict=Verdict(True, 0.97),
    plan=Plan((("PERSONA",), ("DOCUMENTS",))),
    stops=(Stop("PERSONA", 0, 0), Stop("DOCUMENTS", 1, 3, 0.9)),
    text="Six francs.",
    confidence=0.62,
)
nasty = st.text(alphabet=st.sampled_from("<>&\"'ab =/狗"), max_size=12)


def parsed(svg):
    return ElementTree.fromstring(svg)


def written(svg):
    return [node.text for node in parsed(svg).iter("text")]


def test_graph_shows_gate_sources_in_order_and_reply():
    assert written(graph(TURN, SOURCES, EN)) == [
        "decision · look it up",
        "0.97",
        "1",
        "Persona",
        "0 found",
        "2",
        "Documents",
        "3 found · best 0.90",
        "reply",
        "confidence 0.62",
        "not searched",
        "Memory",
    ]


def test_graph_has_an_arrow_between_each_two_steps():
    assert len(list(parsed(graph(TURN, SOURCES, EN)).iter("path"))) == 2 * 3


def test_graph_of_a_joint_step_reaches_every_source_of_it():
    stops = (Stop("A", 0, 1), Stop("B", 0, 1))
    joint = replace(TURN, plan=Plan((("A", "B"),)), stops=stops)
    assert len(list(parsed(graph(joint, (), EN)).iter("path"))) == 2 * 4


def test_graph_of_a_closed_gate_goes_straight_to_the_reply():
    closed = replace(TURN, verdict=Verdict(False, 0.05), plan=Plan(), stops=())
    shown = written(graph(closed, SOURCES, EN))
    assert shown[:2] == ["decision · answer directly", "0.05"]
    assert shown[-3:] == ["Persona", "Memory", "Documents"]


@pytest.mark.parametrize(
    ("worth", "shown"),
    [("no answer", "no answer found"), ("phrase", "standard phrase"), ("nearest", "not certain · confidence 0.62")],
)
def test_graph_does_not_give_the_confidence_of_an_answer_to_what_is_none(worth, shown):
    assert shown in written(graph(replace(TURN, worth=worth), SOURCES, EN))


def test_graph_shows_a_source_that_failed():
    stops = (Stop("PERSONA", 0, 0, failed=True), Stop("DOCUMENTS", 1, 3, 0.9))
    svg = graph(replace(TURN, stops=stops), SOURCES, EN)
    assert "failed" in written(svg)
    assert [node.get("class") for node in parsed(svg).iter("rect")].count("node failed") == 1


def test_graph_is_told_in_words_for_who_does_not_see_it():
    assert parsed(graph(TURN, SOURCES, EN)).get("aria-label") == "decision 0.97 → Persona → Documents → reply"


@given(nasty, nasty)
def test_no_name_of_a_source_becomes_markup(asked, unasked):
    turn = replace(TURN, stops=(Stop(f"x{asked}", 0, 1, 0.5),))
    root = parsed(graph(turn, [Source(f"y{unasked}")], EN))
    assert {node.tag for node in root.iter()} <= {"svg", "title", "rect", "text", "path", "g"}
    assert f"x{asked}" in [node.text for node in root.iter("title")]


@pytest.mark.parametrize(
    ("text", "shown"), [("DOCUMENTS", "DOCUMENTS"), ("x" * 40, "x" * 9 + "…"), ("狗" * 9, "狗" * 4 + "…")]
)
def test_names_are_cut_to_their_box(text, shown):
    assert fitted(text, 70.0) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(1.26, "1.3 s"), (0.98, "980 ms"), (0.0021, "2 ms"), (0.0002, "0.2 ms"), (0.0, "0.0 ms")]
)
def test_seconds_are_shown_as_people_read_them(seconds, shown):
    assert seconds_text(seconds) == shown


@given(st.floats(0, 100), st.floats(0, 100), st.floats(0.001, 100))
def test_no_bar_of_the_waterfall_leaves_its_lane(start, seconds, rest):
    left, width = span_of(start, seconds, start + seconds + rest)
    assert left >= 0
    assert width >= 0.8
    assert left + width <= 100 + 1e-9
