"""The trace and the reply as JSON, both ways."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InputError
from dragoman.core.trace import Note, Refinement, Reply, Retrieval, Trace, reply_from_json, reply_to_json
from dragoman.core.values import Draft, Evidence, Learned, Plan, Usage, Verdict

numbers = st.floats(0, 1)
roles = st.sampled_from(["memory", "gate", "planner", "retriever", "reader", "refiner"])
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
kinds = st.one_of(*(st.from_type(kind) for kind in (Verdict, Plan, Retrieval, Draft, Refinement, Learned)))
used = st.builds(Usage, st.integers(0, 9), st.integers(0, 9), st.integers(1, 9))
spent = st.one_of(st.tuples(used, st.floats(0, 9)), st.just((Usage(), None)))
notes = st.builds(
    lambda role, name, seconds, value, cost: Note(role, name, seconds, value, *cost),
    roles,
    st.text(),
    st.floats(0, 1e3),
    kinds,
    spent,
)
traces = st.builds(Trace, st.lists(notes, max_size=4).map(tuple))
replies = st.builds(
    Reply,
    st.text(),
    st.from_type(Verdict),
    st.from_type(Plan),
    st.lists(st.from_type(Evidence), max_size=3).map(tuple),
    traces,
    numbers,
)


@given(traces)
def test_a_trace_survives_json(trace):
    assert Trace.from_json(json.loads(json.dumps(trace.to_json()))) == trace


@given(replies)
def test_a_reply_survives_json(reply):
    assert reply_from_json(json.loads(json.dumps(reply_to_json(reply)))) == reply


def test_a_trace_sums_its_seconds_and_gives_the_notes_of_a_role():
    first, second = Note("gate", "g", 0.25, Verdict(True, 1.0)), Note("reader", "r", 0.5, Draft("x"))
    trace = Trace((first, second))
    assert trace.seconds == 0.75
    assert trace.of("reader") == (second,)
    assert list(trace) == [first, second]


@pytest.mark.parametrize(
    "data",
    [
        {},
        [{"kind": "dream"}],
        ["note"],
        [{"kind": "draft", "value": {"text": "x"}, "role": "cook", "seconds": 1}],
        [{"kind": "draft", "value": {"text": "x"}, "role": "reader"}],
        [{"kind": "draft", "value": {"words": "x"}, "role": "reader", "seconds": 1}],
    ],
)
def test_what_is_no_trace_is_refused(data):
    with pytest.raises(InputError):
        Trace.from_json(data)


def test_what_is_no_reply_is_refused():
    with pytest.raises(InputError, match="must be a JSON object"):
        reply_from_json([])


def test_a_trace_sums_up_tokens_and_prices_of_all_drafts():
    first = Draft("a", usage=Usage(10, 2, 1), notes={"price": 0.25})
    second = Draft("b", usage=Usage(5, 1, 2), notes={"price": 0.5})
    notes = (Note("reader", "R", 0.1, first), Note("refiner", "R", 0.1, Refinement((), (), (), second)))
    assert Trace(notes).usage == Usage(15, 3, 3) and Trace(notes).price == pytest.approx(0.75)
    assert Trace(notes[:0]).price is None


def test_the_cost_of_a_turn_is_that_of_all_roles():
    gate = Note("gate", "gate.prompted.v1", 0.1, Verdict(True, 0.9), Usage(100, 1, 1), 0.25)
    draft = Draft("Yes.", usage=Usage(200, 5, 1, cached_tokens=50), notes={"price": 0.5})
    trace = Trace((gate, Note("reader", "reader.grounded.v1", 0.2, draft)))
    assert trace.usage == Usage(300, 6, 2, cached_tokens=50) and trace.price == pytest.approx(0.75)
    assert Trace.from_json(json.loads(json.dumps(trace.to_json()))).price == pytest.approx(0.75)
    assert Trace().price is None and Usage(10, 4, 2).share(2) == Usage(5, 2, 1)
