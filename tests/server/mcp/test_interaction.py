"""MCP calls that talk to the user meanwhile: questions back, confirmations, progress, cancellation, and errors."""

from __future__ import annotations

import asyncio
import json

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult

from dragoman.server.mcp.tool_server import make_server

BOATS = "# Boats\n\nPeople under 16 may not hire the rowing boat.\n"


@pytest.fixture
def service(make_house):
    """A service whose agent asks for the age of who wants to hire a boat."""
    service = make_house()
    (hosted,) = service.agents.values()
    place = hosted.state / "more"
    place.mkdir(parents=True)
    (place / "boats.md").write_text(BOATS, encoding="utf-8")
    hosted.assistant.ingest([place / "boats.md"], source="DOCUMENTS")
    service.ready = True
    return service


def talk(service, conversation, *, answers=None, mode="auto"):
    """Run a conversation with the tools of a service; `answers` maps a word of a question to what the user does."""
    questions = []

    async def answer(context, params):
        questions.append(params.message)
        return next(result for word, result in answers.items() if word in params.message)

    async def who(context):
        return await service.caller(None), ""

    async def main():
        callback = {} if answers is None else {"elicitation_callback": answer}
        async with asyncio.timeout(60), Client(make_server(service, who), mode=mode, **callback) as client:
            return await conversation(client)

    return asyncio.run(main()), questions


async def until_cancelled(service):
    """Wait until the server has heard that its turn is cancelled: the client's word takes a moment to arrive."""
    async with asyncio.timeout(30):
        while not all(run.cancelled for run in service.turn_queue.runs):
            await asyncio.sleep(0.01)


def over_http(path, conversation, *, mode="auto", answer=None):
    """Run a conversation with the tools at a server's socket."""

    async def main():
        transport = httpx2.AsyncHTTPTransport(uds=path)
        callback = {} if answer is None else {"elicitation_callback": answer}
        async with (
            asyncio.timeout(60),
            httpx2.AsyncClient(transport=transport, timeout=60) as http,
            Client(streamable_http_client("http://localhost/mcp", http_client=http), mode=mode, **callback) as client,
        ):
            return await conversation(client)

    return asyncio.run(main())


def hire(client):
    return client.call_tool("ask", {"question": "Can I hire the rowing boat?"})


MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


@MODES
def test_a_missing_fact_is_asked_of_the_user_and_answers_the_question(service, mode):
    accepted = ElicitResult(action="accept", content={"answer": "I am 15"})
    reply, questions = talk(service, hire, answers={"How old": accepted}, mode=mode)
    assert len(questions) == 1 and "under 16" in questions[0]
    told = reply.structured_content
    assert told["text"].startswith("Got it: you are 15. No.") and told["text"] in reply.content[0].text
    history = service.hosted("").assistant.history(dialogue=told["dialogue"])
    assert [turn.text for turn in history[::2]] == ["Can I hire the rowing boat?", "I am 15"]


@MODES
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_without_an_answer_the_reply_is_the_question(service, mode, action):
    reply, questions = talk(service, hire, answers={"How old": ElicitResult(action=action)}, mode=mode)
    told = reply.structured_content
    assert len(questions) == 1 and told["text"].endswith("How old are you?")
    assert len(service.hosted("").assistant.history(dialogue=told["dialogue"])) == 2  # asked once


def test_a_client_that_cannot_ask_goes_on_in_the_dialogue(service):
    async def conversation(client):
        first = (await hire(client)).structured_content
        assert first["text"].endswith("How old are you?")
        return await client.call_tool("ask", {"question": "I am 15", "dialogue": first["dialogue"]})

    reply, _ = talk(service, conversation)
    assert "No. People under 16" in reply.structured_content["text"]


@MODES
@pytest.mark.parametrize(
    ("result", "left"),
    [
        (ElicitResult(action="accept", content={"confirm": True}), 0),
        (ElicitResult(action="accept", content={"confirm": False}), 1),
        (ElicitResult(action="decline"), 1),
    ],
)
def test_everything_is_deleted_only_after_the_user_agrees(service, mode, result, left):
    async def conversation(client):
        await client.call_tool("remember", {"fact": "My dog is called Rex."})
        gone = await client.call_tool("forget", {"everything": True})
        return gone, (await client.call_tool("recall", {})).structured_content["facts"]

    (gone, facts), questions = talk(service, conversation, answers={"This deletes 1 fact": result}, mode=mode)
    assert len(questions) == 1 and len(facts) == left and gone.is_error == bool(left)
    if left:
        assert gone.content[0].text.startswith("unconfirmed: This deletes 1 fact")
    else:
        receipt = gone.structured_content["receipt"]
        assert receipt and all(len(line["sha256"]) == 64 for line in receipt)
        assert receipt[0]["sha256"][:16] in gone.content[0].text


