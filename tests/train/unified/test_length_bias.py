"""The end of responses, fitted to models whose lengths are known."""

import math

import pytest

from dragoman.core.tokens import WrittenSequence
from dragoman.core.values import Context, Draft
from dragoman.models.unified.model import Writing
from dragoman.train.unified.length_bias import fit_length_bias, likeness

WORDS = [f"w{number}" for number in range(40)]
REPLY = " ".join(WORDS)
ASKED = [(Writing(Context.of("Hi."), WrittenSequence(("P",))), REPLY)] * 3


class Model:
    """Says people's words, 40 of them where the end is moved by `right`; the lower the number, the more words.

    What goes on for longer than people do has other words, and so has all that is said below `sense`.
    """

    def __init__(self, right, steepness=0.2, sense=-math.inf):
        self.right, self.steepness, self.sense, self.tried = right, steepness, sense, []

    def write(self, asked, *, max_tokens):
        ending = asked[0].ending
        self.tried.append(ending)
        length = min(round(40 * math.exp(self.steepness * (self.right - ending))), max_tokens)
        said = [*WORDS, *["z"] * max_tokens][:length] + ["reponame"] * (40 if ending < self.sense else 0)
        return [Draft(" ".join(said)) for _ in asked]


@pytest.mark.parametrize("right", [-3.5, -2.0, -0.4, 1.5])
def test_responses_become_as_long_as_peoples(right):
    model = Model(right)
    found = fit_length_bias(model, ASKED, max_tokens=200)
    assert found.value == pytest.approx(right, abs=0.25)
    assert abs(found.after - 1) < 0.06 < abs(found.before - 1)
    assert len(model.tried) == 6


def test_what_is_long_enough_is_left_alone():
    model = Model(0.1)
    assert fit_length_bias(model, ASKED, max_tokens=200).value == 0.0
    assert model.tried == [0.0]


def test_a_model_that_nothing_makes_longer_keeps_its_end():
    longer = [(ASKED[0][0], REPLY + " more" * 50)]
    found = fit_length_bias(Model(-2.0, steepness=0.0), longer, max_tokens=200)
    assert found.value == 0.0 and found.after == found.before


def test_length_that_is_had_by_babble_is_not_taken():
    found = fit_length_bias(Model(-3.5, sense=-2.2), ASKED, max_tokens=200)
    assert -2.2 <= found.value < -1


class Rambling:
    """Writes 39 words, but 75 in one turn of sixteen, which only a high end's logit stops."""

    def __init__(self):
        self.tried = []

    def write(self, asked, *, max_tokens):
        ending = asked[0].ending
        self.tried.append(ending)
        return [
            Draft(" ".join([*WORDS, *["z"] * 35] if place % 16 == 0 and ending < 2.5 else WORDS[:39]))
            for place, _ in enumerate(asked)
        ]


def test_a_length_ratio_that_few_turns_make_moves_nothing():
    model = Rambling()
    fit = fit_length_bias(model, [ASKED[0]] * 64, max_tokens=200)
    assert fit.before == pytest.approx(1.031, abs=0.001)
    assert fit.interval[0] < 1 < fit.interval[1]
    assert (fit.value, fit.after) == (0.0, fit.before)
    assert model.tried == [0.0]


def test_the_same_ratio_of_many_turns_is_mended():
    fit = fit_length_bias(Rambling(), [ASKED[0]] * 1024, max_tokens=200)
    assert fit.before == pytest.approx(1.031, abs=0.001)
    assert 1 < fit.interval[0] < fit.before < fit.interval[1]
    assert fit.value > 2.5 and fit.after == pytest.approx(39 / 40)


def test_a_value_that_leaves_lengths_further_off_is_not_taken():
    class Terse(Model):
        """44 words, few of them people's; above a bias of 1 it is 30, and all are."""

        def write(self, asked, *, max_tokens):
            self.tried.append(asked[0].ending)
            texts = WORDS[:30] if asked[0].ending > 1 else [*WORDS[:10], *["z"] * 34]
            return [Draft(" ".join(texts)) for _ in asked]

    fit = fit_length_bias(Terse(0.0), ASKED, max_tokens=200)
    assert (fit.value, fit.after) == (0.0, fit.before)


def test_likeness_by_hand():
    replies = [("a", "b", "c", "d"), ("e", "f")]
    # 3 of 4 words are people's ("a" counts once), and 4 words for 6 cost exp(1 - 6/4)
    assert likeness([("a", "a", "b"), ("e",)], replies) == pytest.approx(3 / 4 * math.exp(-0.5))
    assert likeness(replies, replies) == 1.0
    assert likeness([(), ()], replies) == 0.0
    # what is too long loses by its words alone
    assert likeness([("a", "b", "c", "d"), ("e", "f", "g", "h")], replies) == pytest.approx(6 / 8)
