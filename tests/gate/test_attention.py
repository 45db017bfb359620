"""How a turn becomes what the attention gate reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.core.errors import ConfigError
from dragoman.core.values import Context, Draft, Evidence, Passage, ReadTask
from dragoman.gate.attention import MARKS, AttentionGate, AttentionReading
from dragoman.gate.inputs import GateInput, Inputs
from dragoman.models.onnx.attention_scorer import SEGMENTS, TURNS, TextPiece
from dragoman.models.part import Head, Part
from dragoman.text.view import View

TALK = Context.of("hello", "Where to?", "Rome")


def test_each_turn_is_a_piece_counted_from_the_newest() -> None:
    reading = AttentionReading(Inputs(view=View(turns=2)), marks=False)
    assert reading.pieces(GateInput(TALK)) == (TextPiece("User: Rome", 1), TextPiece("Agent: Where to?", 2))


def test_oldest_first_keeps_the_count_from_the_newest() -> None:
    reading = AttentionReading(Inputs(view=View(turns=2, order="oldest", labels=False)), marks=False)
    assert reading.pieces(GateInput(TALK)) == (TextPiece("Where to?", 2), TextPiece("Rome", 1))


@pytest.mark.parametrize(
    ("context", "marks"),
    [
        (TALK, "[turn-1] [asked]"),
        (Context.of("Which way?"), "[turn-0] [asks]"),
        (Context.of("hello", "去哪儿？", "有地图吗？"), "[turn-1] [asked] [asks]"),
        (Context(()), "[turn-0]"),
    ],
)
def test_marks_say_how_far_the_dialogue_is_and_who_asks(context: Context, marks: str) -> None:
    first = AttentionReading(Inputs(view=View(turns=1))).pieces(GateInput(context))[0]
    assert first == TextPiece(marks, 0)
    assert set(marks.split()) <= set(MARKS)


def test_a_very_long_dialogue_has_marks_and_segments_too() -> None:
    pieces = AttentionReading(Inputs(view=View(turns=0)), window=0).pieces(GateInput(Context.of(*["and then?"] * 41)))
    assert pieces[0].text.split()[0] == "[turn-9]"
    assert max(piece.segment for piece in pieces) == TURNS


def test_marks_are_of_what_an_agent_shows_its_gate() -> None:
    """An agent keeps twelve earlier turns: in training a longer dialogue must look as it will in use."""
    talk = Context.of(*["and then?"] * 41)
    shown = replace(talk, turns=talk.turns[-13:])
    reading = AttentionReading(Inputs(view=View(turns=1)))
    assert reading.pieces(GateInput(talk)) == reading.pieces(GateInput(shown))
    assert reading.pieces(GateInput(talk))[0].text.split()[0] == "[turn-6]"


def test_reply_and_knowledge_have_segments_of_their_own() -> None:
    reading = AttentionReading(Inputs(("contx", "resp", "know"), View(turns=1)), marks=False)
    said, reply, known = reading.pieces(GateInput(TALK, reply="To Rome.", evidence=("Rome is old.",)))
    assert (said.segment, reply.text, known.text) == (1, "To Rome.", "Rome is old.")
    assert len({said.segment, reply.segment, known.segment}) == 3
    assert max(reply.segment, known.segment) < SEGMENTS
    assert not known.apart


def test_with_cross_the_knowledge_is_apart() -> None:
    reading = AttentionReading(Inputs(("contx", "know"), View(turns=1)), marks=False, cross=True)
    assert [piece.apart for piece in reading.pieces(GateInput(TALK, evidence=("Rome is old.",)))] == [False, True]


def test_without_segments_all_turns_are_alike() -> None:
    reading = AttentionReading(Inputs(view=View(turns=3)), marks=False, segments=False)
    assert {piece.segment for piece in reading.pieces(GateInput(TALK))} == {1}


def test_cross_without_knowledge_is_refused() -> None:
    with pytest.raises(ConfigError, match="no knowledge to attend to"):
        AttentionReading(cross=True)


def test_a_reading_survives_its_json() -> None:
    reading = AttentionReading(Inputs(("contx", "know"), View(turns=3), k=2), marks=False, cross=True)
    assert AttentionReading.from_json(reading.to_json()) == reading
    older = {name: value for name, value in reading.to_json().items() if name != "window"}
    assert AttentionReading.from_json(older).window == 0  # as it was trained


class Noting:
    """A scorer that notes what it is given; the longer a turn's pieces, the higher its score."""

    part = Part(Path("nowhere"), "gate.attention", {"gate": Head(("retrieve",))})

    def __init__(self) -> None:
        self.seen: list[tuple[TextPiece, ...]] = []

    def scores(self, turns: Sequence[Sequence[TextPiece]]) -> list[float]:
        self.seen += [tuple(pieces) for pieces in turns]
        return [float(sum(len(piece.text) for piece in pieces)) - 20 for pieces in turns]


class Says:
    """A reader that says one thing."""

    def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
        return [Draft("To Rome, then.") for _ in tasks]

    def stream(self, task: ReadTask) -> Iterator[str | Draft]:
        yield Draft("To Rome, then.")


def opened(gate: AttentionGate, reading: AttentionReading) -> Noting:
    scorer = Noting()
    gate._opened = scorer, reading  # type: ignore[assignment]
    return scorer


def test_the_readers_draft_is_the_reply_that_is_read() -> None:
    gate = AttentionGate(part="unused", reader=Says())
    scorer = opened(gate, AttentionReading(Inputs(("contx", "resp"), View(turns=1)), marks=False))
    (verdict,) = gate.decide([TALK])
    assert scorer.seen[0][1].text == "To Rome, then."
    assert verdict.retrieve == (verdict.probability >= 0.5)


def test_a_reply_without_a_reader_is_refused() -> None:
    gate = AttentionGate(part="unused")
    opened(gate, AttentionReading(Inputs(("contx", "resp"))))
    with pytest.raises(ConfigError, match="no reader"):
        gate.decide([TALK])


def test_the_best_evidence_is_what_is_read() -> None:
    gate = AttentionGate(part="unused")
    scorer = opened(gate, AttentionReading(Inputs(("contx", "know"), View(turns=1), k=1), marks=False))
    pieces = [Evidence(Passage(name, "D", name), relevance) for name, relevance in (("worse", 0.2), ("better", 0.9))]
    gate.decide([TALK], [pieces])
    assert scorer.seen[0][1].text == "better"
