import pytest

pytest.importorskip("langchain_core")

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate

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


def test_stop_words_cut_the_reply(made):
    assert ChatDragoman(assistant=made.assistant).invoke("the ferry?", stop=[" d1"]).text == "From d0"
