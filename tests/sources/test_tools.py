"""Tools of a real MCP server in a subprocess, asked as sources are."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from mcp.types import CallToolResult, TextContent

from dragoman.core.environment import SWITCHES
from dragoman.core.errors import EndpointError
from dragoman.sources import session
from dragoman.sources.session import ToolAddress
from dragoman.sources.tools import MOST_CHARACTERS, MOST_PASSAGES, McpTool, passages_of

SERVER = (sys.executable, str(Path(__file__).with_name("tool_server.py")))


@pytest.fixture
def make_tool():
    made = []

    def make(tool, command=SERVER, **options):
        made.append(McpTool("HARBOUR", ToolAddress(tool, command=command, **{"seconds": 60.0, **options})))
        return made[-1]

    yield make
    for tool in made:
        tool.close()
        tool.close()  # does no harm


@pytest.fixture(scope="module")
def tool_of():
    """Tools that share one server, since starting it is what takes time."""
    shared = session.Session(ToolAddress("search_docs", command=SERVER, seconds=60.0))

    def use(name, **options):
        tool = McpTool("HARBOUR", ToolAddress(name, command=SERVER, **{"seconds": 60.0, **options}))
        shared._address = tool.address
        tool._session = shared
        return tool

    yield use
    shared.stop()


def test_sentences_become_passages_that_name_the_tool(tool_of):
    first, second = tool_of("search_docs").ask("When does the night ferry leave?")
    assert first.text == "The night ferry leaves at 23:40 from pier 4."
    assert (first.source, first.origin, first.meta) == ("HARBOUR", "mcp:search_docs", {})
    assert first.id != second.id
    assert tool_of("search_docs").ask("something else")[0].id == first.id  # known by what it says


def test_records_give_their_title_and_text(tool_of):
    (only,) = tool_of("records").ask("ferry")
    assert (only.title, only.text) == ("Night ferry", "It leaves at 23:40.")


@pytest.mark.trust
def test_long_text_is_cut_cleaned_and_capped(tool_of):
    passages = tool_of("prose").ask("anything")
    assert len(passages) <= MOST_PASSAGES
    assert sum(len(passage.text) for passage in passages) <= MOST_CHARACTERS
    assert "\x1b" not in "".join(passage.text for passage in passages)
    assert passages[0].text.startswith("First paragraph.")


@pytest.mark.trust
def test_an_answer_without_end_is_given_up_in_little_memory_and_the_next_is_read(make_tool, monkeypatch, caplog):
    monkeypatch.setattr(session, "REST_SECONDS", 0.0)
    tool, other = make_tool("endless"), make_tool("search_docs")
    before = psutil.Process().memory_info().rss
    with pytest.raises(EndpointError, match="more than 8 MB"):
        tool.ask("x")
    assert psutil.Process().memory_info().rss - before < 80 << 20
    assert "goes on" not in caplog.text
    tool.address = other.address
    tool._session._address = other.address
    assert tool.ask("x")[0].text.startswith("The night ferry")


def test_a_tool_that_fails_says_so_and_the_connection_stays(tool_of):
    with pytest.raises(EndpointError, match="The tool 'fail' failed"):
        tool_of("fail").ask("why")
    assert tool_of("search_docs").ask("ferry")


def test_an_unknown_tool_is_an_error_of_its_own(tool_of):
    with pytest.raises(EndpointError, match="nowhere"):
        tool_of("nowhere").ask("ferry")


def test_a_slow_tool_is_not_waited_for_and_others_still_answer(tool_of):
    slow = tool_of("slow", seconds=0.2)
    with pytest.raises(EndpointError, match=r"did not answer in 0\.2 s"):
        slow.ask("ferry")
    assert tool_of("search_docs").ask("ferry")


def test_many_threads_ask_at_once(tool_of):
    tool, found = tool_of("search_docs"), []
    threads = [threading.Thread(target=lambda: found.append(tool.ask("ferry"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 8 and all(len(passages) == 2 for passages in found)


@pytest.mark.slow
def test_a_server_that_dies_is_started_anew(make_tool):
    tool = make_tool("search_docs")
    assert tool.ask("ferry")
    kept = tool.address
    tool._session._address = ToolAddress("die", command=SERVER, seconds=60.0)
    with pytest.raises(EndpointError, match="closed the connection"):
        tool._session.ask("now")
    tool._session._address = kept
    assert tool.ask("ferry")


def test_a_program_that_is_not_there_is_left_alone_for_a_while(make_tool, monkeypatch):
    tool = make_tool("search", command=("no-such-program-anywhere",), seconds=20.0)
    with pytest.raises(EndpointError, match="'search' of no-such-program-anywhere cannot be reached") as first:
        tool.ask("ferry")
    with pytest.raises(EndpointError) as again:
        tool.ask("ferry")
    assert again.value is first.value  # not tried again
    monkeypatch.setattr(session, "REST_SECONDS", 0.0)
    with pytest.raises(EndpointError) as later:
        tool.ask("ferry")
    assert later.value is not first.value


@pytest.mark.trust
def test_a_program_that_speaks_no_protocol_is_unreachable_and_its_words_are_in_no_log(make_tool, monkeypatch, caplog):
    monkeypatch.setattr(session, "START_SECONDS", 5.0)
    tool = make_tool("search", command=(sys.executable, "-c", "print('hello')"), seconds=30.0)
    with pytest.raises(EndpointError, match="cannot be reached"):
        tool.ask("ferry")
    assert "hello" not in caplog.text


@pytest.mark.trust
def test_the_program_is_given_only_the_variables_that_are_named(make_tool, monkeypatch):
    monkeypatch.setenv("TOOL_TOKEN", "t1")
    monkeypatch.setenv("TOOL_OTHER", "t2")
    (only,) = make_tool("environment", env=("TOOL_TOKEN", "TOOL_MISSING")).ask("x")
    assert only.text == "TOOL_TOKEN=t1"


def test_the_program_is_started_with_telemetry_off(make_tool):
    passages = make_tool("variables").ask(" ".join(SWITCHES))
    assert [passage.text for passage in passages] == [f"{name}={value}" for name, value in SWITCHES.items()]


def test_a_closed_tool_says_so(make_tool):
    tool = make_tool("search_docs")
    tool.close()
    with pytest.raises(EndpointError, match="closed"):
        tool.ask("ferry")


def test_pictures_and_empty_texts_are_left_out():
    blocks = [TextContent(type="text", text="  "), TextContent(type="text", text="Words.")]
    (only,) = passages_of(CallToolResult(content=blocks), "HARBOUR", "t")
    assert only.text == "Words."
    assert passages_of(CallToolResult(content=[], structured_content={"a": 1}), "HARBOUR", "t") == ()


@pytest.fixture
def url():
    """The server behind an address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen([*SERVER, str(port)], stderr=subprocess.DEVNULL) as served:
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
                break
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
        served.terminate()


@pytest.mark.integration  # it needs a port of this machine
def test_a_tool_behind_a_url_is_given_its_key(url, make_tool, monkeypatch):
    monkeypatch.setenv("HARBOUR_KEY", "s3cret")
    (only,) = make_tool("whoami", command=(), url=url, key_env="HARBOUR_KEY").ask("x")
    assert only.text == "authorization: Bearer s3cret"


@pytest.mark.trust
@pytest.mark.integration
def test_an_answer_without_end_behind_a_url_is_given_up(url, make_tool):
    with pytest.raises(EndpointError, match="more than 8 MB"):
        make_tool("endless", command=(), url=url).ask("x")


@pytest.mark.trust
@pytest.mark.integration
def test_a_packed_answer_behind_a_url_is_refused_before_it_is_unpacked(make_tool):
    packed = gzip.compress(bytes(50 << 20))

    class Packed(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-encoding", "gzip")
            self.send_header("content-length", str(len(packed)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(packed)

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Packed) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        with pytest.raises(EndpointError, match="packed"):
            make_tool("any", command=(), url=f"http://127.0.0.1:{served.server_port}/mcp").ask("x")
        served.shutdown()
