"""The papers' compositions run end to end on scripted models."""

from __future__ import annotations

import pytest

from dragoman.core.parts import Parts
from dragoman.models.scripted import ScriptedEncoder, ScriptedModel
from dragoman.stores.in_memory import InMemoryStore
from dragoman.systems import pkicr, ragate, safari, unims
from dragoman.testing import fill
from dragoman.testing.samples import CONTEXTS, SOURCES
from dragoman.text.analyse import Analyser

HELLO, QUESTION = CONTEXTS[:2]


@pytest.fixture
def parts():
    analyse, encoder = Analyser(), ScriptedEncoder()
    store = InMemoryStore(analyse=analyse)
    fill(store, encoder)
    model = ScriptedModel(
        rules=[("re:User: Hello!\n\nSources for", "NULL"), ("Sources for the last turn:", "PERSONA, DOCUMENTS")],
        choices=[("re:User: Hello!\n\n", "False"), ("re:True or False:$", "True")],
        default="It costs 34 francs.",
    )
    return Parts(model, encoder, store, SOURCES, analyse)


def test_ragate_gates_with_the_model_and_asks_every_source(parts):
    hello, question = ragate(parts).run([HELLO, QUESTION])
    assert (hello.verdict.retrieve, hello.evidence) == (False, ())
    assert question.verdict.retrieve
    assert set(question.plan.sources) == {"PERSONA", "MEMORY", "DOCUMENTS"}
    assert question.trace.of("gate")[0].component == "gate.prompted.v1"


def test_safari_plans_with_the_model_and_its_null_is_the_gate(parts):
    hello, question = safari(parts).run([HELLO, QUESTION])
    assert hello.verdict.retrieve
    assert hello.plan.is_null
    assert question.plan.steps == (("PERSONA",), ("DOCUMENTS",))
    assert "d-price" in [piece.id for piece in question.evidence]


@pytest.mark.parametrize(("options", "rounds"), [({}, 1), ({"mode": "multi-step", "steps": 2}, 2)])
def test_unims_refines_what_has_evidence(parts, options, rounds):
    hello, question = unims(parts, k=1, **options).run([HELLO, QUESTION])
    assert hello.trace.of("refiner") == ()
    assert 1 <= len(question.trace.of("refiner")) <= rounds
    assert question.trace.of("refiner")[0].value.replaced


def test_pkicr_asks_every_source_on_every_turn(parts):
    for reply in pkicr(parts).run([HELLO, QUESTION]):
        assert set(reply.plan.sources) == {"PERSONA", "MEMORY", "DOCUMENTS"}
