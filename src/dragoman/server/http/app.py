"""The FastAPI application: routes, errors as RFC 9457 problems, and request limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from dragoman import __version__
from dragoman.core.errors import DragomanError
from dragoman.server.http.cors import Origins
from dragoman.server.http.problem_response import problem_response
from dragoman.server.http.problems import MEDIA_TYPE, of_status, of_validation, problem_of
from dragoman.server.http.request_limits import LEFT, OLLAMA_PATHS, OPENAI_PATHS, BodyLimits, RequestLimits
from dragoman.server.http.resource_schemas import ProblemDetails
from dragoman.server.mcp.http_transport import PATH as MCP_PATH
from dragoman.server.mcp.http_transport import HttpTools
from dragoman.server.observe.prometheus import Metrics
from dragoman.server.routes import dialogues, files, memory, ollama, openai, runs, sources, status, turns, vector_stores
from dragoman.server.routes.common import SCHEMES
from dragoman.server.service import Service

if TYPE_CHECKING:
    from dragoman.server.http.request_limits import App
    from dragoman.server.routes.runs import Runs

DESCRIPTION = """Agents that decide whether, where and in which order to look, and that say why. Every error is
an RFC 9457 problem with a stable `code`. Authenticate with `Authorization: Bearer KEY`."""


def make_app(
    service: Service, *, runs_of: Runs | None = None, measure: BodyLimits | None = None, warm: bool = True
) -> FastAPI:
    """Create the API of a service. `with_request_limits` wraps it; the page adds its own routes."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(service.warm_up()) if warm else None
        if not warm:
            service.ready = True
        minding = asyncio.create_task(service.mind_keys())
        yield
        minding.cancel()
        if warming is not None:
            await asyncio.gather(warming, return_exceptions=True)
        await service.close()

    app = FastAPI(
        title="Dragoman",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        responses={"default": {"model": ProblemDetails, "description": "What went wrong", "content": _PROBLEM}},
        separate_input_output_schemas=False,
        redirect_slashes=False,
    )
    metrics = Metrics(service)
    service.observers.append(metrics)
    app.state.service = service
    app.state.metrics = metrics
    app.state.runs = runs_of
    app.state.measure = measure or BodyLimits()
    # Routers are tried in order, so the most used come first.
    for router in (turns.swift, openai.swift, ollama.swift):
        app.include_router(router)
    app.include_router(files.uploading)
    app.include_router(memory.streaming)
    for routes in (openai, ollama, turns, sources, files, vector_stores, memory, dialogues, runs, status):
        app.include_router(routes.router)
    tools: Any = HttpTools(service)  # an ASGI application, which a route may be
    app.add_route(MCP_PATH, tools, methods=["POST"], include_in_schema=False)
    _handle_errors(app)
    _describe(app)
    return app


def with_request_limits(app: FastAPI, service: Service, *, origins: Sequence[str] = ()) -> App:
    """Wrap the application for serving; pages of `origins` may call it from a browser."""
    door = RequestLimits(app, measure=app.state.measure, only_here=service.ledger is None)
    return Origins(door, origins) if origins else door


_OPEN = ("/healthz", "/readyz")
_PROBLEM: dict[str, Any] = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}


def _handle_errors(app: FastAPI) -> None:
    async def ours(request: Request, error: Exception) -> Response:
        if isinstance(error, LEFT):
            return Response(status_code=400)  # the client has left
        return problem_response(request, problem_of(error))

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        is_foreign = request.url.path.startswith((*OPENAI_PATHS, *OLLAMA_PATHS))
        return problem_response(request, of_validation(error.errors(), status=400 if is_foreign else None))

    async def bare(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        response = problem_response(request, of_status(error.status_code, str(error.detail)))
        if error.headers and "allow" in {name.lower() for name in error.headers}:
            response.headers["allow"] = next(v for k, v in error.headers.items() if k.lower() == "allow")
        return response

    app.add_exception_handler(DragomanError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, bare)
    app.add_exception_handler(Exception, ours)


def _describe(app: FastAPI) -> None:
    """The OpenAPI document, with error responses in their own media type."""
    default_openapi = app.openapi

    def openapi() -> dict[str, Any]:
        document = default_openapi()
        components = document.setdefault("components", {})
        components.setdefault("schemas", {}).pop("HTTPValidationError", None)
        components["schemas"].pop("ValidationError", None)
        components["securitySchemes"] = SCHEMES
        for path, operations in document["paths"].items():
            for operation in operations.values():
                if path not in _OPEN:
                    operation["security"] = [{"key": []}, {"key": [], "acting": []}]
                responses = operation["responses"]
                responses.pop("422", None)
                responses["default"] = {"description": "What went wrong", "content": _PROBLEM}
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to extend the document
