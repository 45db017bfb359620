"""Values to JSON and back."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.codec import decode, encode
from dragoman.core.errors import InputError
from dragoman.core.values import Context, Draft, Learned, Passage, Plan, Query, Request, Scope, Source, Usage, Verdict

scopes = st.builds(
    Scope, st.text(st.characters(categories=["L", "N"]), min_size=1), st.text(st.characters(categories=["L", "N"]))
)
VALUES = (Context, Draft, Learned, Passage, Plan, Request, Source, Usage, Verdict)
TYPES = {Scope: scopes, float: st.floats(allow_nan=False, allow_infinity=False)}


def values(cls):
    for kind, strategy in TYPES.items():
        st.register_type_strategy(kind, strategy)
    return st.from_type(cls)


@pytest.mark.parametrize("cls", VALUES)
@settings(max_examples=8)
@given(data=st.data())
def test_every_value_survives_json(cls, data):
    value = data.draw(values(cls))
    assert decode(cls, json.loads(json.dumps(encode(value)))) == value


def test_a_missing_field_takes_its_default():
    assert decode(Verdict, {"retrieve": True, "probability": 1}) == Verdict(True, 1.0)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"retrieve": True}, "Verdict is incomplete"),
        ({"retrieve": True, "probability": 1.0, "why": ""}, "unknown field 'why'"),
        ({"retrieve": True, "probability": "high"}, "Verdict.probability has the wrong type: str"),
        ({"retrieve": True, "probability": True}, "Verdict.probability has the wrong type: bool"),
        ([], "must be a JSON object"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(data, words):
    with pytest.raises(InputError, match=words):
        decode(Verdict, data)


def test_a_place_inside_a_tuple_has_its_number():
    with pytest.raises(InputError, match=r"Context\.turns\[0\]"):
        decode(Context, {"turns": [{"speaker": "dog", "text": "woof"}]})


def test_a_none_field_may_be_none_or_its_type():
    query = Query(Scope(), "A", 3, parents=frozenset({"b", "a"}))
    data = encode(query)
    assert data["parents"] == ["a", "b"]
    assert data["vector"] is None


def test_what_is_no_value_of_ours_has_no_json():
    @dataclass(frozen=True)
    class Holder:
        thing: object

    with pytest.raises(TypeError, match="complex has no JSON form"):
        encode(Holder(1j))
