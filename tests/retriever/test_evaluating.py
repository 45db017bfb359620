"""The evaluating retriever: what is judged on what, what stays, in which order, and how relevant."""

from __future__ import annotations

import logging

import pytest

from dragoman.core.errors import ConfigError
from dragoman.core.values import Context, Evidence, Passage, Request, Scope, Source
from dragoman.models.calibration import Logistic
from dragoman.models.part import Head
from dragoman.retriever import EvaluatingRetriever
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing import RetrieverConformance, StubRetriever, fill
from dragoman.testing.samples import ANA, CONTEXTS, DOCUMENTS, MEMORY, PERSONA, SHARED_PASSAGES
from dragoman.text.analyse import Analyser

TURN = CONTEXTS[1]
ROWS = {passage.id: passage for passage in SHARED_PASSAGES}
EXTRA = Passage("d-tea", "DOCUMENTS", "Tea is at four.", parent="p-tea")


def last_line(candidate):
    return candidate.text.splitlines()[-1]


class Judge:
    """A runtime that scores by text, whatever title stands above it, and remembers what it was asked."""

    def __init__(self, shape, scores=None):
        self.shape = shape
        self.asked = []
        self._scores = scores or {}

    def judge(self, asked):
        self.asked += asked
        return [[self._scores.get(last_line(one), 0.5) for one in judging.candidates] for judging in asked]


class Inner:
    """A retriever that finds what it was told, as relevant as it was told."""

    def __init__(self, told):
        self._told = told

    def retrieve(self, requests):
        return [[Evidence(ROWS[one], relevance) for one, relevance in self._told.items()] for _ in requests]


@pytest.fixture(scope="module")
def shape(make_unified):
    return make_unified().shape


@pytest.fixture
def store():
    store = InMemoryStore(analyse=Analyser())
    fill(store)
    store.put(ANA.shared, [EXTRA])
    return store


class TestConforms(RetrieverConformance):
    @pytest.fixture
    def retriever(self, make_unified, lend_unified):
        lend_unified(make_unified())
        store = InMemoryStore(analyse=Analyser())
        fill(store)
        return EvaluatingRetriever(part="lent", store=store)


def found(lend_unified, judge, store, *, sources=(DOCUMENTS,), heads=None, k=3, options=None, **fields):
    lend_unified(judge, heads=heads)
    retriever = EvaluatingRetriever(part="lent", store=store, **(options or {}))
    return retriever.retrieve([Request(TURN, sources, k, **fields)])[0]


def given_by(*ids):
    return tuple(Evidence(ROWS[one], 0.9) for one in ids)


def ids(evidence):
    return [piece.id for piece in evidence]


def on_what(judging):
    """Each candidate's text by that of the one it is judged on."""
    rows = judging.candidates
    return {last_line(row): None if row.parent is None else last_line(rows[row.parent]) for row in rows}


def test_best_k_by_expected_similarity_which_is_the_relevance(lend_unified, shape, store):
    judge = Judge(shape, {"The ferry leaves from pier two.": 0.9, "The museum opens at ten.": 0.8})
    pieces = found(lend_unified, judge, store, k=2)
    assert ids(pieces) == ["d-pier", "d-open"]
    assert [piece.relevance for piece in pieces] == pytest.approx([0.9, 0.8])
    assert pieces[0].scores == {"similarity": 0.9}


def test_the_inner_retrievers_relevance_may_count_too(lend_unified, shape, store):
    judge = Judge(shape, {"The ferry leaves from pier two.": 0.9, "A ferry ticket costs 34 francs.": 0.2})
    inner = Inner({"d-pier": 0.3, "d-price": 0.9})
    alone = found(lend_unified, judge, store, options={"inner": inner, "small": 0})
    assert ids(alone) == ["d-pier", "d-price"]
    mixed = found(lend_unified, judge, store, options={"inner": inner, "first": 0.75})
    assert ids(mixed) == ["d-price", "d-pier"]
    # odds of 0.2 are 1/4, of 0.9 are 9: (1/4)^(1/4) * 9^(3/4) = 3.674, and 3.674 / 4.674 = 0.786
    assert mixed[0].relevance == pytest.approx(0.786, abs=1e-3)
    assert mixed[0].scores == {"first": 0.9, "similarity": 0.2}
    only = found(lend_unified, judge, store, options={"inner": inner, "first": 1.0})
    assert [piece.relevance for piece in only] == pytest.approx([0.9, 0.3])


@pytest.mark.parametrize("options", [{"first": 0.5}, {"first": 1.5, "inner": StubRetriever(SHARED_PASSAGES)}])
def test_a_share_needs_an_inner_retriever_and_bounds(store, options):
    with pytest.raises(ConfigError, match=r"retriever\.evaluating: first"):
        EvaluatingRetriever(part="lent", store=store, **options)


def test_joint_sources_have_k_each_merged_by_relevance(lend_unified, shape, store):
    judge = Judge(shape, {"I drink black tea every morning.": 0.8, "The museum opens at ten.": 0.9})
    pieces = found(lend_unified, judge, store, sources=(PERSONA, DOCUMENTS), k=1)
    assert ids(pieces) == ["d-open", "p-tea"]


