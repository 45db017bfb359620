"""The doubt of an unaided draft, as it is and calibrated."""

import math
from dataclasses import replace

import pytest

from dragoman.core.errors import ConfigError
from dragoman.core.values import Context, Draft
from dragoman.gate import UncertaintyGate
from dragoman.gate.uncertainty import doubt, question
from dragoman.models.calibration import Logistic
from dragoman.models.part import Head, Part, write_part


class Drafting:
    """Drafts that are as sure as they are told to be; remembers how long they may be."""

    def __init__(self, *confidences, least=None):
        self.confidences, self.least, self.asked, self.prompts = confidences, least, [], []

    def generate(self, prompts, *, max_tokens, stop=()):
        self.asked.append((len(prompts), max_tokens))
        self.prompts += prompts
        notes = {} if self.least is None else {"min_probability": self.least}
        return [Draft("Well.", confidence, notes=notes) for confidence in self.confidences]


@pytest.fixture
def part(tmp_path):
    head = Head(("retrieve",), {"retrieve": Logistic(0.5, -1.0)}, {"retrieve": 0.3})
    return write_part(Part(tmp_path, "gate.uncertainty", {"gate": head}, {"measure": "least", "max_tokens": 5}), ())


def test_without_a_part_the_doubt_is_the_probability():
    gate = UncertaintyGate(language_model=Drafting(0.9, 0.4))
    sure, unsure = gate.decide([Context.of("hi"), Context.of("when?")])
    assert (sure.retrieve, unsure.retrieve) == (False, True)
    assert sure.probability == pytest.approx(0.1)


def test_with_a_part_the_doubt_is_calibrated_and_cut_as_the_part_says(part):
    model = Drafting(0.99, least=0.2)
    (verdict,) = UncertaintyGate(language_model=model, part=str(part.folder)).decide([Context.of("when?")])
    # doubt .8, log-odds ln 4, x .5 - 1
    assert verdict.probability == pytest.approx(1 / (1 + math.exp(1 - math.log(4) / 2)))
    assert verdict.retrieve
    assert model.asked == [(1, 5)]
    strict = UncertaintyGate(language_model=model, part=str(part.folder), threshold=0.9)
    assert not strict.decide([Context.of("when?")])[0].retrieve


@pytest.mark.parametrize("stored", [{"language": "zh", "name": "Ada"}, {"language": "zh"}, {"name": "Ada"}, {}])
def test_a_gate_with_a_part_asks_under_the_name_and_in_the_language_it_was_fitted_with(part, stored):
    write_part(replace(part, options={**part.options, **stored}), ())
    model, context = Drafting(0.9, least=0.2), Context.of("when?")
    UncertaintyGate(language_model=model, name="Marlow", part=str(part.folder)).decide([context])
    assert model.prompts == [question(context, stored.get("language", "en"), stored.get("name", "Dragoman"))]


def test_a_gate_without_a_part_asks_under_the_agents_name():
    model, context = Drafting(0.9), Context.of("when?")
    UncertaintyGate(language_model=model, language="zh", name="Marlow").decide([context])
    assert model.prompts == [question(context, "zh", "Marlow")]


def test_the_least_likely_token_must_be_told():
    assert doubt(Draft("Well.", 0.9, notes={"min_probability": 0.25}), "least") == pytest.approx(0.75)
    with pytest.raises(ConfigError, match="least = true"):
        doubt(Draft("Well.", 0.9), "least")


def test_an_empty_draft_is_full_doubt_by_either_measure():
    assert doubt(Draft("", 0.0), "mean") == doubt(Draft("", 0.0), "least") == 1.0


def test_nothing_is_asked_about_nothing():
    model = Drafting()
    assert list(UncertaintyGate(language_model=model).decide([])) == []
    assert model.asked == []
