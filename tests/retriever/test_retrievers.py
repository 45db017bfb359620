"""What every retriever keeps to: scope, k, without, given, order and bounds."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.core.registry import retrievers
from dragoman.core.values import Context, Evidence, Passage, Request, Scope, Source
from dragoman.retriever import DenseRetriever, HybridRetriever, SparseRetriever
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import analyse

ANA, TOM = Scope("harbour", "ana"), Scope("harbour", "tom")
PERSONA = Source("PERSONA", about="bot")
DOCUMENTS = Source("DOCUMENTS", needs=("PERSONA",))
MEMORY = Source("MEMORY", about="user", private=True)
KINDS = ("sparse", "tfidf", "dense", "hybrid", "fusion")


def build(kind, store, encoder, **options):
    if kind in ("sparse", "tfidf"):
        weighting = "tfidf" if kind == "tfidf" else "bm25"
        return SparseRetriever(store=store, analyse=analyse, weighting=weighting, **options)
    if kind == "dense":
        return DenseRetriever(store=store, encoder=encoder, analyse=analyse, **options)
    order = "fusion" if kind == "fusion" else "relevance"
    return HybridRetriever(store=store, encoder=encoder, analyse=analyse, order=order, **options)


def ids(evidence):
    return [piece.id for piece in evidence]


def request(*texts, sources=(DOCUMENTS,), scope=ANA, **fields):
    return Request(Context.of(*texts, scope=scope), sources, **fields)


def evidence_of(store, key):
    return Evidence(store.get(ANA.shared, [key])[0], 0.9)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def test_the_registry_holds_the_four_retrievers():
    names = {"retriever.sparse.v1", "retriever.dense.v1", "retriever.hybrid.v1", "retriever.prompted.v1"}
    assert names <= set(retrievers.names())


def test_the_passage_that_answers_comes_first(kind, store, encoder):
    [found] = build(kind, store, encoder).retrieve([request("What does the museum cost?", k=2)])
    assert ids(found)[0] == "d-museum"


def test_at_most_k_come_from_a_source(kind, store, encoder):
    [found] = build(kind, store, encoder).retrieve([request("How many francs does it cost?", k=1)])
    assert len(found) == 1


def test_what_is_excluded_does_not_come_back_and_the_next_does(kind, store, encoder):
    retriever = build(kind, store, encoder)
    [first] = retriever.retrieve([request("How many francs does the museum cost?", k=1)])
    [second] = retriever.retrieve(
        [request("How many francs does the museum cost?", k=1, without=frozenset(ids(first)))]
    )
    assert len(second) == 1
    assert ids(second) != ids(first)


def test_an_exhausted_source_brings_nothing(kind, store, encoder):
    everything = frozenset({"d-fare", "d-dog", "d-tea", "d-museum"})
    assert build(kind, store, encoder).retrieve([request("What does the museum cost?", without=everything)]) == [[]]


def test_a_private_source_answers_its_own_user_alone(kind, store, encoder):
    asked = [
        request("What is my dog called?", sources=(MEMORY,), scope=scope) for scope in (ANA, TOM, Scope("other", "ana"))
    ]
    assert [ids(found) for found in build(kind, store, encoder).retrieve(asked)] == [["m-ana"], ["m-tom"], []]


def test_the_sources_of_a_step_are_searched_jointly(kind, store, encoder):
    [found] = build(kind, store, encoder).retrieve(
        [request("Is the ferry good for dogs?", sources=(PERSONA, DOCUMENTS), k=1)]
    )
    assert {piece.source for piece in found} == {"PERSONA", "DOCUMENTS"}
    assert found[0].relevance >= found[1].relevance


def test_a_batch_answers_as_single_requests_do(kind, store, encoder):
    retriever = build(kind, store, encoder)
    asked = [request("What does the museum cost?"), request("Tea?", sources=(PERSONA, DOCUMENTS)), request("museum")]
    assert retriever.retrieve([*asked, asked[0]]) == [
        *(retriever.retrieve([one])[0] for one in asked),
        retriever.retrieve(asked)[0],
    ]


def test_no_requests_and_no_sources_are_nothing(kind, store, encoder):
    assert build(kind, store, encoder).retrieve([]) == []
    assert build(kind, store, encoder).retrieve([request("museum", sources=())]) == [[]]


def test_an_empty_source_brings_nothing(kind, encoder):
    assert build(kind, InMemoryStore(analyse=analyse), encoder).retrieve([request("museum")]) == [[]]


def test_a_follow_up_is_searched_with_its_topic(kind, store, encoder):
    asked = request("Where is the museum?", "On the square.", "And what does it cost?", k=1)
    assert ids(build(kind, store, encoder).retrieve([asked])[0]) == ["d-museum"]


def test_filter_keeps_children_of_the_given_and_rows_without_a_parent(kind, store, encoder):
    asked = request("How many francs does it cost?", given=(evidence_of(store, "p-tea"),), k=4)
    [found] = build(kind, store, encoder, dependency="filter").retrieve([asked])
    assert set(ids(found)) == {"d-tea", "d-museum"}


def test_filter_lets_all_through_where_the_given_has_no_children(kind, store, encoder):
    childless = Evidence(Passage("p-none", "PERSONA", "I snore."), 0.9)
    [found] = build(kind, store, encoder, dependency="filter").retrieve(
        [request("francs cost", given=(childless,), k=4)]
    )
    assert {"d-fare", "d-tea", "d-museum"} <= set(ids(found))


def test_filter_ignores_evidence_of_sources_that_are_not_needed(kind, store, encoder):
    asked = request("francs cost", sources=(Source("DOCUMENTS"),), given=(evidence_of(store, "p-tea"),), k=4)
    [found] = build(kind, store, encoder, dependency="filter").retrieve([asked])
    assert "d-fare" in ids(found)


def test_prefer_moves_children_up_and_excludes_nothing(kind, store, encoder):
    text = "How many francs?"
    [plain] = build(kind, store, encoder, dependency="off").retrieve([request(text, k=4)])
    for parent, child in (("p-tea", "d-tea"), ("p-ferry", "d-fare")):
        asked = request(text, given=(evidence_of(store, parent),), k=4)
        [found] = build(kind, store, encoder).retrieve([asked])
        assert set(ids(found)) == set(ids(plain))
        assert ids(found).index(child) <= ids(plain).index(child)


def test_prefer_decides_between_equals(encoder):
    store = InMemoryStore(analyse=analyse)
    rows = [Passage(f"d{i}", "DOCUMENTS", "A ticket costs 5 francs.", parent=f"p{i}") for i in range(3)]
    store.put(ANA.shared, rows, encoder.encode([row.indexed for row in rows]))
    given = Evidence(Passage("p2", "PERSONA", "I keep the desk."), 0.9)
    for kind in KINDS:
        [found] = build(kind, store, encoder).retrieve([request("What does a ticket cost?", given=(given,), k=3)])
        assert ids(found)[0] == "d2"
        assert found[0].relevance == pytest.approx(found[1].relevance)  # the calibrated number stays


def test_query_joins_the_given_text_to_the_question(kind, store, encoder):
    asked = request("What would you bring me?", given=(evidence_of(store, "p-tea"),), k=1)
    [found] = build(kind, store, encoder, dependency="query").retrieve([asked])
    assert ids(found) == ["d-tea"]


def test_the_last_turn_alone_carries_no_topic(kind, store, encoder):
    asked = request("Where is the museum?", "On the square.", "And what does it cost?", k=1)
    alone = request("And what does it cost?", k=1)
    found, wanted = build(kind, store, encoder, query="last").retrieve([asked, alone])
    assert found == wanted


def test_the_history_is_searched_as_a_whole(kind, store, encoder):
    asked = request("I would like to see the museum.", "Good.", "So how many?", k=1)
    assert ids(build(kind, store, encoder, query="history").retrieve([asked])[0]) == ["d-museum"]


def test_sparse_finds_nothing_for_a_query_without_words(store, encoder):
    assert build("sparse", store, encoder).retrieve([request("Who are you?")]) == [[]]


def test_dense_finds_what_is_said_in_other_words(store, encoder):
    [found] = build("dense", store, encoder).retrieve([request("Which animal may sail?", k=2)])
    assert ids(found)[0] == "d-dog"


def test_hybrid_judges_rows_without_a_vector_too(store, encoder):
    store.put(ANA.shared, [Passage("d-late", "DOCUMENTS", "The zeppelin costs 90 francs.")])
    [found] = build("hybrid", store, encoder).retrieve([request("What does the zeppelin cost?", k=1)])
    assert ids(found) == ["d-late"]
    assert "cosine" in found[0].scores


def test_hybrid_is_ordered_by_relevance(store, encoder):
    [found] = build("hybrid", store, encoder, dependency="off").retrieve([request("What does the museum cost?", k=4)])
    assert [piece.relevance for piece in found] == sorted((piece.relevance for piece in found), reverse=True)


def test_an_unanswerable_question_is_less_relevant_than_an_answerable_one(kind, store, encoder):
    known, unknown = build(kind, store, encoder).retrieve(
        [request("What does the museum cost?"), request("Who won the chess championship at the museum in 1987?")]
    )
    assert known[0].relevance > max((piece.relevance for piece in unknown), default=0.0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=40), min_size=1, max_size=3), k=st.integers(1, 5))
def test_relevance_is_a_probability_whatever_is_asked(store, encoder, texts, k):
    for kind in KINDS:
        [found] = build(kind, store, encoder).retrieve([request(*texts, sources=(PERSONA, DOCUMENTS, MEMORY), k=k)])
        assert all(0.0 <= piece.relevance <= 1.0 for piece in found)
        assert len(set(ids(found))) == len(found)
        assert all(sum(piece.source == name for piece in found) <= k for name in ("PERSONA", "DOCUMENTS", "MEMORY"))