def test_only_children_of_the_given_evidence_stay(lend_unified, shape, store):
    assert ids(found(lend_unified, Judge(shape), store, given=given_by("p-tea"), k=9)) == ["d-tea"]
    everything = found(lend_unified, Judge(shape), store, given=given_by("p-tea"), k=9, options={"dependency": "off"})
    assert len(everything) == 5


def test_a_pair_is_chosen_together_in_both_steps(lend_unified, shape, store):
    # tea alone is the more similar parent; with the best child of each, 0.5 * 0.9 = 0.45 beats 0.6 * 0.3 = 0.18
    said = {"I look after the ferry desk.": 0.5, "I drink black tea every morning.": 0.6, "Tea is at four.": 0.3}
    judge = Judge(shape, said | {"The museum opens at ten.": 0.9, "A ferry ticket costs 34 francs.": 0.2})
    options = {"dependency": "pairs", "sources": (PERSONA, DOCUMENTS)}
    plan = ("PERSONA", "DOCUMENTS")
    parents = found(lend_unified, judge, store, sources=(PERSONA,), k=2, plan=plan, options=options)
    assert [(piece.id, round(piece.scores["pair"], 2)) for piece in parents] == [("p-desk", 0.45), ("p-tea", 0.18)]
    assert [piece.relevance for piece in parents] == pytest.approx([0.5, 0.6])
    (child,) = found(lend_unified, judge, store, k=1, plan=plan, given=given_by("p-tea"), options=options)
    assert (child.id, round(child.scores["pair"], 2)) == ("d-open", 0.45)


def test_a_parent_alone_in_its_plan_is_ranked_by_itself(lend_unified, shape, store):
    judge = Judge(shape, {"I look after the ferry desk.": 0.5, "I drink black tea every morning.": 0.6})
    options = {"dependency": "pairs", "sources": (PERSONA, DOCUMENTS)}
    pieces = found(lend_unified, judge, store, sources=(PERSONA,), k=2, plan=("PERSONA",), options=options)
    assert ids(pieces) == ["p-tea", "p-desk"]
    assert len(judge.asked[0].candidates) == 2


def test_parents_without_a_child_come_last_and_by_their_own_similarity(lend_unified, shape, store):
    store.put(ANA.shared, [Passage("p-fish", "PERSONA", "I fish."), Passage("p-sail", "PERSONA", "I sail.")])
    said = {
        "I look after the ferry desk.": 0.2,
        "I drink black tea every morning.": 0.1,
        "I fish.": 0.7,
        "I sail.": 0.9,
    }
    options = {"dependency": "pairs", "sources": (PERSONA, DOCUMENTS)}
    plan = ("PERSONA", "DOCUMENTS")
    pieces = found(lend_unified, Judge(shape, said), store, sources=(PERSONA,), k=3, plan=plan, options=options)
    assert [(piece.id, piece.scores["pair"]) for piece in pieces] == [("p-desk", 0.1), ("p-tea", 0.05), ("p-sail", 0.0)]


def test_pairs_of_one_source_leave_another_that_is_asked_with_it_alone(lend_unified, shape, store):
    store.put(ANA, [Passage("m-late", "MEMORY", "Ana is late.")])
    judge = Judge(shape, {"Ana is late.": 0.9})
    options = {"dependency": "pairs", "sources": (PERSONA, MEMORY, DOCUMENTS)}
    plan = ("PERSONA", "MEMORY", "DOCUMENTS")
    pieces = found(lend_unified, judge, store, sources=(PERSONA, MEMORY), k=1, plan=plan, options=options)
    assert {piece.id: piece.scores["pair"] for piece in pieces} == {"m-late": 0.9, "p-desk": 0.25}


def test_what_the_plan_asked_before_is_not_ahead_though_it_gave_nothing(lend_unified, shape, store):
    judge = Judge(shape, {"I look after the ferry desk.": 0.5, "I drink black tea every morning.": 0.6})
    options = {"dependency": "pairs", "sources": (PERSONA, DOCUMENTS)}
    plan = ("DOCUMENTS", "PERSONA")
    pieces = found(lend_unified, judge, store, sources=(PERSONA,), k=2, plan=plan, options=options)
    assert ids(pieces) == ["p-tea", "p-desk"]
    assert len(judge.asked[0].candidates) == 2


def test_one_that_is_parent_and_child_has_the_score_of_its_better_pair(lend_unified, shape, store):
    """0.5 * 0.2 with its parent, 0.5 * 0.8 with its child, whichever is offered first."""
    chain = {"a": ("A.", "b"), "b": ("B.", "c"), "c": ("C.", None)}
    said = {"A.": 0.8, "B.": 0.5, "C.": 0.2}
    for order in ("abc", "cba"):
        store = InMemoryStore(analyse=Analyser())
        store.put(ANA.shared, [Passage(one, "DOCUMENTS", chain[one][0], parent=chain[one][1]) for one in order])
        pieces = found(lend_unified, Judge(shape, said), store, options={"dependency": "pairs"})
        assert {piece.id: round(piece.scores["pair"], 9) for piece in pieces} == {"a": 0.4, "b": 0.4, "c": 0.1}


