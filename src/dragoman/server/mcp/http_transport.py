"""MCP tools over streamable HTTP, with the keys and limits of the API."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from dragoman.server.routes.common import calling

if TYPE_CHECKING:
    from dragoman.server.access.caller import Caller
    from dragoman.server.http.request_limits import Receive, Send
    from dragoman.server.mcp.resources import Call
    from dragoman.server.service import Service

PATH = "/mcp"


class HttpTools:
    """ASGI application of the MCP tools, created at the first request; `?agent=NAME` selects an agent.

    `RequestLimits` already checks origins, so the package's own check is off.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._app: Any = None
        self._running: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        await calling(self._service, Request(scope))  # who may not call is told so before any protocol
        async with self._lock:
            if self._app is None:
                self._app = await self._begin()
        await self._app(scope, receive, send)

    async def _begin(self) -> Any:
        from mcp.server.transport_security import TransportSecuritySettings

        from dragoman.server.mcp.tool_server import make_server

        server = make_server(self._service, self._who)
        trusting = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        app = server.streamable_http_app(streamable_http_path=PATH, stateless_http=True, transport_security=trusting)
        begun = asyncio.Event()

        async def keep() -> None:
            async with server.session_manager.run():
                begun.set()
                await asyncio.Event().wait()  # until the server's loop ends

        self._running = asyncio.create_task(keep())
        await begun.wait()
        return app

    async def _who(self, context: Call) -> tuple[Caller, str]:
        request: Any = context.request_context.request
        return await calling(self._service, request), request.query_params.get("agent", "")
