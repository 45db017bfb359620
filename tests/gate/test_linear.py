"""The linear gate: by hand, from its files, and what it says when they are wrong."""

import json
import math
import random

import pytest

from dragoman.core.errors import UnknownNameError, WeightsError
from dragoman.core.values import Context
from dragoman.gate import LinearGate
from dragoman.gate.features import Features
from dragoman.gate.linear import Linear, write_linear
from dragoman.models.calibration import Logistic
from dragoman.models.part import Head, Part, write_part
from dragoman.testing import GateConformance

FEATURES = Features(fields=("user",), ngrams=1)
MODEL = Linear(FEATURES, {"user": {"museum": (2.0, 3.0), "thank": (1.0, -4.0)}}, {"user asks": 0.5}, -1.0)


@pytest.fixture
def part(tmp_path):
    head = Head(("retrieve",), {"retrieve": Logistic(2.0, 1.0)}, {"retrieve": 0.3})
    names = write_linear(MODEL, tmp_path)
    return write_part(Part(tmp_path, "gate.linear", {"gate": head}, {"features": FEATURES.to_json()}), names)


class TestLinearGate(GateConformance):
    @pytest.fixture
    def gate(self, part):
        return LinearGate(part=str(part.folder))


def test_score_by_hand():
    # museum twice: 4, thank: 1; of length sqrt(17): 4 x 3 - 1 x 4 over it; it asks: 0.5; and the intercept
    score, most = MODEL.score(Context.of("Thanks! Museum, museum?"))
    assert score == pytest.approx((12 - 4) / math.sqrt(17) + 0.5 - 1)
    assert most == "user: museum"


def test_a_turn_of_unknown_words_has_the_intercept():
    assert MODEL.score(Context.of("Hmm")) == (-1.0, "nothing known")


def test_decisions_are_calibrated_and_cut_as_the_part_says(part):
    gate = LinearGate(part=str(part.folder))
    score = MODEL.score(Context.of("A museum?"))[0]
    (verdict,) = gate.decide([Context.of("A museum?")])
    assert verdict.probability == pytest.approx(1 / (1 + math.exp(-(2 * score + 1))))
    assert verdict.retrieve
    low = gate.decide([Context.of("Hmm")])[0]
    assert low.probability == pytest.approx(1 / (1 + math.exp(1)))
    assert not low.retrieve
    assert LinearGate(part=str(part.folder), threshold=0.2).decide([Context.of("Hmm")])[0].retrieve


def test_the_part_may_lie_beside_the_agent(part):
    gate = LinearGate(part=part.folder.name, folder=part.folder.parent)
    assert gate.decide([Context.of("A museum?")])[0].retrieve


def test_making_one_reads_nothing_and_a_missing_part_is_told_on_first_use():
    gate = LinearGate(part="nowhere")
    with pytest.raises(UnknownNameError, match="nowhere"):
        gate.warm_up()


def test_a_part_of_another_kind_is_refused(part):
    write_part(Part(part.folder, "gate.encoder", part.heads, part.options), tuple(part.files))
    with pytest.raises(WeightsError, match=r"gate\.encoder"):
        LinearGate(part=str(part.folder)).warm_up()


def test_terms_that_do_not_fit_their_weights_are_told(part):
    (part.folder / "terms.json").write_text(json.dumps({"user": ["museum"], "shape": ["user asks"]}))
    write_part(part, tuple(part.files))
    with pytest.raises(WeightsError, match="cannot be read"):
        LinearGate(part=str(part.folder)).warm_up()


def test_a_turn_fares_the_same_in_any_batch(part):
    gate = LinearGate(part=str(part.folder))
    words = ["museum", "thanks", "where", "is", "it?", "Bern"]
    chance = random.Random(3)
    turns = [Context.of(*(" ".join(chance.choices(words, k=5)) for _ in range(3))) for _ in range(30)]
    assert gate.decide(turns) == [gate.decide([turn])[0] for turn in turns]