@MODES
@pytest.mark.trust
def test_a_model_that_confirms_by_itself_deletes_nothing_where_the_user_can_be_asked(service, mode):
    """The client's model may obey a document that it has read: what it says of the user's agreement is no agreement."""

    async def conversation(client):
        await client.call_tool("remember", {"fact": "My dog is called Rex."})
        gone = [
            await client.call_tool("forget", {**what, "confirm": True})
            for what in ({"everything": True}, {"fact": "everything about me"})
        ]
        return gone, (await client.call_tool("recall", {})).structured_content["facts"]

    refused = ElicitResult(action="decline")
    (gone, facts), questions = talk(service, conversation, answers={"This deletes 1 fact": refused}, mode=mode)
    assert len(questions) == 2 and len(facts) == 1 and all(each.is_error for each in gone)


@MODES
def test_progress_is_told_step_by_step(service, mode):
    steps = []

    async def told(progress, total, message):
        steps.append((progress, message))

    async def conversation(client):
        question = {"question": "What does a day ticket cost?"}
        return await client.call_tool("ask", question, progress_callback=told)

    reply, _ = talk(service, conversation, mode=mode)
    assert "6 francs" in reply.structured_content["text"]
    assert [place for place, _ in steps] == list(range(1, len(steps) + 1))
    assert "decided whether to search" in [message for _, message in steps]


@MODES
def test_a_call_that_is_cancelled_ends_its_turn(make_house, held_reader, mode):
    held_reader.held = True
    service = make_house(reader=held_reader)
    service.ready = True

    async def conversation(client):
        call = asyncio.create_task(client.call_tool("ask", {"question": "Hello", "dialogue": "c"}))
        assert await asyncio.to_thread(held_reader.begun.wait, 30)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until_cancelled(service)
        held_reader.go.set()
        assert await asyncio.to_thread(held_reader.stopped.wait, 30)

    talk(service, conversation, mode=mode)
    assert service.hosted("").assistant.history(dialogue="c") == ()


@MODES
def test_progress_is_told_over_http_too(server, mode):
    steps = []

    async def told(progress, total, message):
        steps.append(message)

    def conversation(client):
        return client.call_tool("ask", {"question": "What does a day ticket cost?"}, progress_callback=told)

    assert "6 francs" in over_http(server.path, conversation, mode=mode).structured_content["text"]
    assert "decided whether to search" in steps


def test_a_missing_fact_is_asked_over_http(service, serve):
    async def answer(context, params):
        return ElicitResult(action="accept", content={"answer": "I am 15"})

    path = serve(service).path
    # Older protocols have no way to ask without a session, so the reply is the question.
    older = over_http(path, hire, answer=answer, mode="legacy").structured_content
    assert older["text"].endswith("How old are you?")
    assert "No. People under 16" in over_http(path, hire, answer=answer).structured_content["text"]


def test_a_client_that_leaves_ends_its_turn(make_house, serve, held_reader):
    held_reader.held = True
    service = make_house(reader=held_reader)

    async def conversation(client):
        call = asyncio.create_task(client.call_tool("ask", {"question": "Hello", "dialogue": "c"}))
        assert await asyncio.to_thread(held_reader.begun.wait, 30)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until_cancelled(service)
        held_reader.go.set()
        assert await asyncio.to_thread(held_reader.stopped.wait, 30)

    over_http(serve(service).path, conversation)
    assert service.hosted("").assistant.history(dialogue="c") == ()


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("search", {"query": "x", "k": 500}, "invalid: k: Input should be less than or equal to 50."),
        ("search", {}, "invalid: query: Field required."),
        ("search", {"query": "x", "source": "NOWHERE"}, "not-found: There is no source 'NOWHERE'."),
        ("forget", {"fact": "x", "everything": True}, "bad-request: Say what to forget, or everything."),
        ("ask", {"question": "   "}, "bad-request:"),
    ],
)
def test_errors_are_words_with_a_code(service, tool, arguments, words):
    failed, _ = talk(service, lambda client: client.call_tool(tool, arguments))
    text = failed.content[0].text
    assert failed.is_error and text.startswith(words) and "pydantic" not in text


@pytest.mark.parametrize(
    ("address", "words"),
    [("dragoman://agent/secrets", "Read memory or sources"), ("dragoman://passages/none", "no such passage")],
)
def test_resources_that_are_not_there_are_told(service, address, words):
    async def conversation(client):
        with pytest.raises(MCPError, match=words):
            await client.read_resource(address)

    talk(service, conversation)


def test_prompts_name_tools_that_there_are(service):
    async def conversation(client):
        prompts = (await client.list_prompts()).prompts
        texts = {}
        for prompt in prompts:
            arguments = {argument.name: "boats" for argument in prompt.arguments or ()}
            texts[prompt.name] = (await client.get_prompt(prompt.name, arguments)).messages[0].content.text
        return texts, {tool.name for tool in (await client.list_tools()).tools}

    (texts, tools), _ = talk(service, conversation)
    assert list(texts) == ["ask_with_sources", "about_me", "forget_about"]
    for text in texts.values():
        assert set(text.split("`")[1::2]) <= tools
    assert "boats" in texts["ask_with_sources"] and "boats" in texts["forget_about"]


