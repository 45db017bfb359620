"""The suites hold the stubs to their contracts, and catch roles that break them."""

from __future__ import annotations

import pytest

from dragoman.core.values import Draft, Evidence, Learned, Passage, Plan, Verdict
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing import (
    CriticConformance,
    EncoderConformance,
    GateConformance,
    MemoryConformance,
    PlannerConformance,
    ReaderConformance,
    RetrieverConformance,
    StubCritic,
    StubEncoder,
    StubGate,
    StubMemory,
    StubPlanner,
    StubReader,
    StubRetriever,
)
from dragoman.testing.retrieval import fill
from dragoman.testing.samples import PRIVATE_PASSAGES, SHARED_PASSAGES


class TestStubGate(GateConformance):
    @pytest.fixture
    def gate(self):
        return StubGate(words=("ferry",))


class TestStubPlanner(PlannerConformance):
    @pytest.fixture
    def planner(self):
        return StubPlanner(Plan((("PERSONA",),)))


class TestStubReader(ReaderConformance):
    @pytest.fixture
    def reader(self):
        return StubReader()


class TestStubEncoder(EncoderConformance):
    @pytest.fixture
    def encoder(self):
        return StubEncoder()


class TestStubMemory(MemoryConformance):
    @pytest.fixture
    def memory(self):
        return StubMemory()


class TestStubRetriever(RetrieverConformance):
    @pytest.fixture
    def retriever(self):
        return StubRetriever(SHARED_PASSAGES)


def broken(suite, fixture, role):
    """The tests of a suite that a role fails."""
    failed = set()
    for name in dir(suite):
        if name.startswith("test_"):
            try:
                getattr(suite(), name)(**{fixture: role})
            except AssertionError as error:
                assert str(error), f"{name} fails without a word"
                failed.add(name)
    return failed


def test_a_gate_that_answers_by_the_size_of_its_batch_is_caught():
    class Moody:
        def decide(self, turns, evidence=None):
            return [Verdict(len(turns) > 1, 1.0)] * len(turns)

    assert broken(GateConformance, "gate", Moody()) == {"test_batch_equals_one_by_one"}


def test_a_gate_with_a_log_probability_is_caught():
    class Logged:
        def decide(self, turns, evidence=None):
            return [Verdict(True, -0.7)] * len(turns)

    assert broken(GateConformance, "gate", Logged()) == {"test_answers_every_turn_with_a_probability"}


def test_a_planner_that_breaks_the_order_is_caught():
    from dragoman.core.errors import PlanError

    with pytest.raises(PlanError):
        PlannerConformance().test_plans_are_legal(StubPlanner(Plan((("DOCUMENTS",),))))

    class OwnWords(PlannerConformance):
        legal = False

    OwnWords().test_plans_are_legal(StubPlanner(Plan((("DOCUMENTS",),))))


def test_a_reader_whose_stream_says_something_else_is_caught():
    class Forked(StubReader):
        def stream(self, task):
            yield "Something else."
            yield Draft("Something else.")

    assert broken(ReaderConformance, "reader", Forked()) == {"test_stream_is_the_draft_in_pieces"}


def test_a_critic_that_does_not_read_is_caught():
    assert broken(CriticConformance, "critic", StubCritic()) == {
        "test_a_text_is_more_consistent_with_itself_than_with_something_else"
    }


def test_a_retriever_that_shows_every_users_rows_is_caught():
    class Leaking(StubRetriever):
        def __init__(self):
            super().__init__([*SHARED_PASSAGES, *(row for rows in PRIVATE_PASSAGES.values() for row in rows)])

    assert broken(RetrieverConformance, "retriever", Leaking()) == {"test_never_gives_another_users_row"}


def test_a_retriever_that_forgets_without_and_k_is_caught():
    class Careless:
        def retrieve(self, requests):
            return [[Evidence(row, 0.5) for row in SHARED_PASSAGES if row.source == "DOCUMENTS"]] * len(requests)

    assert {"test_never_gives_what_is_to_be_left_out", "test_gives_no_more_than_k_a_source"} <= broken(
        RetrieverConformance, "retriever", Careless()
    )


def test_an_encoder_whose_passages_are_not_of_unit_length_or_depend_on_the_batch_is_caught():
    class Long(StubEncoder):
        def encode_passages(self, texts):
            return 2 * self.encode(texts)

    class Moody(StubEncoder):
        def encode_passages(self, texts):
            return self.encode(texts) * (1 if len(texts) > 1 else -1)

    assert broken(EncoderConformance, "encoder", StubEncoder()) == set()
    assert broken(EncoderConformance, "encoder", Long()) == {"test_gives_unit_vectors"}
    assert broken(EncoderConformance, "encoder", Moody()) == {"test_a_vector_does_not_depend_on_the_batch"}


def test_fill_reads_only_what_is_about_the_world_as_passages():
    read = []

    class Apart(StubEncoder):
        def encode_passages(self, texts):
            read.extend(texts)
            return self.encode(texts)

    fill(InMemoryStore(), Apart())
    assert read == [passage.indexed for passage in SHARED_PASSAGES if passage.source == "DOCUMENTS"]


def test_a_memory_that_learns_from_thanks_is_caught():
    eager = StubMemory(Learned(added=(Passage("m", "MEMORY", "x"),)))
    assert broken(MemoryConformance, "memory", eager) == {"test_learns_nothing_from_small_talk"}


def test_every_suite_is_public():
    from dragoman import testing

    assert {name for name in testing.__all__ if name.endswith("Conformance")} == {
        *("GateConformance", "PlannerConformance", "RetrieverConformance", "ReaderConformance", "CriticConformance"),
        *("LanguageModelConformance", "EncoderConformance", "MemoryConformance", "StoreConformance"),
        "DatasetConformance",
        "EndpointConformance",
    }
    assert all(hasattr(testing, name) for name in testing.__all__)
