"""The end of responses, fitted to a model whose lengths are known."""

import math

import pytest

from dragoman.core.tokens import Written
from dragoman.core.values import Context, Draft
from dragoman.models.unified import Writing
from dragoman.train.endings import fit_ending

ASKED = [(Writing(Context.of("Hi."), Written(("P",))), "x" * 40)] * 3


class Model:
    """Responses of 40 characters where the end is moved by `right`; the lower the number, the longer they are."""

    def __init__(self, right, steepness=0.2):
        self.right, self.steepness, self.tried = right, steepness, []

    def write(self, asked, *, max_tokens):
        self.tried.append(asked[0].ending)
        length = round(40 * math.exp(self.steepness * (self.right - one.ending))) if (one := asked[0]) else 0
        return [Draft("y" * min(length, max_tokens)) for _ in asked]


@pytest.mark.parametrize("right", [-5.0, -2.0, -0.4, 1.5])
def test_responses_become_as_long_as_peoples(right):
    model = Model(right)
    found = fit_ending(model, ASKED, max_tokens=200)
    assert found.value == pytest.approx(right, abs=0.25)
    assert abs(found.after - 1) < 0.06 < abs(found.before - 1)
    assert len(model.tried) == 6


def test_what_is_long_enough_is_left_alone():
    model = Model(0.1)
    assert fit_ending(model, ASKED, max_tokens=200).value == 0.0
    assert model.tried == [0.0]


def test_a_model_that_nothing_makes_longer_keeps_its_end():
    found = fit_ending(Model(-2.0, steepness=0.0), [(ASKED[0][0], "x" * 90)], max_tokens=200)
    assert found.value == 0.0 and found.after == found.before
