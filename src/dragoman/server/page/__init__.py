"""The web page, served by the same application as the API. NiceGUI allows one per process."""

from __future__ import annotations

import importlib
import logging
import re
import secrets
import threading
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dragoman.core.errors import DragomanError, MissingExtraError
from dragoman.server.data.cited_passages import marked_pdf
from dragoman.server.http.problem_response import problem_response
from dragoman.server.http.problems import ApiProblem, problem_of
from dragoman.server.http.request_limits import App, Message, Receive, Send, is_own, refuse
from dragoman.server.http.views import dumps
from dragoman.server.page.chat.live_turns import LiveTurns
from dragoman.server.page.login import COOKIE, LoginMiddleware, token_of
from dragoman.server.page.open_pages import OpenPages, full_page, rest_page
from dragoman.server.page.session import Keys, PageSession
from dragoman.server.page.texts import WORDS_COOKIE, Language, language_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from dragoman.server.routes.runs import Runs
    from dragoman.server.service import Service

_log = logging.getLogger("dragoman.server")

PATH = "/page"
_AGAIN = 30
"""Seconds after which a browser asks again when all places are taken."""
_UPLOAD = re.compile(r"/_nicegui/client/[^/]+/upload/[^/]+$")
_SPAN = re.compile(r"\b(\d{1,7})-(\d{1,7})\b")
_MOST_SPANS = 100
_LOOK = Path(__file__).with_name("look.css")
_SCRIPT = Path(__file__).with_name("page.js")
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="#0f766e"/>'
    '<path d="M5 8a2 2 0 0 1 2-2h6a2 2 0 0 1 2 2v2a2 2 0 0 1-2 2H9.500L5 15.500z" fill="#fff"/>'
    '<path d="M17 10.500h.5a1.500 1.500 0 0 1 1.500 1.500v7l-3-2.500h-4" fill="#fff" opacity=".6"/></svg>'
)
# NiceGUI compiles templates in the browser and styles elements inline; nothing may come from, or go to, elsewhere.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self' ws: wss:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
# The keyboard of a phone makes the page smaller, instead of covering the field.
_VIEWPORT = "width=device-width, initial-scale=1, interactive-widget=resizes-content"
_HEADERS = ((b"content-security-policy", _POLICY.encode()), (b"x-frame-options", b"DENY"))


def preload() -> None:
    """Start importing the page's modules in the background."""

    def load() -> None:
        with suppress(ImportError):  # `add_page` says it
            importlib.import_module("dragoman.server.page.layout")

    threading.Thread(target=load, daemon=True).start()


def add_page(app: FastAPI) -> None:
    """Add the page to an application of `make_app`; its address is `/`."""
    try:
        from nicegui import Client, ui
        from nicegui import app as nice
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"The page needs the package '{error.name}', which is not installed.",
            remedy="Install it: pip install 'dragoman[server]'",
        ) from error

    service: Service = app.state.service
    runs: Runs | None = app.state.runs
    keys = Keys()
    live_turns = LiveTurns()
    open_pages = OpenPages(lambda: tuple(Client.instances.values()))

    @ui.page("/", title="Dragoman", viewport=_VIEWPORT, response_timeout=20.0)
    async def page(request: Request, agent: str = "", dialogue: str = "") -> None:
        token = request.cookies.get(COOKIE, "")
        wanted = agent if agent in service.agents else next(iter(service.agents))
        page_session = PageSession(
            service, runs, partial(keys.of, token), _language(request), wanted, live_turns=live_turns
        )
        await _open(page_session, request, open_pages, keys.of(token), dialogue or None)

    @nice.get("/leave", include_in_schema=False)
    def leave(request: Request) -> Response:
        keys.drop(request.cookies.get(COOKIE, ""))
        return RedirectResponse(f"{PATH}/", 303)

    @nice.get("/document", include_in_schema=False)
    async def document(request: Request, agent: str, source: str, passage: str, spans: str = "") -> Response:
        try:
            caller = await service.caller(keys.of(request.cookies.get(COOKIE, "")))
            marks = [(int(start), int(end)) for start, end in _SPAN.findall(spans)[:_MOST_SPANS]]
            content = await service.do(caller, agent, marked_pdf, source, passage, marks)
        except DragomanError as error:
            return problem_response(request, problem_of(error))
        return Response(content, media_type="application/pdf", headers={"cache-control": "private, no-store"})

    @nice.get("/rest", include_in_schema=False)
    def rest(request: Request, agent: str = "", dialogue: str = "") -> Response:
        return HTMLResponse(rest_page(_language(request), agent, dialogue))

    @nice.get("/manifest.webmanifest", include_in_schema=False)
    def manifest() -> Response:
        return Response(_manifest(), media_type="application/manifest+json")

    @app.head("/", include_in_schema=False)
    def here() -> Response:
        return Response()  # Ollama's own program asks so whether a server is there

    @app.get("/", include_in_schema=False)
    @app.get(PATH, include_in_schema=False)
    def to_page(request: Request) -> Response:
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"{PATH}/{query}", 307)

    # Errors behind the page may contain users' text, so log only their type.
    logging.getLogger("nicegui").setLevel(logging.CRITICAL + 1)
    nice.on_exception(_note_failure)
    nice.add_exception_handler(404, _nowhere)
    nice.add_middleware(
        _Guarded,
        crowded=lambda headers: open_pages.is_full(keys.of(token_of(headers))),
        receiving=partial(_receiving, service, keys),
    )
    app.add_middleware(LoginMiddleware, service=service, keys=keys, path=PATH)
    ui.run_with(
        app,
        mount_path=PATH,
        title="Dragoman",
        favicon=_ICON,
        dark=None,
        tailwind=False,
        binding_refresh_interval=None,
        reconnect_timeout=20.0,
        storage_secret=secrets.token_hex(32),
        session_middleware_kwargs={"session_cookie": "dragoman_page", "same_site": "lax", "max_age": None},
        show_welcome_message=False,
    )


