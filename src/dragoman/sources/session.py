"""The connection to an MCP server: opened when needed, kept open, and reopened after a failure."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO

from dragoman.core.environment import switches
from dragoman.core.errors import EndpointError
from dragoman.sources.document import clean
from dragoman.sources.session_limits import EXCEEDED, MOST_BYTES, limited_encoding, limited_http, too_long

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

START_SECONDS = 60.0
"""Seconds that a server may take to start; a waiting call times out sooner, and a later call finds it ready."""
REST_SECONDS = 10.0
"""Seconds before a server that could not be reached is tried again."""


@dataclass(frozen=True, slots=True)
class ToolAddress:
    """The address of a tool: a program to start in `folder`, or a URL.

    `env` names the environment variables that the program gets besides a minimal set, `key_env` the variable with the
    bearer token for the URL.
    """

    tool: str
    argument: str = "query"
    command: tuple[str, ...] = ()
    url: str = ""
    env: tuple[str, ...] = ()
    key_env: str | None = None
    folder: Path | None = None
    seconds: float = 10.0

    @property
    def where(self) -> str:
        return self.url or Path(self.command[0]).name


class Session:
    """Connection to one server, on an event loop in its own thread, since roles are called from any thread."""

    def __init__(self, address: ToolAddress) -> None:
        self._address = address
        self._loop = asyncio.new_event_loop()
        self._keeping: asyncio.Task[None] | None = None
        self._client: asyncio.Future[Client] | None = None
        self._failed: tuple[float, EndpointError] | None = None
        self._thread = Thread(target=self._loop.run_forever, name="dragoman-tool", daemon=True)
        self._thread.start()

    def begin(self) -> None:
        """Start to connect; the first call reports errors."""
        self._loop.call_soon_threadsafe(self._connected)

    def ask(self, query: str) -> CallToolResult:
        """Call the tool, within its time limit."""
        return asyncio.run_coroutine_threadsafe(self._ask(query), self._loop).result()

    def stop(self) -> None:
        """Disconnect, and stop the program if one was started."""
        asyncio.run_coroutine_threadsafe(self._leave(self._client), self._loop).result(START_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5.0)
        if not self._thread.is_alive():
            self._loop.close()

    async def _ask(self, query: str) -> CallToolResult:
        address = self._address
        if self._failed is not None and monotonic() - self._failed[0] < REST_SECONDS:
            raise self._failed[1]
        try:
            async with asyncio.timeout(address.seconds):
                return await self._call({address.argument: query})
        except TimeoutError:
            raise EndpointError(
                f"The tool '{address.tool}' of {address.where} did not answer in {address.seconds:g} s.",
                remedy="Raise `seconds` in its mcp table, or look at the server.",
            ) from None

    async def _call(self, arguments: dict[str, Any]) -> CallToolResult:
        """One call; repeated once on a new connection if the server has closed the old one."""
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        while True:
            was_there = self._client is not None and self._client.done()
            connected = self._connected()
            client = await asyncio.shield(connected)
            try:
                return await client.call_tool(self._address.tool, arguments)
            except Exception as error:
                if isinstance(error, MCPError) and error.error.code != CONNECTION_CLOSED:
                    raise self._refused(error.error.message) from error
                await self._leave(connected)
                if self._failed is not None:  # the connection itself says why
                    raise self._failed[1] from error
                if not was_there:
                    raise self._unreachable("it closed the connection") from error

    def _connected(self) -> asyncio.Future[Client]:
        """The connected client; connects first if needed."""
        if self._client is None or self._keeping is None or self._keeping.done():
            self._client = self._loop.create_future()
            self._client.add_done_callback(lambda future: future.exception())  # it may be that nobody waits for it
            self._keeping = self._loop.create_task(self._keep(self._client))
        return self._client

    async def _keep(self, ready: asyncio.Future[Client]) -> None:
        """Open and close the connection in one task, as the MCP library requires."""
        failure = self._unreachable("the agent is closed")
        exceeded = asyncio.Event()
        EXCEEDED.set(exceeded)
        try:
            async with asyncio.timeout(START_SECONDS) as starting, _opened(self._address) as client:
                starting.reschedule(None)
                self._failed = None
                ready.set_result(client)
                await exceeded.wait()
                raise too_long()
        except Exception as error:  # noqa: BLE001 - a stranger's server may break in any way
            failure = self._unreachable(_reason(error))
            self._failed = monotonic(), failure
        finally:
            if not ready.done():
                ready.set_exception(failure)

    async def _leave(self, client: asyncio.Future[Client] | None) -> None:
        """Close a connection if it is still the current one."""
        if client is not None and client is self._client:
            keeping, self._keeping, self._client = self._keeping, None, None
            if keeping is not None:
                keeping.cancel()
                await asyncio.wait([keeping])

    def _unreachable(self, reason: str) -> EndpointError:
        return EndpointError(
            f"The tool '{self._address.tool}' of {self._address.where} cannot be reached: {reason}.",
            remedy="Look at the server, and at `mcp` of that source.",
        )

    def _refused(self, reason: str) -> EndpointError:
        return EndpointError(
            f"{self._address.where} refused the tool '{self._address.tool}': {short(reason)}.",
            remedy="Look at `tool` and `argument` of that source.",
        )


@asynccontextmanager
async def _opened(address: ToolAddress) -> AsyncIterator[Client]:
    """Context manager: a client connected to a server."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)  # it logs what it cannot read, word by word
    async with AsyncExitStack() as stack:
        if address.command:
            program, *arguments = address.command
            environment = switches() | {name: os.environ[name] for name in address.env if name in os.environ}
            started = StdioServerParameters(
                command=_program(program, address.folder),
                args=arguments,
                env=environment,
                cwd=address.folder,
                encoding=limited_encoding(),
            )
            # The program's standard error may repeat questions of users, so it is discarded.
            silent = stack.enter_context(_nowhere())
            client = Client(stdio_client(started, errlog=silent))
        else:
            key = f"Bearer {os.environ.get(address.key_env, '')}" if address.key_env else None
            caller = await stack.enter_async_context(limited_http(key))
            client = Client(streamable_http_client(address.url, http_client=caller, max_sse_event_size=MOST_BYTES))
        yield await stack.enter_async_context(client)


@contextmanager
def _nowhere() -> Iterator[TextIO]:
    with Path(os.devnull).open("w", encoding="utf-8") as file:
        yield file


def _program(name: str, folder: Path | None) -> str:
    """The path of a program, by its name or relative to the agent's folder; `python` is this interpreter."""
    if name in ("python", "python3"):
        return sys.executable
    if os.sep in name and folder is not None:
        return str(folder / name)
    return shutil.which(name) or name


def _reason(error: BaseException) -> str:
    """A short reason for a failed connection; for an exception group, that of its first member."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"no answer in {START_SECONDS:g} s"
    return short(str(error)) or type(error).__name__


def short(text: str) -> str:
    """Foreign text on one line, cut to a limit."""
    return " ".join(clean(text).split())[:200].rstrip(".")
