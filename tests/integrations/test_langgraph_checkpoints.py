"""The checkpointer: LangGraph's own conformance suite, and a graph that goes on after a restart."""

from typing import Annotated, TypedDict

import pytest

pytest.importorskip("langgraph")

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from dragoman.core.values import Scope
from dragoman.integrations.langgraph_checkpoints import DragomanSaver
from dragoman.stores.in_memory import InMemoryStore
from dragoman.stores.sqlite.store import SqliteStore


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_the_conformance_suite_passes(kind, tmp_path, loop):
    conformance = pytest.importorskip("langgraph.checkpoint.conformance")
    made = []

    @conformance.checkpointer_test(name=f"DragomanSaver on {kind}")
    async def saver():
        made.append(
            InMemoryStore() if kind == "memory" else SqliteStore(path=tmp_path / f"{len(made)}.db", analyse=str.split)
        )
        yield DragomanSaver(made[-1])
        made[-1].close()

    report = loop.run_until_complete(conformance.validate(saver))
    assert {name: result.failures for name, result in report.results.items() if result.failures} == {}
    passed = {name for name, result in report.results.items() if result.passed}
    assert passed == {"put", "put_writes", "get_tuple", "list", "delete_thread", "delete_for_runs", "copy_thread"}


class State(TypedDict):
    said: Annotated[list[str], lambda before, after: before + after]


def ask(state: State) -> State:
    return {"said": [f"answer: {interrupt('Which day?')}"]}


def graph(store):
    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    return builder.compile(checkpointer=DragomanSaver(store, scope=Scope("local", "ana")))


def test_an_interrupted_graph_goes_on_after_a_restart(tmp_path):
    thread = {"configurable": {"thread_id": "1"}}
    store = SqliteStore(path=tmp_path / "a.db", analyse=str.split)
    assert graph(store).invoke({"said": ["hello"]}, thread)["__interrupt__"][0].value == "Which day?"
    store.close()
    store = SqliteStore(path=tmp_path / "a.db", analyse=str.split)
    assert graph(store).invoke(Command(resume="Monday"), thread)["said"] == ["hello", "answer: Monday"]
    store.close()


def test_another_users_threads_are_not_seen_and_forgetting_erases_them(tmp_path):
    thread = {"configurable": {"thread_id": "1"}}
    store = SqliteStore(path=tmp_path / "a.db", analyse=str.split)
    graph(store).invoke({"said": ["the secret word"]}, thread)
    assert DragomanSaver(store, scope=Scope("local", "ben")).get_tuple(thread) is None
    store.forget(Scope("local", "ana"))
    assert DragomanSaver(store, scope=Scope("local", "ana")).get_tuple(thread) is None
    store.close()
