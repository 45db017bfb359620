from __future__ import annotations

import math

import numpy as np
import pytest

from dragoman.core.errors import ConfigError
from dragoman.core.examples import Example
from dragoman.core.trace import Note, Refinement, Reply, Trace
from dragoman.core.values import NULL_PLAN, Context, Draft, Verdict
from dragoman.evaluate.contract import Judged
from dragoman.evaluate.metrics.confidence import Confidence, Least, last_draft


def judged(*values, confidence=1.0):
    notes = tuple(Note("reader" if isinstance(v, Draft) else "refiner", "x", 0.0, v) for v in values)
    return Judged(
        Example("e", Context.of("hi"), ()), Reply("x", Verdict(False, 0.0), NULL_PLAN, (), Trace(notes), confidence)
    )


def once(scores):
    return scores.values(np.ones((1, len(scores.counted))))[0]


def test_the_least_logit_is_averaged_over_generated_replies():
    turns = [judged(Draft("a", notes={"min_logit": 9.0})), judged(Draft("b", notes={"min_logit": 8.0})), judged()]
    scores = Least().score(turns)
    assert list(scores.counted) == [True, True, False]
    assert once(scores) == 8.5
    assert scores.details == {}


def test_a_system_whose_model_notes_no_logits_has_no_value_and_it_is_said_why():
    scores = Least().score([judged(Draft("a", notes={"min_probability": 0.2})), judged(Draft("b"))])
    assert not any(scores.counted)
    assert math.isnan(once(scores))
    assert "min_logit" in scores.details["missing"]


def test_the_least_probability_is_another_note():
    assert once(Least(of="probability").score([judged(Draft("a", notes={"min_probability": 0.2}))])) == 0.2


def test_the_draft_of_the_last_refinement_became_the_reply():
    first, second = Draft("a", notes={"min_logit": 1.0}), Draft("b", notes={"min_logit": 2.0})
    turn = judged(first, Refinement((), (), (), second))
    assert last_draft(turn.reply.trace) is second
    assert once(Least().score([turn])) == 2


def test_a_note_that_is_no_number_does_not_count():
    assert not any(Least().score([judged(Draft("a", notes={"min_logit": "none"}))]).counted)


def test_confidence_is_the_mean_of_the_replies_own():
    assert once(Confidence().score([judged(confidence=0.2), judged(confidence=0.6)])) == pytest.approx(0.4)


def test_an_unknown_measure_is_refused():
    with pytest.raises(ConfigError):
        Least(of="token")
