"""Slow, and imported by a fixture: the framework takes seconds to import."""

from importlib import import_module
from importlib.util import find_spec

import pytest

from dragoman.core.errors import ConfigError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("haystack") is None, reason="haystack-ai is not installed"),
]


@pytest.fixture
def adapters():
    return import_module("dragoman.integrations.haystack")


@pytest.fixture
def pipelines():
    return import_module("haystack").Pipeline


def test_documents_come_with_score_and_origin(adapters, pipelines, made):
    pipeline = pipelines()
    pipeline.add_component("retriever", adapters.DragomanRetriever(made.assistant, sources=["DOCUMENTS"], top_k=2))
    documents = pipeline.run({"retriever": {"query": "ferry"}})["retriever"]["documents"]
    assert [(found.id, found.content, found.score) for found in documents] == [
        ("d0", "Ferry number 0.", 1.0),
        ("d1", "Ferry number 1.", 0.5),
    ]
    assert documents[0].meta["origin"] == "ferries.md"


def test_the_agent_answers_in_a_pipeline(adapters, pipelines, made):
    pipeline = pipelines()
    pipeline.add_component("agent", adapters.DragomanAgent(made.assistant))
    messages = [adapters.ChatMessage.from_system("Be brief."), adapters.ChatMessage.from_user("the ferry?")]
    out = pipeline.run({"agent": {"messages": messages, "user": "ana"}})["agent"]
    assert out["replies"][0].text == "From d0 d1." and out["replies"][0].meta["plan"] == ["DOCUMENTS"]
    assert [found.id for found in out["documents"]] == ["d0", "d1"]
    assert made.reader.tasks[-1].context.scope.user == "ana"


def test_a_pipeline_with_an_agents_name_is_saved_and_loaded(adapters, pipelines, made):
    pipeline = pipelines()
    pipeline.add_component("retriever", adapters.DragomanRetriever("harbour", sources=["DOCUMENTS"], top_k=7))
    modules = [adapters.DragomanRetriever.__module__]
    again = pipelines.loads(pipeline.dumps(), allowed_modules=modules).get_component("retriever")
    assert (again.agent, again.sources, again.top_k) == ("harbour", ["DOCUMENTS"], 7)
    with pytest.raises(ConfigError, match="cannot be saved"):
        adapters.DragomanAgent(made.assistant).to_dict()
