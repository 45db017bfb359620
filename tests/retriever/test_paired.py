"""A parent and its child chosen together, over the relevance of any retriever."""

import pytest

from dragoman.core.errors import ConfigError
from dragoman.core.values import Context, Evidence, Passage, Request, Scope, Source
from dragoman.retriever import PairedRetriever, SparseRetriever
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing import RetrieverConformance, fill
from dragoman.text.analyse import analyse

PERSONA = Source("PERSONA", about="bot")
MEMORY = Source("MEMORY", about="user", private=True)
DOCUMENTS = Source("DOCUMENTS", needs=("PERSONA",))
SOURCES = (PERSONA, MEMORY, DOCUMENTS)
PLAN = ("PERSONA", "DOCUMENTS")
ROWS = {
    "p-desk": (PERSONA, None),
    "p-tea": (PERSONA, None),
    "m-late": (MEMORY, None),
    "d-open": (DOCUMENTS, "p-desk"),
    "d-tea": (DOCUMENTS, "p-tea"),
    "d-free": (DOCUMENTS, None),
}


class Told:
    """Gives rows the relevance that it is told, best first, and remembers what it was asked."""

    def __init__(self, **relevance):
        self.relevance = {name.replace("_", "-"): value for name, value in relevance.items()}
        self.asked = []

    def retrieve(self, requests):
        self.asked += requests
        return [self._found(request) for request in requests]

    def _found(self, request):
        found = []
        for source in request.sources:
            names = [name for name in self.relevance if ROWS[name][0] == source and name not in request.without]
            found += sorted((piece(name, self.relevance[name]) for name in names), key=lambda one: -one.relevance)[
                : request.k
            ]
        return found


def piece(name, relevance):
    source, parent = ROWS[name]
    return Evidence(Passage(name, source.name, name, parent=parent), relevance)


def ask(inner, *sources, k=1, plan=PLAN, given=(), without=frozenset(), **options):
    retriever = PairedRetriever(inner=inner, sources=SOURCES, **options)
    context = Context.of("When is tea?", scope=Scope("local", "ana"))
    [found] = retriever.retrieve([Request(context, sources, k=k, plan=plan, given=given, without=without)])
    return found


def test_a_pair_is_chosen_together_in_both_steps():
    """Alone p-tea wins; as pairs 0.5 x 0.9 = 0.45 beats 0.6 x 0.3 = 0.18."""
    inner = Told(p_desk=0.5, p_tea=0.6, d_open=0.9, d_tea=0.3)
    parents = ask(inner, PERSONA, k=2)
    assert [(one.id, round(one.scores["pair"], 2)) for one in parents] == [("p-desk", 0.45), ("p-tea", 0.18)]
    assert [one.relevance for one in parents] == [0.5, 0.6]
    (child,) = ask(inner, DOCUMENTS, given=(piece("p-tea", 0.6),))
    assert (child.id, round(child.scores["pair"], 2)) == ("d-open", 0.45)


def test_inner_is_asked_once_for_both_sides_and_not_narrowed_by_the_parent():
    inner = Told(p_desk=0.5, d_open=0.9)
    ask(inner, DOCUMENTS, k=2, given=(piece("p-tea", 0.6), piece("m-late", 0.9)), pool=7)
    (asked,) = inner.asked
    assert [source.name for source in asked.sources] == ["DOCUMENTS", "PERSONA"]
    assert [one.id for one in asked.given] == ["m-late"] and asked.k == 7


def test_without_a_pair_in_the_plan_inner_answers_as_it_is_asked():
    inner = Told(p_desk=0.5, p_tea=0.6, d_open=0.9)
    found = ask(inner, PERSONA, k=2, plan=("PERSONA",))
    assert [one.id for one in found] == ["p-tea", "p-desk"] and "pair" not in found[0].scores
    assert inner.asked[0].sources == (PERSONA,) and inner.asked[0].k == 2


def test_a_given_parent_that_is_not_found_again_counts_as_it_was():
    """0.6 x 0.3 = 0.18 with the parent that was given and dismissed since; 0.1 x 0.9 = 0.09 with the other."""
    inner = Told(p_desk=0.1, p_tea=0.6, d_open=0.9, d_tea=0.3)
    (child,) = ask(inner, DOCUMENTS, given=(piece("p-tea", 0.6),), without=frozenset({"p-tea"}))
    assert (child.id, round(child.scores["pair"], 2)) == ("d-tea", 0.18)


def test_a_child_whose_parent_was_not_found_comes_after_pairs_and_one_without_parent_keeps_its_own():
    inner = Told(p_desk=0.5, d_open=0.4, d_tea=0.9, d_free=0.1)
    found = ask(inner, DOCUMENTS, k=3)
    assert [(one.id, round(one.scores["pair"], 2)) for one in found] == [
        ("d-open", 0.2),
        ("d-free", 0.1),
        ("d-tea", 0.0),
    ]


def test_another_source_of_the_same_step_keeps_its_own_order():
    inner = Told(p_desk=0.5, p_tea=0.6, m_late=0.9, d_open=0.9, d_tea=0.3)
    found = ask(inner, PERSONA, MEMORY, plan=("PERSONA", "MEMORY", "DOCUMENTS"))
    assert [one.id for one in found] == ["m-late", "p-desk"]


def test_no_pool_is_refused():
    with pytest.raises(ConfigError, match="pool = 0"):
        PairedRetriever(inner=Told(), pool=0)


class TestPairedConformance(RetrieverConformance):
    @pytest.fixture
    def retriever(self):
        store = InMemoryStore(analyse=analyse)
        fill(store)
        return PairedRetriever(inner=SparseRetriever(store=store, analyse=analyse))