def test_children_ahead_in_a_private_source_are_the_users_own(lend_unified, shape, store):
    for scope, name in ((ANA, "Ana"), (Scope("local", "tom"), "Tom")):
        store.put(scope, [Passage(f"m-{name}-tea", "MEMORY", f"{name} takes tea.", parent="p-tea")])
    judge = Judge(shape)
    options = {"dependency": "pairs", "sources": (PERSONA, MEMORY)}
    found(lend_unified, judge, store, sources=(PERSONA,), plan=("PERSONA", "MEMORY"), options=options)
    assert on_what(judge.asked[0]) == {
        "I look after the ferry desk.": None,
        "I drink black tea every morning.": None,
        "Ana takes tea.": "I drink black tea every morning.",
    }


def test_filter_keeps_passages_without_a_parent_and_all_where_nothing_given_has_children(lend_unified, shape, store):
    free = Passage("d-free", "DOCUMENTS", "Open all day.")
    store.put(ANA.shared, [free])
    assert set(ids(found(lend_unified, Judge(shape), store, given=given_by("p-tea"), k=9))) == {"d-tea", "d-free"}
    memory = (Evidence(Passage("m-ana", "MEMORY", "A cat."), 0.9),)
    assert len(found(lend_unified, Judge(shape), store, given=memory, k=9)) == 6


def test_candidate_is_judged_on_its_parent_given_or_not(lend_unified, shape, store):
    judge = Judge(shape)
    found(lend_unified, judge, store, given=given_by("p-desk"), without=frozenset({"p-desk"}))
    assert on_what(judge.asked[0])["A ferry ticket costs 34 francs."] == "I look after the ferry desk."
    judge = Judge(shape)
    pieces = found(lend_unified, judge, store, k=9)  # the parents are read from the store, and are no evidence
    assert on_what(judge.asked[0])["Tea is at four."] == "I drink black tea every morning."
    assert {piece.source for piece in pieces} == {"DOCUMENTS"}


def test_plan_of_the_turn_is_handed_on_else_what_was_asked(lend_unified, shape, store):
    judge = Judge(shape)
    found(lend_unified, judge, store, sources=(PERSONA,), plan=("PERSONA", "DOCUMENTS"))
    found(lend_unified, judge, store, given=given_by("p-desk"))
    assert [judging.plan for judging in judge.asked] == [("PERSONA", "DOCUMENTS")] * 2


def test_inner_retriever_finds_the_candidates_of_a_large_source_and_its_relevance_is_kept(lend_unified, shape, store):
    inner = StubRetriever(SHARED_PASSAGES, relevance={"d-price": 0.7})
    options = {"inner": inner, "pool": 2, "small": 3}
    pieces = found(lend_unified, Judge(shape, {"A ferry ticket costs 34 francs.": 0.6}), store, k=1, options=options)
    assert inner.requests[0].k == 2
    assert [(piece.id, piece.scores) for piece in pieces] == [("d-price", {"first": 0.7, "similarity": 0.6})]


def test_calibration_of_a_source_makes_the_relevance_and_leaves_the_order(lend_unified, shape, store):
    judge = Judge(shape, {"The museum opens at ten.": 0.6})
    heads = {"similarity": Head(("similar",), {"DOCUMENTS": Logistic(1.0, 1.0)})}
    pieces = found(lend_unified, judge, store, heads=heads)
    assert pieces[0].id == "d-open"
    odds = 0.6 / 0.4 * 2.718281828
    assert pieces[0].relevance == pytest.approx(odds / (1 + odds))
    assert pieces[0].scores["similarity"] == 0.6


def test_source_that_the_part_does_not_know_keeps_the_inner_relevance(make_unified, lend_unified, store, caplog):
    judge = Judge(make_unified(sources=("PERSONA",)).shape)
    inner = StubRetriever(SHARED_PASSAGES, relevance={"d-price": 0.7})
    with caplog.at_level(logging.WARNING, "dragoman"):
        pieces = found(lend_unified, judge, store, options={"inner": inner, "small": 0}, k=1)
    assert [(piece.id, piece.relevance) for piece in pieces] == [("d-price", 0.7)]
    assert judge.asked[0].candidates == ()
    assert "retrain" in caplog.text


def test_private_rows_of_another_user_are_never_judged(lend_unified, shape, store):
    judge = Judge(shape)
    lend_unified(judge)
    context = Context.of("Who is called Ferry?", scope=Scope("local", "tom"))
    EvaluatingRetriever(part="lent", store=store).retrieve([Request(context, (MEMORY,))])
    assert list(on_what(judge.asked[0])) == ["Tom keeps a parrot called Ferry."]


def test_odd_options_are_refused(store):
    with pytest.raises(ConfigError):
        EvaluatingRetriever(part="lent", store=store, pool=0)


def test_source_without_passages_gives_nothing(lend_unified, shape, store):
    assert found(lend_unified, Judge(shape), store, sources=(Source("MEMORY", private=False),)) == []
