"""What a gate reads of a turn, and how it becomes text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.values import Context, Draft, Evidence, Passage, Source
from dragoman.gate.inputs import FIELDS, GateInput, Inputs, best, entities, synthetic_replies
from dragoman.testing import StubReader
from dragoman.text.view import View

TURN = Context.of("Hi.", "Hello!", "When does the\nboat leave?")
OLDEST = View(turns=0, order="oldest")


def evidence(*relevances):
    return [Evidence(Passage(str(i), "A", f"text {i}"), relevance) for i, relevance in enumerate(relevances)]


class Writer:
    def __init__(self):
        self.prompts = []

    def generate(self, prompts, *, max_tokens, stop=()):
        self.prompts += prompts
        return [Draft("At nine, I think.")] * len(prompts)


def test_fields_become_texts_in_their_order():
    inputs = Inputs(("know", "contx", "resp", "syn-resp", "ner", "source"), OLDEST, 2)
    one = GateInput(
        TURN,
        reply="At  nine\nsharp.",
        synthetic="The ferry to Capri leaves at 9:30.",
        evidence=("first\nline", "second", "third"),
        sources=(Source("TIMES", "when boats leave"),),
    )
    assert inputs.texts(one) == {
        "know": "first line\nsecond",
        "contx": "User: Hi. Agent: Hello! User: When does the boat leave?",
        "resp": "At nine sharp.",
        "syn-resp": "The ferry to Capri leaves at 9:30.",
        "ner": "capri, 9:30",
        "source": "TIMES: when boats leave",
    }
    assert list(inputs.texts(one)) == list(inputs.fields)


def test_names_are_those_of_the_reply_where_none_is_drafted():
    one = GateInput(TURN, reply="It goes to Ischia.", synthetic="It goes to Capri.")
    assert Inputs(("resp", "ner")).texts(one)["ner"] == "ischia"
    assert Inputs(("syn-resp", "ner")).texts(one)["ner"] == "capri"


def test_entities_come_in_the_order_they_are_said_and_spelt_numbers_last():
    assert entities("On pier 4 ask Anna for twelve tickets to Capri.") == ("4", "anna", "capri", "12")
    assert entities("") == ()


@given(st.text())
def test_entities_are_never_named_twice(text):
    found = entities(text)
    assert len(set(found)) == len(found)


def test_the_most_relevant_evidence_counts_and_of_equals_the_earlier():
    assert best(evidence(0.2, 0.9, 0.2, 0.5), 3) == ("text 1", "text 3", "text 0")


def test_wrong_fields_are_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'contx'"):
        Inputs(("context",))
    with pytest.raises(ConfigError, match="named twice"):
        Inputs(("contx", "contx"))
    with pytest.raises(ConfigError, match="syn-resp"):
        Inputs(("contx", "ner"))
    with pytest.raises(ConfigError, match="0 evidence"):
        Inputs(("contx", "know"), k=0)


@given(st.lists(st.sampled_from(FIELDS), min_size=1, unique=True).filter(lambda f: "ner" not in f or "resp" in f))
def test_inputs_survive_a_part_file(fields):
    inputs = Inputs(tuple(fields), View(turns=3, language="zh"), 2)
    assert Inputs.from_json(inputs.to_json()) == inputs


def test_in_use_a_reader_drafts_without_evidence():
    reader = StubReader()
    [one] = Inputs(("contx", "resp", "know")).gather([TURN], [evidence(0.5, 0.9)], reader=reader)
    assert one.reply == "From nothing."
    assert one.evidence == ("text 1", "text 0")
    assert reader.tasks[0].evidence == ()


def test_a_synthetic_reply_may_be_the_language_models_own():
    writer = Writer()
    [one] = Inputs(("contx", "syn-resp")).gather([TURN], language_model=writer)
    assert one.synthetic == "At nine, I think."
    assert writer.prompts[0].name == "chat.v1"


def test_a_reply_that_nobody_says_is_an_error_with_a_remedy():
    with pytest.raises(ConfigError, match="reader ="):
        Inputs(("contx", "resp")).gather([TURN], language_model=Writer())
    with pytest.raises(ConfigError, match="reader ="):
        Inputs(("contx", "syn-resp")).gather([TURN])


def test_a_gate_without_replies_asks_nobody():
    assert Inputs(("contx",)).gather([TURN], reader=None)[0] == GateInput(TURN)


def test_drafts_read_the_end_of_a_dialogue():
    writer = Writer()
    synthetic_replies(writer, [Context.of("first", "second", "third", "fourth", "fifth")], "en")
    assert "second" not in writer.prompts[0].messages[-1].content
    assert "fifth" in writer.prompts[0].messages[-1].content


def test_a_draft_in_use_is_as_long_as_in_training():
    lengths = []

    class Measuring(Writer):
        def generate(self, prompts, *, max_tokens, **options):
            lengths.append(max_tokens)
            return super().generate(prompts, max_tokens=max_tokens, **options)

    for inputs in (Inputs(("contx", "syn-resp"), draft_tokens=64), Inputs(("contx", "syn-resp"))):
        Inputs.from_json(inputs.to_json()).gather([TURN], language_model=Measuring())
    older = {name: value for name, value in inputs.to_json().items() if name != "draft_tokens"}
    Inputs.from_json(older).gather([TURN], language_model=Measuring())
    assert lengths == [64, 24, 24]
