"""What a unified model is given to judge: whole small sources, the best of large ones, children after their parents."""

from __future__ import annotations

import pytest

from dragoman.core.values import Passage, Request
from dragoman.models.unified.candidates import candidates, find_candidates, parents, parents_first, passage_text
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing import StubRetriever, fill
from dragoman.testing.samples import ANA, CONTEXTS, DOCUMENTS, MEMORY, PERSONA, SHARED_PASSAGES
from dragoman.text.analyse import Analyser

REQUEST = Request(CONTEXTS[1], (PERSONA, DOCUMENTS), k=1)


@pytest.fixture
def store():
    store = InMemoryStore(analyse=Analyser())
    fill(store)
    return store


def ids(evidence):
    return [piece.id for piece in evidence]


def test_small_sources_are_offered_whole_without_what_is_left_out(store):
    request = Request(CONTEXTS[1], (PERSONA, DOCUMENTS), without=frozenset({"d-pier"}))
    [found] = find_candidates([request], store=store, inner=None, pool=1, small=9)
    assert ids(found) == ["p-desk", "p-tea", "d-price", "d-time", "d-open"]


def test_of_large_sources_the_inner_retrievers_best(store):
    inner = StubRetriever(SHARED_PASSAGES)
    [found] = find_candidates([REQUEST], store=store, inner=inner, pool=2, small=2)
    assert ids(found) == ["p-desk", "p-tea", "d-price", "d-pier"]
    assert found[2].scores == {"first": 1.0}


def test_without_an_inner_retriever_what_is_left_out_is_told_once(store, caplog):
    for _ in range(2):
        [found] = find_candidates([REQUEST], store=store, inner=None, pool=1, small=3)
        assert ids(found) == ["p-desk", "p-tea", "d-price", "d-pier", "d-time"]
    assert [record.message for record in caplog.records] == [
        "Of DOCUMENTS only the first 3 passages are judged: set an inner retriever."
    ]


def test_without_a_store_all_comes_from_the_inner_retriever():
    inner = StubRetriever(SHARED_PASSAGES)
    [found] = find_candidates([REQUEST], store=None, inner=inner, pool=1, small=9)
    assert ids(found) == ["p-desk", "d-price"]


def test_private_sources_are_those_of_the_asking_user(store):
    [found] = find_candidates([Request(CONTEXTS[2], (MEMORY,))], store=store, inner=None, pool=9, small=9)
    assert ids(found) == ["m-tom"]


def test_children_stand_after_their_parents_and_on_them():
    rows = [
        Passage("c", "D", "grandchild", parent="b"),
        Passage("b", "D", "child", parent="a"),
        Passage("a", "P", "root"),
    ]
    found = parents_first([*rows, rows[0]])
    assert [row.id for row in found] == ["a", "b", "c"]
    assert [one.parent for one in candidates(found)] == [None, 0, 1]


def test_parent_that_is_not_there_and_parents_in_a_circle_leave_candidates_on_the_trunk():
    assert [one.parent for one in candidates(parents_first([Passage("b", "D", "x", parent="gone")]))] == [None]
    circle = parents_first([Passage("a", "D", "x", parent="b"), Passage("b", "D", "y", parent="a")])
    assert sorted(row.id for row in circle) == ["a", "b"]
    assert len(candidates(circle)) == 2


def test_parents_are_those_given_else_the_stores(store):
    rows = store.get(ANA.shared, ["d-price", "d-open"])
    given = {"p-desk": Passage("p-desk", "PERSONA", "as given")}
    assert [row.text for row in parents(rows, given, REQUEST, store)] == ["as given"]
    assert [row.text for row in parents(rows, {}, REQUEST, store)] == ["I look after the ferry desk."]
    assert parents(rows, {}, REQUEST, None) == []


def test_a_passage_is_said_under_its_title_and_headings_where_it_has_any():
    assert passage_text(Passage("x", "D", "At nine.", title="Ferry", headings=("Times",))) == "Ferry > Times\nAt nine."
    assert passage_text(Passage("x", "D", "At nine.")) == "At nine."
    assert [one.text for one in candidates([Passage("x", "D", "At nine.", title="Ferry")])] == ["Ferry\nAt nine."]
