"""Which of a user's facts bear on a sentence: those that decide come first, and idle ones fall away."""

from __future__ import annotations

import pytest

from dragoman.core.values import Evidence, Passage
from dragoman.decision.bearing import Bearing, likely, likely_when_read
from dragoman.decision.joint import Option, PairScore
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.scripted import ScriptedEncoder
from dragoman.text.analyse import Analyser

pytestmark = pytest.mark.integration

IDLE = ["I collect stamps.", "My sister lives in Graz.", "I work as a plumber.", "My car is nine years old."]


@pytest.fixture
def bearing(weights_home):
    return Bearing(encoder=OnnxEncoder(), analyse=Analyser(language="en"))


def option(sentence):
    return Option(sentence, "", Evidence(Passage("p", "DOCUMENTS", sentence), 1.0), None, 1.0, 0.5, 0.0)


@pytest.mark.parametrize(
    ("question", "sentence", "fact"),
    [
        ("Can I bring her along?", "Dogs are welcome on the terrace only.", "I have a labrador called Bess."),
        ("May my son come on board?", "Children under six wear a life jacket.", "My son Max is four."),
        ("Is the chocolate cake all right for me?", "The cake contains almonds.", "I am allergic to nuts."),
        ("What do I pay?", "Students pay half.", "I study law in my third term."),
    ],
)
def test_the_fact_that_decides_is_the_likeliest(bearing, question, sentence, fact):
    facts = [*IDLE[:2], fact, *IDLE[2:]]
    (known,) = bearing.features(question, [option(sentence)], facts)
    chances = [likely(each) for each in known]
    assert max(range(len(facts)), key=chances.__getitem__) == 2
    assert all(0.0 < chance < 1.0 for chance in chances)


def test_what_a_fact_changes_in_a_reading_makes_it_likelier(bearing):
    ((known,),) = bearing.features("What do I pay?", [option("Students pay half.")], ["I study law."])
    bare = PairScore(0.2, 0.1, {"yes": 0.1, "no": 0.1, "unknown": 0.4, "none": 0.4})
    same = likely_when_read(known, bare, bare)
    changed = PairScore(0.9, 0.9, {"yes": 0.9, "no": 0.02, "unknown": 0.04, "none": 0.04})
    assert likely_when_read(known, changed, bare) > same


def test_no_facts_and_no_sentences_are_no_error(bearing):
    assert bearing.features("What?", [option("Students pay half.")], []) == [[]]
    assert bearing.features("What?", [], ["I study law."]) == []


def test_another_encoder_is_recognised(bearing):
    assert bearing.is_trained_for()
    assert not Bearing(encoder=ScriptedEncoder(), analyse=Analyser(language="en")).is_trained_for()