def _manifest() -> bytes:
    """The web app manifest, with which a browser installs the page as an app."""
    icon = {"src": f"data:image/svg+xml,{quote(_ICON)}", "sizes": "any", "type": "image/svg+xml"}
    return dumps(
        {
            "name": "Dragoman",
            "short_name": "Dragoman",
            "start_url": f"{PATH}/",
            "scope": f"{PATH}/",
            "display": "standalone",
            "background_color": "#f7f7f5",
            "theme_color": "#0f766e",
            "icons": [icon],
        }
    )


def _language(request: Request) -> Language:
    return language_of(request.headers.get("accept-language", ""), request.cookies.get(WORDS_COOKIE))


async def _open(
    page_session: PageSession, request: Request, open_pages: OpenPages, key: str | None, dialogue: str | None
) -> None:
    """Build the page of a signed-in visitor; `key` is whose place it takes."""
    from nicegui import ui

    from dragoman.server.page.layout import LOOK_COOKIE, LOOKS, Look, PageLayout

    language, service = page_session.language, page_session.service
    ui.add_css(_LOOK)
    ui.colors(primary="#0f766e")
    ui.add_head_html(f"<script>document.documentElement.lang = '{'zh-CN' if language == 'zh' else 'en'}'</script>")
    ui.add_head_html('<link rel="manifest" href="manifest.webmanifest">')
    ui.add_head_html(f"<script>{_SCRIPT.read_text(encoding='utf-8')}</script>")
    client = ui.context.client
    open_pages.came(client, lambda: page_session.used, key)
    client.on_connect(lambda: open_pages.settled(client))
    client.on_delete(lambda: open_pages.left(client))
    look: Look = next((name for name in LOOKS if name == request.cookies.get(LOOK_COOKIE)), "auto")
    try:
        caller = await page_session.caller()
    except DragomanError:  # revoked since the sign-in let it through
        ui.navigate.to("/leave")
        return
    has_runs = caller.admin and bool(await page_session.listed_runs())
    layout = PageLayout(page_session, look, can_leave=service.ledger is not None, has_runs=has_runs)
    layout.build()
    client.on_delete(layout.chat.close)
    await client.connected()  # look things up only for browsers that stay connected
    await layout.fill(dialogue)


def _nowhere(request: Request, _: Exception) -> Response:
    """Answer 404 for unknown addresses, without creating a NiceGUI page."""
    return problem_response(request, ApiProblem("not-found"))


def _note_failure(error: Exception) -> None:
    _log.error("the page failed: %s", type(error).__name__)


def _is_strangers(headers: Mapping[bytes, bytes]) -> bool:
    """Whether another site sends the request. Reverse proxies pass on the original host name."""
    origin, before = headers.get(b"origin"), headers.get(b"x-forwarded-host", b"")
    return origin is not None and not is_own(headers, origin) and not is_own({b"host": before}, origin)


async def _refuse(headers: Mapping[bytes, bytes], scope: MutableMapping[str, Any], send: Send) -> None:
    """Answer that the server is full: to browsers with a page that reloads itself, to others with a problem."""
    if b"text/html" not in headers.get(b"accept", b""):
        await refuse(ApiProblem("busy", "Too many pages are open.", "Try again in a minute.", _AGAIN), scope, send)
        return
    body = full_page(language_of(headers.get(b"accept-language", b"").decode("latin-1")), seconds=_AGAIN)
    response_headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", str(_AGAIN).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": [*response_headers, *_HEADERS]})
    await send({"type": "http.response.body", "body": body})


async def _receiving(service: Service, keys: Keys, scope: MutableMapping[str, Any]) -> AbstractContextManager[None]:
    """Reserve one of the concurrent uploads for the user of a request's session."""
    caller = await service.caller(keys.of(token_of(dict(scope["headers"]))))
    return service.receiving.holding(caller.whose, seconds=5.0)


class _Guarded:
    """Middleware of the page: security headers, no framing, and a limit of open pages.

    The user of an upload is checked before its body is read, as on the API; `receiving` reserves its place or refuses
    it.
    """

    def __init__(
        self,
        app: App,
        *,
        crowded: Callable[[Mapping[bytes, bytes]], bool],
        receiving: Callable[[MutableMapping[str, Any]], Awaitable[AbstractContextManager[None]]],
    ) -> None:
        self._app = app
        self._crowded = crowded
        self._receiving = receiving

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope.get("headers", ()))
        if _is_strangers(headers):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            elif scope["type"] == "http":
                await refuse(
                    ApiProblem("forbidden", "This is another page's request.", "Open the page itself."), scope, send
                )
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"].rstrip("/") == PATH and self._crowded(headers):
            await _refuse(headers, scope, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        with ExitStack() as held:
            if scope["method"] == "POST" and _UPLOAD.search(scope["path"]):
                try:
                    held.enter_context(await self._receiving(scope))
                except DragomanError as error:
                    await refuse(problem_of(error), scope, guarded)
                    return
            await self._app(scope, receive, guarded)
