"""uvicorn setup: the socket, limits for slow clients, and graceful shutdown."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from dragoman.core.errors import ConfigError
from dragoman.server.http.problems import MEDIA_TYPE, ApiProblem

if TYPE_CHECKING:
    from dragoman.server.http.request_limits import App

_HEADER_SECONDS = 15.0
_STALLED_SECONDS = 60.0
_HEADER_BYTES = 64 * 1024
_SOCKET_BYTES = 256 * 1024
"""The most bytes of a message of the page: a turn of the greatest length, each character escaped."""
_LAST_BYTES = 4096
"""What a sender who is told that the socket closes may still be sending."""
_BACKLOG = 2048
_SWITCH = 0.001
_READY_SECONDS = 0.1
_NEVER = 10**9
_GARBAGE_SECONDS = 5.0
_LONGEST_WAIT = 600.0
_FEW_OBJECTS = 150_000
"""Objects that a collection looks at in about 10 ms."""


class PatientSocket(WebSocketsSansIOProtocol):
    """Socket of the page that ends at once where a sender goes on after it was told that the socket closes.

    Else all that it still sends is parsed on the event loop: tens of thousands of messages in a megabyte.
    """

    def data_received(self, data: bytes) -> None:
        if self.close_sent and len(data) > _LAST_BYTES:
            self.transport.abort()
            return
        super().data_received(data)


class PatientProtocol(HttpToolsProtocol):
    """HTTP protocol with limits on the time and size of headers, which uvicorn lacks."""

    _deadline: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._got_headers()
        if self._stalled is not None:
            self._stalled.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deadline is not None:  # headers are expected: what comes is theirs until they are complete
            self._head += len(data)
            if self._head > _HEADER_BYTES + len(data):  # of this piece the body may have begun
                self._refuse(ApiProblem("too-large", f"Headers may have {_HEADER_BYTES // 1024} KB here."))
                return
        super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        self._refuse(ApiProblem("bad-request", "This is not HTTP as the server reads it."))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._deadline is None:
            self._expect_headers()

    def on_headers_complete(self) -> None:
        self._got_headers()
        super().on_headers_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _watch_reader(self, before: int | None = None) -> None:
        """Disconnect clients that do not read their response, which would stay in memory."""
        unsent = self.transport.get_write_buffer_size()
        if unsent == before:
            self.transport.abort()
            return
        self._stalled = self.loop.call_later(_STALLED_SECONDS, self._watch_reader, unsent)

    def _refuse(self, problem: ApiProblem) -> None:
        """Answer an invalid request and close the connection."""
        body = problem.body()
        head = f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\n{head}".encode() + body)
        self.transport.close()

    def _expect_headers(self) -> None:
        self._head = 0
        self._deadline = self.loop.call_later(_HEADER_SECONDS, self.transport.close)

    def _got_headers(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class Server(uvicorn.Server):
    """uvicorn's server, with exit code 0 when stopped by a signal.

    The first signal calls `leaving` and keeps serving for `drain` seconds, so that load balancers stop sending requests
    before the server is gone.
    """

    drain = 0.0
    leaving: Callable[[], None] | None = None
    _timer: threading.Timer | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.leaving is not None:
            self.leaving()
        if self.drain and self._timer is None:
            self._timer = threading.Timer(self.drain, super().handle_exit, (sig, frame))
            self._timer.daemon = True
            self._timer.start()
            return
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int) -> socket.socket:
    """Open the listening socket, before models are loaded, so that errors appear at once."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ConfigError(
            f"The server cannot listen on {host}:{port}: {error.strerror or error}.",
            remedy="Give another --port or --host.",
        ) from error


def server_of(app: App, *, grace: float) -> Server:
    """Create the server of an application; it stops gracefully when `should_exit` is set."""
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws=PatientSocket,
        loop="auto",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        ws_max_size=_SOCKET_BYTES,
        ws_per_message_deflate=False,  # a packet may unfold to a thousand times its size, all of it on the event loop
        timeout_keep_alive=60,
        timeout_graceful_shutdown=round(grace) + 5,
        backlog=_BACKLOG,
    )
    return Server(config)


def serve(
    app: App,
    listening: socket.socket,
    *,
    grace: float,
    started: Callable[[], None],
    ready: Callable[[], bool] | None = None,
    drain: float = 0.0,
    leaving: Callable[[], None] | None = None,
) -> None:
    """Serve until stopped; calls `started` when requests are accepted and `leaving` at the first signal.

    With `ready`, the modules, models and rules that are loaded when it becomes true are left out of garbage collection,
    and full collections wait for a moment with few objects (`collect_garbage`). Else a collection looks at each of
    them, and no other thread runs meanwhile: a server that many turns keep busy answers nobody.
    """
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    _raise_file_limit()
    sys.setswitchinterval(_SWITCH)  # a thread that computes lets the event loop in sooner
    if ready is not None:
        gc.collect()
        gc.freeze()
    server = server_of(app, grace=grace)
    server.drain, server.leaving = drain, leaving

    async def run() -> None:
        announcement = asyncio.create_task(_announce(server, started, ready))
        await server.serve(sockets=[listening])
        announcement.cancel()

    runner: Any = asyncio.Runner(loop_factory=_loop_factory())
    with runner:
        runner.run(run())


async def _announce(server: Server, started: Callable[[], None], ready: Callable[[], bool] | None) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    started()
    if ready is None:
        return
    while not ready():
        await asyncio.sleep(_READY_SECONDS)
    gc.freeze()  # without a collection, which would hold up those who are served by now
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)
    waited = 0.0
    while True:
        await asyncio.sleep(_GARBAGE_SECONDS)
        waited = 0.0 if collect_garbage(patient=waited < _LONGEST_WAIT) else waited + _GARBAGE_SECONDS


def collect_garbage(*, patient: bool) -> bool:
    """Collect the garbage of all generations; when `patient`, only while there are few objects. Whether it was done.

    A collection of its own accord comes when objects have become many: while a user's 200,000 passages are read, one
    takes 0.1 s, in which no thread runs. Soon after they are gone by themselves, and a collection takes milliseconds.
    """
    if patient and len(gc.get_objects(generation=2)) > _FEW_OBJECTS:
        return False
    gc.collect()
    return True


def _loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:
        return None  # not on every platform
    return uvloop.new_event_loop


def _raise_file_limit() -> None:
    """Raise the limit of open files, and thus of connections, to the maximum."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = min(hard, 65_536) if hard > 0 else 65_536
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