def test_remember_and_forget_call_a_fact_by_the_same_name(service):
    async def conversation(client):
        return {tool.name: set(tool.input_schema["properties"]) for tool in (await client.list_tools()).tools}

    names, _ = talk(service, conversation)
    assert names["remember"] == {"fact"} and names["forget"] == {"fact", "everything", "confirm"}
    assert json.dumps(sorted(names)) == '["ask", "forget", "recall", "remember", "search"]'


def test_a_turn_is_controlled_by_the_arguments_of_ask(service):
    async def conversation(client):
        ticket = {"question": "What does a day ticket cost?"}
        unsearched = await client.call_tool("ask", {**ticket, "retrieve": "never"})
        narrow = await client.call_tool("ask", {**ticket, "sources": ["NOTES"]})
        await client.call_tool("remember", {"fact": "I live in Bern."})
        home = {"question": "Where do I live?"}
        read = await client.call_tool("ask", {**home, "memory": "read"})
        off = await client.call_tool("ask", {**home, "memory": "off"})
        await client.call_tool("ask", {"question": "My dog is called Rex.", "memory": "read"})
        facts = (await client.call_tool("recall", {})).structured_content["facts"]
        unknown = await client.call_tool("ask", {**ticket, "sources": ["CELLAR"]})
        wrong = await client.call_tool("ask", {**ticket, "memory": "write"})
        return unsearched, narrow, read, off, facts, unknown, wrong

    (unsearched, narrow, read, off, facts, unknown, wrong), _ = talk(service, conversation)
    assert unsearched.structured_content["gate"]["reason"] == "asked not to search"
    assert {row["source"] for row in narrow.structured_content["sources"]} <= {"NOTES"}
    assert "Bern" in read.structured_content["text"] and "Bern" not in off.content[0].text
    assert [fact["text"] for fact in facts] == ["I live in Bern."]
    assert unknown.is_error and "DOCUMENTS" in unknown.content[0].text
    assert wrong.is_error and wrong.content[0].text.startswith("invalid: memory:")


@MODES
def test_a_private_turn_is_not_kept_and_asks_back_in_its_reply(service, mode):
    async def conversation(client):
        first = await client.call_tool("ask", {"question": "Can I hire the rowing boat?", "keep": False})
        again = {"question": "I am 15", "keep": False, "dialogue": first.structured_content["dialogue"]}
        return first, await client.call_tool("ask", again)

    accepted = ElicitResult(action="accept", content={"answer": "I am 15"})
    (first, second), questions = talk(service, conversation, answers={"How old": accepted}, mode=mode)
    assert questions == [] and first.structured_content["text"].endswith("How old are you?")
    assert "No: you told me that you are 15. People under 16" in second.structured_content["text"]
    assert service.hosted("").assistant.dialogues() == ()


def test_results_link_to_their_passages(service):
    async def conversation(client):
        reply = await client.call_tool("ask", {"question": "What does a day ticket cost?"})
        found = await client.call_tool("search", {"query": "rowing boat", "k": 1})
        links = [block for block in (*reply.content, *found.content) if block.type == "resource_link"]
        return [json.loads((await client.read_resource(link.uri)).contents[0].text)["text"] for link in links]

    texts, _ = talk(service, conversation)
    assert "6 francs" in texts[0] and "rowing boat" in texts[-1]


def test_facts_are_shown_without_the_words_that_find_them(service):
    async def conversation(client):
        await client.call_tool("remember", {"fact": "I am allergic to nuts."})
        return await client.call_tool("search", {"query": "nuts", "source": "MEMORY", "k": 1})

    result, _ = talk(service, conversation)
    text, link = result.content
    (row,) = result.structured_content["passages"]
    assert text.text == f"- [MEMORY, relevance {row['relevance']:.2f}] I am allergic to nuts."
    assert row["title"] == "" and link.title == "I am allergic to nuts."


def test_a_fact_that_is_not_there_is_said_not_to_be_deleted(service):
    result, _ = talk(service, lambda client: client.call_tool("forget", {"fact": "I keep bees."}))
    assert result.content[0].text == "Nothing was deleted: no fact has this id or this text."
    assert result.structured_content["erased"] == 0


def test_tools_say_what_they_do_to_data(service):
    tools, _ = talk(service, lambda client: client.list_tools())
    assert not any("\n  " in tool.description for tool in tools.tools), "indented as in the code"
    hints = {tool.name: tool.annotations for tool in tools.tools}
    assert all(tool.title and tool.output_schema for tool in tools.tools)
    assert hints["recall"].read_only_hint and hints["search"].read_only_hint
    assert hints["forget"].destructive_hint and not hints["ask"].destructive_hint
    assert hints["remember"].idempotent_hint and not hints["ask"].idempotent_hint
