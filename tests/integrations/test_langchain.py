from dataclasses import replace

import pytest

pytest.importorskip("langchain_core")

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate

from dragoman.core.values import Usage
from dragoman.integrations.langchain import ChatDragoman, DragomanRetriever


def test_documents_carry_where_they_come_from(made):
    retriever = DragomanRetriever(assistant=made.assistant, sources=("DOCUMENTS",), k=2)
    first, second = retriever.invoke("ferry")
    assert (first.id, first.page_content) == ("d0", "Ferry number 0.")
    assert first.metadata == {"source": "DOCUMENTS", "title": "Ferries", "origin": "ferries.md", "relevance": 1.0}
    assert second.metadata["relevance"] == pytest.approx(0.5)
    assert len(retriever.invoke("ferry", k=1)) == 1


def test_the_agent_works_in_a_chain(made):
    chain = (
        ChatPromptTemplate.from_messages([("human", "{question}")])
        | ChatDragoman(assistant=made.assistant)
        | StrOutputParser()
    )
    assert chain.invoke({"question": "the ferry?"}) == "From d0 d1."


def test_messages_before_are_the_dialogue(made):
    model = ChatDragoman(assistant=made.assistant, user="ana")
    reply = model.invoke(
        [SystemMessage("Be brief."), HumanMessage("hello"), AIMessage("hi"), HumanMessage("the ferry?")]
    )
    context = made.reader.tasks[-1].context
    assert [turn.text for turn in context.turns] == ["hello", "hi", "the ferry?"]
    assert context.scope.user == "ana"
    assert reply.response_metadata["plan"] == ["DOCUMENTS"]
    assert [hit["id"] for hit in reply.response_metadata["evidence"]] == ["d0", "d1"]


def test_streamed_pieces_make_the_reply(made):
    chunks = list(ChatDragoman(assistant=made.assistant).stream("the ferry?"))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert len(chunks) > 2 and whole.text == "From d0 d1."
    assert whole.response_metadata["plan"] == ["DOCUMENTS"]


@pytest.mark.parametrize("stop", [" d1", "0 d", "d0 d1."])
def test_stop_words_cut_the_reply_in_streams_too(made, stop):
    model = ChatDragoman(assistant=made.assistant)
    expected = "From d0 d1.".partition(stop)[0]
    assert model.invoke("the ferry?", stop=[stop]).text == expected
    assert "".join(chunk.text for chunk in model.stream("the ferry?", stop=[stop])) == expected


def test_a_reply_tells_its_tokens_and_its_agent(made, monkeypatch):
    spent, one = Usage(100, 20, 1, cached_tokens=60, reasoning_tokens=5), made.reader._one
    monkeypatch.setattr(made.reader, "_one", lambda task: replace(one(task), usage=spent))
    model = ChatDragoman(assistant=made.assistant)
    whole, *chunks = model.stream("the ferry?")
    for chunk in chunks:
        whole += chunk
    for message in (model.invoke("the ferry?"), whole):
        usage = message.usage_metadata
        assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (100, 25, 125)
        assert (usage["input_token_details"]["cache_read"], usage["output_token_details"]["reasoning"]) == (60, 5)
        assert message.response_metadata["model_name"] == made.assistant.name
    assert model._get_ls_params()["ls_model_name"] == made.assistant.name
