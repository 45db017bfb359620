"""The store against LangGraph's own in-memory store: the same operations have the same results."""

import pytest

pytest.importorskip("langgraph")

from hypothesis import given
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore as Reference

from dragoman.core.values import Scope
from dragoman.integrations.langgraph import DragomanStore
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing.stubs import StubEncoder


@pytest.fixture
def store():
    return DragomanStore(InMemoryStore(), StubEncoder())


def plain(result):
    """A result without times and scores."""
    if isinstance(result, list):
        return [plain(entry) for entry in result]
    return (result.namespace, result.key, result.value) if hasattr(result, "key") else result


_NAMES = st.lists(st.sampled_from(["users", "ana", "ben", "docs"]), min_size=1, max_size=3).map(tuple)
_VALUES = st.fixed_dictionaries({"text": st.sampled_from(["tea", "coffee"]), "score": st.integers(0, 3)})
_PUTS = st.builds(PutOp, _NAMES, st.sampled_from(["a", "b"]), st.none() | _VALUES)
_FILTERS = st.sampled_from([None, {"text": "tea"}, {"score": {"$gte": 2}}, {"score": {"$ne": 1}, "text": "tea"}])
_SEARCHES = st.builds(SearchOp, st.just(()) | _NAMES, _FILTERS, st.integers(1, 5), st.integers(0, 2))
_PATHS = st.lists(st.sampled_from(["users", "ana", "*"]), min_size=1, max_size=2).map(tuple)
_CONDITIONS = st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), _PATHS)
_LISTS = st.builds(
    ListNamespacesOp, st.none() | st.tuples(_CONDITIONS), st.none() | st.integers(1, 2), st.integers(1, 4)
)


@given(st.lists(_PUTS | _SEARCHES | _LISTS, max_size=12))
def test_results_are_those_of_the_reference(ops):
    ours, reference = DragomanStore(InMemoryStore(), StubEncoder()), Reference()
    for op in ops:
        (mine,), (theirs,) = ours.batch([op]), reference.batch([op])
        if isinstance(op, SearchOp):  # which of several equal items come first is nobody's promise
            everything = plain(reference.batch([op._replace(limit=1000, offset=0)])[0])
            assert len(mine) == len(theirs) and all(entry in everything for entry in plain(mine))
        elif isinstance(op, ListNamespacesOp):  # the reference lists namespaces that deletions left empty, too
            live = Reference()
            for item in reference.batch([SearchOp((), None, 1000, 0)])[0]:
                live.batch([PutOp(item.namespace, item.key, item.value)])
            assert mine == sorted(mine) == live.batch([op])[0]
        else:
            assert plain(mine) == plain(theirs)


def test_items_keep_their_creation_and_change_their_update(store):
    store.put(("users",), "ana", {"likes": "tea"})
    first = store.get(("users",), "ana")
    store.put(("users",), "ana", {"likes": "coffee"})
    second = store.get(("users",), "ana")
    assert second.value == {"likes": "coffee"} and second.created_at == first.created_at <= second.updated_at
    store.delete(("users",), "ana")
    assert store.get(("users",), "ana") is None


def test_search_by_words_finds_the_nearest_first(store):
    store.put(("notes",), "a", {"text": "the boat leaves at nine"})
    store.put(("notes",), "b", {"text": "dogs on the beach"})
    store.put(("notes",), "c", {"text": "dogs on the beach"}, index=False)
    found = store.search(("notes",), query="dogs beach", limit=3)
    assert [item.key for item in found] == ["b", "a", "c"]
    assert found[0].score > found[1].score and found[2].score is None


def test_search_reads_the_indexed_fields_alone(store):
    store.put(("n",), "a", {"title": "tea", "body": "coffee"}, index=["title"])
    store.put(("n",), "b", {"title": "coffee", "body": "tea"}, index=["title"])
    assert [item.key for item in store.search(("n",), query="tea")] == ["a", "b"]


def test_scopes_are_kept_apart_and_forgotten():
    rows = InMemoryStore()
    ana, ben = (DragomanStore(rows, StubEncoder(), scope=Scope("local", name)) for name in ("ana", "ben"))
    ana.put(("x",), "k", {"text": "secret"})
    assert ben.search(()) == [] and ben.get(("x",), "k") is None
    rows.forget(Scope("local", "ana"))
    assert ana.search(()) == []


def test_unknown_operators_are_refused(store):
    store.put(("n",), "a", {"score": 1})
    with pytest.raises(ValueError, match=r"\$near"):
        store.search(("n",), filter={"score": {"$near": 1}})


def test_a_graph_uses_it(store):
    def remember(state, *, store):
        store.put(("seen",), state["text"], {"text": state["text"]})
        return {"text": f"{len(store.search(('seen',)))} seen"}

    graph = StateGraph(dict)
    graph.add_node("remember", remember)
    graph.add_edge(START, "remember")
    graph.add_edge("remember", END)
    compiled = graph.compile(store=store)
    assert compiled.invoke({"text": "tea"}) == {"text": "1 seen"}


def test_asynchronous_calls_do_the_same(store, loop):
    async def both():
        await store.aput(("n",), "a", {"text": "tea"})
        return await store.aget(("n",), "a")

    assert loop.run_until_complete(both()).value == {"text": "tea"}
