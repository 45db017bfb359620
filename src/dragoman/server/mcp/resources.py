"""MCP resources of an agent: the user's memory, the sources, and single passages.

A read is for whom the connection is; an address holds no user.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from mcp.server.mcpserver import Context
from mcp.types import ResourceLink

from dragoman.core.errors import AbsentError
from dragoman.server.data import source_search, user_data
from dragoman.server.http import views
from dragoman.server.http.views import View, dumps, json_pieces
from dragoman.server.mcp.errors import resource_errors

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from dragoman.server.access.caller import Caller
    from dragoman.server.hosted_agent import Seat
    from dragoman.server.service import Service

_LONGEST_TITLE = 80
Call: TypeAlias = Context[Any, Any]
Who: TypeAlias = Callable[[Call], Awaitable[tuple["Caller", str]]]
"""For whom a call is, and to which agent; the arguments of a call have no say in it."""
_LISTS: dict[str, Callable[[Seat], list[View]]] = {"memory": user_data.facts, "sources": source_search.sources}
_JSON = "application/json"


def add_resources(server: MCPServer[Any], service: Service, who: Who) -> None:
    """Add the resources to a server."""

    @server.resource("dragoman://agent/{collection}", name="collections", mime_type=_JSON)
    async def collections(collection: str, context: Call) -> str:
        """`memory`: the facts about the user. `sources`: what the agent can search, with counts."""
        with resource_errors():
            if collection not in _LISTS:
                raise AbsentError(f"There is no '{collection[:80]}'.", remedy=f"Read {' or '.join(_LISTS)}.")
            caller, agent = await who(context)
            return await service.do(
                caller, agent, lambda seat: b"".join(json_pieces(_LISTS[collection](seat))).decode()
            )

    @server.resource("dragoman://passages/{id}", name="passages", mime_type=_JSON)
    async def passages(id: str, context: Call) -> str:
        """A passage by its id, as `ask` and `search` return it."""
        with resource_errors():
            caller, agent = await who(context)
            return dumps(await service.do(caller, agent, _passage, id)).decode()


def passage_link(passage: View) -> ResourceLink:
    """A link to a passage, which clients open as a resource."""
    title = passage["title"] or passage["origin"] or passage["text"][:_LONGEST_TITLE]
    uri = f"dragoman://passages/{quote(passage['id'], safe='')}"
    return ResourceLink(type="resource_link", name=passage["id"], title=title, uri=uri, mime_type=_JSON)


def _passage(seat: Seat, id: str) -> View:
    for scope in dict.fromkeys(source.scope(seat.scope) for source in seat.assistant.sources):
        (row,) = seat.assistant.store.get(scope, [id])
        if row is not None:
            return views.passage(row)
    raise AbsentError("There is no such passage.", remedy="`search` and `ask` return the ids of passages.")
