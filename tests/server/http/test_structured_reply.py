"""Replies in the form of a JSON schema."""

from __future__ import annotations

import json

import pytest
from tests.effort import lines_of

from dragoman.core.errors import ServiceError
from dragoman.core.trace import Note, Reply, Retrieval, Trace
from dragoman.core.values import Draft, Evidence, Passage, Plan, Verdict
from dragoman.reader.phrases import NO_ANSWER
from dragoman.server.http.schemas import ResponseFormat
from dragoman.server.http.structured_reply import UnfilledError, check_format, fill

RULE = Evidence(Passage("a", "DOCUMENTS", "The soup contains fish.", title="Eating", origin="eating.md"), 0.9)
NOTES = {"rule": "The soup contains fish.", "fact": "I am vegetarian.", "decision": "no", "reason": "contains fish"}


def reply(text="No. The soup contains fish.", notes=NOTES, quoted=("a",)):
    notes = (
        Note("retriever", "r", 0.1, Retrieval(("DOCUMENTS",), (RULE,))),
        Note("reader", "r", 0.1, Draft(text, 0.9, "composed", quoted, notes=notes)),
    )
    return Reply(text, Verdict(True, 0.9), Plan((("DOCUMENTS",),)), (RULE,), Trace(notes), 0.9)


def schema(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


def filled(given, **properties):
    return json.loads(fill(schema(**properties), given))


def test_values_are_the_decision_the_reason_and_the_place():
    text = {"type": "string"}
    told = filled(reply(), allowed={"type": "boolean"}, reason=text, source=text, confidence={"type": "number"})
    assert told == {
        "allowed": False,
        "reason": "I am vegetarian. The soup contains fish. contains fish",
        "source": "Eating",
        "confidence": 0.9,
    }


def test_a_choice_is_what_the_answer_names():
    given = reply("The boat leaves on Monday.", {"rule": "x"})
    assert filled(given, day={"enum": ["Monday", "Tuesday"]}) == {"day": "Monday"}
    assert filled(reply(), verdict={"enum": ["yes", "no"]}) == {"verdict": "no"}
    with pytest.raises(UnfilledError):
        filled(given, day={"enum": ["Friday", "Tuesday"]})


@pytest.mark.parametrize(
    ("text", "number"), [("It costs 6 francs.", 6), ("It costs 1,200.5 francs.", 1200.5), ("6 or 7 francs.", None)]
)
def test_a_number_is_the_only_one_of_the_answer(text, number):
    given = reply(text, {})
    if number is not None:
        assert filled(given, price={"type": "number"}) == {"price": number}
    else:
        with pytest.raises(UnfilledError):
            filled(given, price={"type": "number"})


def test_objects_and_definitions_are_filled_as_properties_are():
    verdict = {"enum": ["yes", "no"], "type": "string"}
    given = schema(
        decision={"$ref": "#/$defs/decision"},
        citations={"type": "array", "items": schema(quote={"type": "string"}, source={"type": "string"})},
    )
    given["$defs"] = {"decision": schema(verdict={"$ref": "#/$defs/verdict"}), "verdict": verdict}
    form = ResponseFormat.model_validate({"type": "json_schema", "json_schema": {"name": "x", "schema": given}})
    assert json.loads(fill(check_format(form), reply())) == {
        "decision": {"verdict": "no"},
        "citations": [{"quote": "The soup contains fish.", "source": "Eating"}],
    }


def test_a_missing_value_of_an_inner_object_is_named():
    given = schema(trip=schema(seats={"type": "integer"}))
    form = ResponseFormat.model_validate({"type": "json_schema", "json_schema": {"name": "x", "schema": given}})
    with pytest.raises(UnfilledError, match="'seats'"):
        fill(check_format(form), reply())


def test_no_answer_fills_nothing():
    with pytest.raises(UnfilledError):
        filled(reply("I don't know.", NO_ANSWER), answer={"type": "string"})


@pytest.mark.parametrize(
    "given",
    [
        {"type": "array"},
        schema(a={"$ref": "#"}),
        schema(a={"$ref": "#/$defs/missing"}),
        {**schema(a={"$ref": "#/$defs/a"}), "$defs": {"a": schema(b={"$ref": "#/$defs/a"})}},
        schema(**{f"p{i}": {"type": "string"} for i in range(200)}),
        {
            **schema(a={"$ref": "#/$defs/9"}),
            "$defs": {"0": {"type": "string"}}
            | {str(i): schema(x={"$ref": f"#/$defs/{i - 1}"}, y={"$ref": f"#/$defs/{i - 1}"}) for i in range(1, 10)},
        },
        schema(a={"type": "object", "properties": {}}),
        schema(a={"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "array"}}}}),
        schema(a={"type": "string", "pattern": "x"}),
        schema(a="text"),
    ],
)
def test_schemas_that_no_turn_can_fill_are_refused(given):
    form = ResponseFormat.model_validate({"type": "json_schema", "json_schema": {"name": "x", "schema": given}})
    with pytest.raises(ServiceError) as caught:
        check_format(form)
    assert caught.value.fields["param"] == "response_format"


def deep():
    inner = {"type": "string"}
    for _ in range(300):
        inner = {"anyOf": [inner]}
    return inner


@pytest.mark.trust
@pytest.mark.parametrize(
    "given",
    [
        {"type": "object", "properties": [1]},
        {"type": "object", "properties": "ab"},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": 5},
        {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(5_000)}},
        *(
            {"type": "object", "properties": {"a": inner}}
            for inner in (
                {"type": 5},
                {"type": None},
                {"type": [["a"]]},
                {"type": {"a": 1}},
                {"type": "string", "anyOf": 5},
                {"type": "string", "anyOf": [{"type": "string"}] * 5_000},
                {"type": "string", "enum": 5},
                {"type": "string", "enum": [f"option {number}" for number in range(50_000)]},
                {"type": "array", "items": 5},
                deep(),
            )
        ),
    ],
)
def test_a_schema_of_any_form_and_size_is_refused_in_words(given):
    """50,000 options took the event loop 23 s; others ended in an internal error."""
    with pytest.raises(ServiceError):
        check_format(
            ResponseFormat.model_validate({"type": "json_schema", "json_schema": {"name": "x", "schema": given}})
        )


@pytest.mark.trust
def test_the_most_options_and_the_longest_answer_are_compared_in_little_time():
    options = [f"{'fish ' * 20}{number}" for number in range(500)]

    def compare():
        with pytest.raises(UnfilledError):
            filled(reply("fish " * 6_000), a={"type": "string", "enum": options})

    assert lines_of(compare) < 200_000


def test_numbers_without_end_are_no_number():
    with pytest.raises(UnfilledError):
        filled(reply(f"It costs {'9' * 400}.", notes={}), price={"type": "number"})
