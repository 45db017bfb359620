"""The encoder gate on a small part of random weights: what it reads, what it decides, what it says."""

from __future__ import annotations

import pytest

from dragoman.core.errors import ConfigError, WeightsError
from dragoman.core.registry import gates
from dragoman.core.values import Context
from dragoman.gate.encoder import EncoderGate, field_texts, gate_scores, gate_texts
from dragoman.models.calibration import Logistic
from dragoman.models.onnx.scorer import Scorer
from dragoman.models.part import Head, open_part
from dragoman.testing import GateConformance
from dragoman.text.view import View

TURNS = [
    Context.of("hello"),
    Context.of("hello", "good", "what is the price of a room"),
    Context.of("thanks"),
    Context.of("who are you"),
]
OPTIONS = {"view": View(turns=2).to_json()}


def heads(threshold=0.5):
    return {"gate": Head(("retrieve",), {"retrieve": Logistic(1.0, 0.0)}, {"retrieve": threshold})}


@pytest.fixture(scope="module")
def folder(make_part):
    return make_part("gate.encoder", heads(), **OPTIONS)


class TestConformance(GateConformance):
    @pytest.fixture
    def gate(self, folder):
        return EncoderGate(part=str(folder))


def test_probability_is_the_calibrated_score_of_the_view(folder):
    scorer = Scorer(open_part(folder))
    expected = scorer.probabilities([View(turns=2).text(turn) for turn in TURNS], "gate")
    assert [verdict.probability for verdict in EncoderGate(part=str(folder)).decide(TURNS)] == pytest.approx(expected)


def test_gate_opens_from_the_parts_threshold_on(make_part, folder):
    middle = EncoderGate(part=str(folder)).decide(TURNS)[1].probability
    exactly = EncoderGate(part=str(make_part("gate.encoder", heads(middle), **OPTIONS))).decide(TURNS)
    assert [verdict.retrieve for verdict in exactly] == [verdict.probability >= middle for verdict in exactly]
    assert exactly[1].retrieve


def test_threshold_of_the_agent_stands_in_for_the_parts(folder):
    assert all(verdict.retrieve for verdict in EncoderGate(part=str(folder), threshold=0.0).decide(TURNS))
    assert not any(verdict.retrieve for verdict in EncoderGate(part=str(folder), threshold=1.0).decide(TURNS))


def test_max_tokens_reads_the_beginning_of_the_view_and_never_more_than_the_part_was_trained_with(folder):
    long = [Context.of("hello " * 50)]
    short = [Context.of("hello " * (8 - 2 - len("user :".split())))]  # two marks stand around what is read
    scores = {most: EncoderGate(part=str(folder), max_tokens=most).decide(long) for most in (None, 8, 1000)}
    assert scores[8] == EncoderGate(part=str(folder)).decide(short) != scores[None]
    assert scores[1000] == scores[None]


def test_max_tokens_that_leave_nothing_are_refused(folder):
    with pytest.raises(ConfigError, match="max_tokens = 2 leaves nothing"):
        EncoderGate(part=str(folder), max_tokens=2)


def test_reason_says_probability_and_threshold(folder):
    verdict = EncoderGate(part=str(folder), threshold=0.25).decide(TURNS)[0]
    assert verdict.reason == f"probability {verdict.probability:.2f}, threshold 0.25"


def test_nothing_to_decide_is_nothing_decided(folder):
    assert list(EncoderGate(part=str(folder)).decide([])) == []


def test_part_is_found_beside_the_agent(folder):
    assert EncoderGate(part=folder.name, folder=folder.parent).decide(TURNS[:1])


def test_constructor_opens_nothing(tmp_path):
    gate = EncoderGate(part=str(tmp_path / "nowhere"))
    with pytest.raises(WeightsError, match="no trained part"):
        gate.warm_up()


def test_part_of_another_role_is_refused(make_part):
    planner = make_part("planner.classifier", {"plan": Head(("a", "b", "c"))}, **OPTIONS)
    with pytest.raises(WeightsError, match=r"is a planner\.classifier"):
        EncoderGate(part=str(planner)).decide(TURNS)


def test_gate_is_registered():
    assert gates.factory("encoder.v1") is EncoderGate


def test_fields_are_the_users_turn_the_agents_and_the_view():
    def of(field):
        return field_texts(TURNS[:2], OPTIONS, field)

    assert of("last") == ["hello", "what is the price of a room"]
    assert of("before") == ["", "good"]
    assert of("view") == gate_texts(TURNS[:2], OPTIONS)


def test_score_of_a_frozen_encoder_is_the_sum_of_its_fields(make_part, monkeypatch):
    folder = make_part("gate.encoder", heads(), fields=["last", "before"], **OPTIONS)
    scorer = Scorer(open_part(folder))
    seen = {"gate_last": [[1.0], [2.0]], "gate_before": [[0.5], [-3.0]]}
    monkeypatch.setattr(Scorer, "scores", lambda self, texts, head: __import__("numpy").array(seen[head]))
    assert gate_scores(scorer, TURNS[:2]).tolist() == [[1.5], [-1.0]]
