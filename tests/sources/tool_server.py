"""A small MCP server for the tests: a knowledge of ferries, and tools that misbehave."""

import logging
import os
import sys
import time

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("harbour", log_level="CRITICAL", subscriptions=False)
asked = []


@server.tool()
def search_docs(query: str) -> list[str]:
    """Sentences about the harbour."""
    asked.append(query)
    return ["The night ferry leaves at 23:40 from pier 4.", "Tea is served in the hall."]


@server.tool()
def records(query: str) -> dict[str, list[dict[str, str]]]:
    """The same as records."""
    return {"hits": [{"title": "Night ferry", "snippet": "It leaves at 23:40.", "url": "x"}, {"id": "no text"}]}


@server.tool()
def prose(query: str) -> str:
    """One long text, with what no terminal should see."""
    return "First paragraph.\n\nSecond \x1b[31mparagraph.\n\n" + "A sentence that goes on and on. " * 4000


@server.tool()
def endless(query: str) -> str:
    """Far more than anybody reads."""
    return "A sentence that goes on and on. " * 1_000_000


@server.tool()
def heard() -> list[str]:
    """Every query so far."""
    return [f"query: {text}" for text in asked]


@server.tool()
def slow(query: str) -> str:
    time.sleep(60)
    return "late"


@server.tool()
def fail(query: str) -> str:
    raise ValueError(query)


@server.tool()
def die(query: str) -> str:
    os._exit(3)


@server.tool()
def environment(query: str) -> list[str]:
    return sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("TOOL_"))


@server.tool()
def variables(query: str) -> list[str]:
    """Those variables of this process that the query names; nothing of ours is imported here, which would set some."""
    return [f"{name}={os.environ.get(name)}" for name in query.split()]


@server.tool()
def whoami(query: str, context: Context) -> str:
    return f"authorization: {context.request_context.request.headers.get('authorization')}"


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.stderr.write("a word that must not reach the terminal of the agent\n")
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]), stateless_http=True, json_response=True)
    else:
        server.run()
