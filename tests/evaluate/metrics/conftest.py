"""A maker of judged turns that says only what a test is about."""

import pytest

from dragoman.core.examples import Example, Gold
from dragoman.core.trace import Note, Reply, Retrieval, Trace
from dragoman.core.values import Context, Evidence, Passage, Plan, Source, Verdict
from dragoman.evaluate.contract import Judged

PERSONA = Source("PERSONA")
DOCUMENTS = Source("DOCUMENTS", needs=("PERSONA",))


def make(
    *,
    name="t",
    retrieve=None,
    plan=None,
    gold=None,
    candidates=(),
    position=0,
    domain="",
    meta=None,
    opened=True,
    probability=0.5,
    steps=(),
    sources_probability=None,
    evidence=(),
    retrieved=None,
):
    """`evidence` and `retrieved` are Evidence; the trace gets one retrieval where `retrieved` is given."""
    example = Example(
        name,
        Context.of("hello", dialogue=name),
        (PERSONA, DOCUMENTS),
        tuple(candidates),
        Gold(retrieve, None if plan is None else tuple(plan), None if gold is None else tuple(gold)),
        position,
        domain,
        meta or {},
    )
    notes = () if retrieved is None else (Note("retriever", "r", 0.0, Retrieval(("PERSONA",), tuple(retrieved))),)
    taken = Plan(tuple(tuple(step) for step in steps), sources_probability or {})
    return Judged(example, Reply("reply", Verdict(opened, probability), taken, tuple(evidence), Trace(notes)))


def piece(name, source="PERSONA", text=None, relevance=0.5, **scores):
    return Evidence(Passage(name, source, text or f"text of {name}"), relevance, scores)


@pytest.fixture(scope="session")
def judged():
    return make


@pytest.fixture(scope="session")
def found():
    return piece
