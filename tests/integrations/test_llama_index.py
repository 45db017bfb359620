"""Slow, and imported by a fixture: the framework takes seconds to import."""

from importlib import import_module
from importlib.util import find_spec

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("llama_index") is None, reason="llama-index-core is not installed"),
]


@pytest.fixture
def adapters():
    return import_module("dragoman.integrations.llama_index")


def test_nodes_carry_text_score_and_origin(adapters, made):
    nodes = adapters.DragomanRetriever(made.assistant, sources=["DOCUMENTS"], k=2).retrieve("ferry")
    assert [(node.node.node_id, node.text, node.score) for node in nodes] == [
        ("d0", "Ferry number 0.", 1.0),
        ("d1", "Ferry number 1.", 0.5),
    ]
    assert nodes[0].metadata["origin"] == "ferries.md"


def test_the_engine_keeps_the_dialogue_until_it_is_reset(adapters, made):
    engine = adapters.DragomanChatEngine(made.assistant, user="ana")
    reply = engine.chat("the ferry?")
    assert (str(reply), [node.node.node_id for node in reply.source_nodes]) == ("From d0 d1.", ["d0", "d1"])
    engine.chat("thanks")
    assert [turn.text for turn in made.reader.tasks[-1].context.turns] == ["the ferry?", "From d0 d1.", "thanks"]
    assert [message.role for message in engine.chat_history] == ["user", "assistant"] * 2
    engine.reset()
    assert engine.chat_history == []


def test_a_given_history_replaces_the_engines(adapters, made):
    engine = adapters.DragomanChatEngine(made.assistant)
    engine.chat("hello")
    history = [
        adapters.ChatMessage(role="user", content="before"),
        adapters.ChatMessage(role="assistant", content="yes"),
    ]
    engine.chat("the ferry?", chat_history=history)
    assert [turn.text for turn in made.reader.tasks[-1].context.turns] == ["before", "yes", "the ferry?"]


def test_streamed_pieces_make_the_reply_and_bring_its_nodes(adapters, made):
    engine = adapters.DragomanChatEngine(made.assistant)
    response = engine.stream_chat("the ferry?")
    pieces = list(response.response_gen)
    assert len(pieces) > 1 and "".join(pieces) == "From d0 d1."
    assert [node.node.node_id for node in response.source_nodes] == ["d0", "d1"]
    assert engine.chat_history[-1].content == "From d0 d1."


def test_asynchronous_calls_do_the_same(adapters, made, loop):
    engine = adapters.DragomanChatEngine(made.assistant)

    async def both():
        reply = await engine.achat("the ferry?")
        streamed = await engine.astream_chat("the ferry?")
        return str(reply), "".join([piece async for piece in streamed.async_response_gen()])

    assert loop.run_until_complete(both()) == ("From d0 d1.", "From d0 d1.")
