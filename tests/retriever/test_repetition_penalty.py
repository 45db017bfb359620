"""What a passage loses where the agent has said as much already, by hand."""

from __future__ import annotations

import pytest

from dragoman.core.errors import WeightsError
from dragoman.core.values import Context, Request, Scope, Source
from dragoman.retriever import DenseRetriever, HybridRetriever
from dragoman.retriever.repetition_penalty import REMEMBERED, RepetitionPenalty, losses, replies
from dragoman.retriever.search import searches
from dragoman.text.analyse import analyse

from .test_trained import ANA, DOCUMENTS, KINDS, part

TWICE = ("What does the boat cost?", "A return ticket for the ferry costs 34 francs.", "And what does a ticket cost?")


def test_a_cosine_falls_by_the_slope_beyond_the_mark():
    assert RepetitionPenalty(0.5, 0.6).lost(0.8) == pytest.approx(0.1)
    assert RepetitionPenalty(0.5, 0.6).lost(0.6) == RepetitionPenalty(0.5, 0.6).lost(-1.0) == 0.0
    assert RepetitionPenalty(-0.5, 0.6).lost(0.8) == pytest.approx(-0.1), "what was spoken of may be likelier instead"


def test_replies_are_the_agents_newest_first_each_once_and_not_all_of_a_long_dialogue():
    context = Context.of("a?", "Yes.", "b?", "No,\n never.", "c?", "Yes.", "d?")
    assert replies(context) == ("Yes.", "No, never.")
    assert replies(Context.of("a?")) == ()
    long = Context.of(*(f"{i}" for i in range(101)))
    assert replies(long) == tuple(f"{i}" for i in range(99, 99 - 2 * REMEMBERED, -2))


def test_losses_are_those_of_the_nearest_reply_for_the_sources_that_learned_one(store, encoder):
    notes = Source("NOTES")
    asked = searches([Request(Context.of(*TWICE, scope=ANA), (DOCUMENTS, notes))], analyse=analyse, dependency="off")
    learned = {"DOCUMENTS": RepetitionPenalty(0.5, 0.6)}
    documents, others = losses(encoder, store.nearest, asked, learned, pool=10)
    said, fare = encoder.encode([TWICE[1], store.get(ANA.shared, ["d-fare"])[0].indexed])
    nearness = float(said @ fare)
    assert documents["d-fare"] == pytest.approx(0.5 * (nearness - 0.6))
    assert "d-dog" not in documents, "what is no nearer than the mark loses nothing"
    assert others == {}


def test_nothing_is_asked_where_nothing_was_learned_or_said(encoder):
    def nearest(queries):
        raise AssertionError("asked")

    asked = searches([Request(Context.of(*TWICE, scope=ANA), (DOCUMENTS,))], analyse=analyse, dependency="off")
    assert losses(encoder, nearest, asked, {}, pool=10) == [{}]
    first = searches([Request(Context.of("Hello?", scope=ANA), (DOCUMENTS,))], analyse=analyse, dependency="off")
    assert losses(encoder, nearest, first, {"DOCUMENTS": RepetitionPenalty(1.0, 0.0)}, pool=10) == [{}]


def test_replies_are_looked_up_in_the_scope_of_the_search_alone(encoder):
    scopes = []

    def nearest(queries):
        scopes.extend(query.scope for query in queries)
        return [[] for _ in queries]

    memory = Source("MEMORY", about="user", private=True)
    asked = searches([Request(Context.of(*TWICE, scope=ANA), (memory,))], analyse=analyse, dependency="off")
    losses(encoder, nearest, asked, {"MEMORY": RepetitionPenalty(1.0, 0.0)}, pool=10)
    assert scopes == [ANA]


@pytest.mark.parametrize("name", KINDS)
def test_a_part_that_learned_it_goes_on_to_the_next_thing(name, store, encoder, tmp_path):
    learned = part(tmp_path, dependency="off", said={"DOCUMENTS": {"slope": 2.0, "beyond": 0.5}})
    plain = KINDS[name](store=store, encoder=encoder, analyse=analyse, dependency="off")
    going_on = KINDS[name](store=store, encoder=encoder, analyse=analyse, part=learned)
    request = Request(Context.of(*TWICE, scope=ANA), (DOCUMENTS,), k=4)
    before, after = plain.retrieve([request])[0], going_on.retrieve([request])[0]
    assert before[0].id == "d-fare" and after[0].id != "d-fare"
    [worn] = [piece for piece in after if piece.id == "d-fare"]
    assert worn.scores["said"] < 0, "the trace tells it"
    assert {piece.id for piece in before} == {piece.id for piece in after}, "nothing is hidden"


@pytest.mark.parametrize("said", [{"DOCUMENTS": {"slope": 1.0, "curve": 2}}, {"DOCUMENTS": 3}, ["DOCUMENTS"]])
def test_a_part_of_another_version_is_refused(store, encoder, tmp_path, said):
    retriever = DenseRetriever(store=store, encoder=encoder, analyse=analyse, part=part(tmp_path, said=said))
    with pytest.raises(WeightsError, match=r"said = .* which this version does not know"):
        retriever.warm_up()


@pytest.mark.parametrize("kind", [DenseRetriever, HybridRetriever])
def test_a_batch_finds_what_each_request_finds_alone(kind, store, encoder, tmp_path):
    learned = part(tmp_path, said={"DOCUMENTS": {"slope": 1.0, "beyond": 0.4}})
    retriever = kind(store=store, encoder=encoder, analyse=analyse, part=learned)
    requests = [
        Request(Context.of(*texts, scope=Scope("harbour", "ana")), (DOCUMENTS,), k=4)
        for texts in (TWICE, ("Is there tea?",), ("Tea?", "A pot of tea costs 5 francs.", "And the museum?"))
    ]
    together = retriever.retrieve(requests)
    assert together == [retriever.retrieve([request])[0] for request in requests]
