"""Reciprocal rank fusion, by hand."""

import pytest

from dragoman.retriever.hybrid import reciprocal_ranks


def test_a_worked_example():
    """With c = 60: a = 1/61 + 1/63, b = 1/62 + 1/61, c = 1/63, d = 1/62."""
    fused = reciprocal_ranks((["a", "b", "c"], ["b", "d", "a"]))
    assert list(fused) == ["b", "a", "d", "c"]
    assert fused["b"] == pytest.approx(1 / 62 + 1 / 61)
    assert fused["a"] == pytest.approx(1 / 61 + 1 / 63)
    assert fused["d"] == pytest.approx(1 / 62)
    assert fused["c"] == pytest.approx(1 / 63)


def test_a_smaller_constant_favours_the_first_places():
    """With c = 0: one first place (1) beats two third places (2/3); with c = 60 it does not."""
    rankings = (["a", "x", "b"], ["y", "z", "b"])
    assert next(iter(reciprocal_ranks(rankings, constant=0))) == "a"
    assert next(iter(reciprocal_ranks(rankings))) == "b"


def test_a_repeated_id_counts_at_its_best_place():
    assert reciprocal_ranks((["a", "a", "b"],)) == {"a": 1 / 61, "b": 1 / 62}


def test_nothing_fuses_to_nothing():
    assert reciprocal_ranks(([], [])) == {}
