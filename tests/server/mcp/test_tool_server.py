"""The MCP server, driven by the official client: over real standard streams, and over HTTP beside the API."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from dragoman.server.access.keys import create
from dragoman.server.access.sqlite_ledger import SqliteLedger

TOOLS = ("ask", "recall", "remember", "forget", "search")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("mcp-home")


def command(folder, home, *arguments, **environment):
    given = {"DRAGOMAN_HOME": str(home), "PYTHONWARNINGS": "ignore", **environment}
    given |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "dragoman", "mcp", str(folder), *arguments], env=given
    )


def with_client(server, talk):
    async def main():
        async with asyncio.timeout(120), Client(server) as client:
            return await talk(client)

    return asyncio.run(main())


def test_a_client_over_stdio_asks_remembers_recalls_searches_and_forgets(folder, home):
    """One process for the whole round: starting it is what takes time."""

    async def talk(client):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tuple(tools) == TOOLS
        for tool in tools.values():
            assert len(tool.description) > 40 and tool.output_schema["type"] == "object"
        assert tools["forget"].annotations.destructive_hint and tools["recall"].annotations.read_only_hint

        reply = await client.call_tool("ask", {"question": "What does a day ticket cost?"})
        told = reply.structured_content
        assert not reply.is_error and "6 francs" in told["text"] and told["text"] in reply.content[0].text
        assert told["gate"]["retrieve"] and ["DOCUMENTS"] in told["plan"]["steps"]
        assert told["sources"][0]["origin"] == "documents/prices.md" and 0 < told["sources"][0]["relevance"] <= 1
        assert 0 <= told["confidence"] <= 1 and told["agent"] == "robin"
        again = await client.call_tool("ask", {"question": "And for a dog?", "dialogue": told["dialogue"]})
        assert again.structured_content["dialogue"] == told["dialogue"]

        learned = await client.call_tool("remember", {"fact": "I am allergic to nuts."})
        (fact,) = learned.structured_content["added"]
        recalled = await client.call_tool("recall", {})
        assert [row["id"] for row in recalled.structured_content["facts"]] == [fact["id"]]

        found = await client.call_tool("search", {"query": "day ticket", "source": "DOCUMENTS", "k": 1})
        (passage,) = found.structured_content["passages"]
        assert "6 francs" in passage["text"]
        unknown = await client.call_tool("search", {"query": "day ticket", "source": "NOWHERE"})
        assert unknown.is_error and "DOCUMENTS" in unknown.content[0].text

        neither = await client.call_tool("forget", {})
        assert neither.is_error and "bad-request" in neither.content[0].text
        read = await client.read_resource("dragoman://agent/memory")
        assert [row["id"] for row in json.loads(read.contents[0].text)] == [fact["id"]]
        read = await client.read_resource(f"dragoman://passages/{passage['id']}")
        assert json.loads(read.contents[0].text)["text"] == passage["text"]
        assert "ask_with_sources" in [prompt.name for prompt in (await client.list_prompts()).prompts]
        gone = await client.call_tool("forget", {"fact": fact["id"]})
        assert gone.structured_content["erased"] >= 1
        assert (await client.call_tool("recall", {})).structured_content["facts"] == []

    with_client(command(folder, home), talk)


@pytest.mark.slow
def test_nothing_but_protocol_is_on_standard_output(folder, home, tmp_path):
    """Whatever loading says, it says elsewhere: a client would take it for a message."""
    odd = tmp_path / "odd"
    (odd / "documents").mkdir(parents=True)
    (odd / "agent.toml").write_text((folder / "agent.toml").read_text(), encoding="utf-8")
    (odd / "documents" / "broken.pdf").write_bytes(b"%PDF-1.4 nothing of the kind")
    started = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": started},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "recall", "arguments": {}}},
    ]
    served = subprocess.Popen(
        [sys.executable, "-m", "dragoman", "--verbose", "mcp", str(odd), "--user", "ana"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "DRAGOMAN_HOME": str(home), "PYTHONWARNINGS": "ignore"},
    )
    with served:
        answers = []
        for line in lines:
            served.stdin.write(json.dumps(line).encode() + b"\n")
            served.stdin.flush()
            if "id" in line:
                answers.append(json.loads(served.stdout.readline()))
        served.stdin.close()
        rest, said = served.stdout.read(), served.stderr.read()
    assert [answer["id"] for answer in answers] == [1, 2] and rest == b""
    assert answers[1]["result"]["structuredContent"] == {"facts": []}
    assert b"broken.pdf" in said and served.returncode == 0


@pytest.mark.slow
def test_a_key_says_for_whom_calls_are_and_a_wrong_one_is_refused(folder, home, tmp_path):
    ledger = SqliteLedger(tmp_path / "server.db")
    _, text = create(ledger, "ana's", tenant="other", user="ana")
    ledger.close()
    options = ("--keys", str(tmp_path / "server.db"))

    async def talk(client):
        await client.call_tool("remember", {"fact": "My dog is called Rex."})
        return (await client.call_tool("recall", {})).structured_content["facts"]

    (fact,) = with_client(command(folder, home, *options, DRAGOMAN_KEY=text), talk)
    assert fact["value"] == "Rex"

    def refused(key, *more):
        environment = {**os.environ, "DRAGOMAN_HOME": str(home), "DRAGOMAN_KEY": key}
        arguments = [sys.executable, "-m", "dragoman", "mcp", str(folder), *options, *more]
        return subprocess.run(
            arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False, env=environment
        )

    wrong = refused(f"{text}x")
    assert wrong.returncode == 1 and b"not valid" in wrong.stderr and wrong.stdout == b""
    other = refused(text, "--user", "ben")
    assert other.returncode == 1 and b"cannot act for another user" in other.stderr


@asynccontextmanager
async def over_http(server, query="", **headers):
    transport = httpx2.AsyncHTTPTransport(uds=server.path)
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers, timeout=60) as client,
        Client(streamable_http_client(f"http://localhost/mcp{query}", http_client=client)) as tools,
    ):
        yield tools


def test_the_same_tools_stand_beside_the_api_with_its_keys(keyed):
    async def talk(name):
        async with over_http(keyed, authorization=f"Bearer {keyed.texts[name]}") as client:
            await client.call_tool("remember", {"fact": f"My name is {name.title()}."})
            reply = await client.call_tool("ask", {"question": "What does a day ticket cost?"})
            facts = await client.call_tool("recall", {})
        return reply.structured_content["text"], [row["value"] for row in facts.structured_content["facts"]]

    async def main():
        return await talk("ana"), await talk("ben")

    ana, ben = asyncio.run(main())
    assert "6 francs" in ana[0] and ana[1] == ["Ana"] and ben[1] == ["Ben"]
    assert [row["value"] for row in keyed.of("ana").get("/v1/memory").json()["data"]] == ["Ana"]


@pytest.mark.trust
def test_without_a_valid_key_no_tool_answers(keyed):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for client in (keyed.client("dk_0_nothing"), keyed.client()):
        refused = client.post("/mcp", json=message)
        assert refused.status_code == 401 and refused.json()["code"] == "unauthorized"
        assert refused.headers["www-authenticate"] == "Bearer"
    forged = keyed.of("ana", **{"x-dragoman-user": "ben"}).post("/mcp", json=message)
    assert forged.status_code == 403


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"jsonrpc": "2.0"}', b"\xff\xfe", b'"' + b"x" * 2_000_000 + b'"'])
def test_what_is_no_message_is_refused_and_the_server_lives(server, body):
    client = server.client(**{"content-type": "application/json", "accept": "application/json, text/event-stream"})
    assert 400 <= client.post("/mcp", content=body).status_code < 500
    assert client.get("/mcp").status_code == 405
    assert client.get("/healthz").status_code == 200


def test_an_agent_may_be_named_in_the_address(server):
    async def main(query):
        async with over_http(server, query) as client:
            return await client.call_tool("recall", {})

    assert not asyncio.run(main("?agent=robin")).is_error
    nobody = asyncio.run(main("?agent=nobody"))
    assert nobody.is_error and "unknown-model" in nobody.content[0].text


@pytest.mark.trust
def test_a_page_of_another_site_reaches_no_tool(server):
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answer = server.client(origin="http://evil.example").post("/mcp", json=message)
    assert answer.status_code == 403


@pytest.mark.trust
def test_what_fails_unexpectedly_goes_by_its_kind_alone(make_house, serve, caplog, monkeypatch):
    service = make_house()
    served = serve(service)
    (hosted,) = service.agents.values()
    monkeypatch.setattr(
        hosted.assistant.memory, "recall", lambda *_: (_ for _ in ()).throw(ValueError("my secret illness"))
    )

    async def main():
        async with over_http(served) as client:
            return await client.call_tool("recall", {"query": "illness"})

    failed = asyncio.run(main())
    assert failed.is_error and "internal" in failed.content[0].text
    assert "secret" not in failed.content[0].text and "secret" not in caplog.text
