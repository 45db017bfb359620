"""Helpers of the routes: the caller of a request, the service, and JSON responses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Annotated, Any, Concatenate, ParamSpec, TypeAlias, TypeVar, get_type_hints

from fastapi import Depends, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dragoman.core.errors import AccessError, InputError
from dragoman.server.access.caller import Caller
from dragoman.server.data import source_search
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.chat_parameters import refused
from dragoman.server.http.problems import MOST_ERRORS, REQUEST
from dragoman.server.http.views import dumps, json_pieces
from dragoman.server.service import Service

B = TypeVar("B", bound=BaseModel)
P = ParamSpec("P")
_LONGEST_ID = 200
_MOST_PARTS = 300
"""How many parts of a kind a form may have: more than the files that are taken, so that too many are said to be so."""
_JSON = re.compile(r"\s*application/([\w.+-]+\+)?json\s*(;|$)", re.IGNORECASE)

SCHEMES: dict[str, Any] = {
    "key": {"type": "http", "scheme": "bearer", "description": "A key that `dragoman keys create` printed."},
    "acting": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Dragoman-User",
        "description": "The user for whom an admin key acts; refused from other keys.",
    },
}
"""For the OpenAPI document. The headers are read by hand: a dependency of its own for each would cost every turn."""


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def caller_of(request: Request) -> Caller:
    """The caller of a request, from its credential."""
    return await calling(service_of(request), request)


async def calling(service: Service, request: Request) -> Caller:
    """The caller that the headers of a request name."""
    scheme, _, credential = (_only(request, b"authorization") or "").partition(" ")
    token = credential.strip() if scheme.lower() == "bearer" else None
    acting = _only(request, b"x-dragoman-user")
    return await service.caller(token, acting if acting is None else _utf8(acting))


def _only(request: Request, header: bytes) -> str | None:
    """A header with a credential; repeated ones are errors, since proxies may read another one than we do."""
    values = [value for name, value in request.scope["headers"] if name == header]
    if len(values) > 1:
        raise AccessError(
            f"The header {header.decode()} was sent {len(values)} times.", remedy="Send it once.", code="bad-request"
        )
    return values[0].decode("latin-1") if values else None


def request_id(request: Request) -> str:
    """The client's id of a request, or empty: a repeated request is executed once."""
    identifier = _only(request, REQUEST.lower().encode())
    if identifier is None:
        return ""
    if not 1 <= len(identifier) <= _LONGEST_ID or not identifier.isascii() or not identifier.isprintable():
        raise InputError(
            f"The header {REQUEST} is not 1 to {_LONGEST_ID} printable ASCII characters.",
            remedy="Give a random one, such as a UUID.",
        )
    return identifier


ONCE: dict[str, Any] = {
    "parameters": [
        {
            "name": REQUEST,
            "in": "header",
            "required": False,
            "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]([ -~]*[!-~])?$"},
            "description": "The sender's id of this turn: sent again with the same one, it is answered once.",
        }
    ]
}
"""For the OpenAPI document."""


def _utf8(header: str) -> str:
    """Decode a header as UTF-8; the framework reads Latin-1."""
    return header if header.isascii() else header.encode("latin-1").decode("utf-8", "surrogateescape")


class Swift(APIRoute):
    """A route of (body, request, caller) that bypasses FastAPI's dependency injection, for speed."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        endpoint = self.endpoint
        model: type[BaseModel] = get_type_hints(endpoint)["body"]

        async def handle(request: Request) -> Response:
            caller = await caller_of(request)
            response: Response = await endpoint(body=await _body(request, model), request=request, caller=caller)
            return response

        return handle


async def _body(request: Request, model: type[B]) -> B:
    """Parse a request body, with FastAPI's errors if it is invalid."""
    data = await request.body()
    body: object = data
    try:
        if data and _JSON.match(request.headers.get("content-type", "")):
            body = json.loads(data)
        return model.model_validate(body if data else None)
    except json.JSONDecodeError as error:
        problem = {"type": "json_invalid", "loc": ("body", error.pos), "msg": "JSON decode error", "input": {}}
        raise RequestValidationError([{**problem, "ctx": {"error": error.msg}}]) from None
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)[:MOST_ERRORS]
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in details]) from None
    except (ValueError, RecursionError):  # no UTF-8, numbers of more digits than Python reads, too deep
        raise HTTPException(400, "There was an error parsing the body") from None


class _FormRequest(Request):
    """A request with a limited number of form parts, since searching thousands blocks the event loop."""

    def form(self, **limits: Any) -> Any:
        return super().form(**{**limits, "max_files": _MOST_PARTS, "max_fields": _MOST_PARTS})


class KnownFirst(APIRoute):
    """A route with a large body: authenticates before reading it, and limits concurrent uploads."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def known_first(request: Request) -> Response:
            caller = await caller_of(request)
            with service_of(request).receiving.holding(caller.whose, seconds=5.0):
                return await handle(_FormRequest(request.scope, request.receive))

        return known_first


Who: TypeAlias = Annotated[Caller, Depends(caller_of)]
AgentName: TypeAlias = Annotated[
    str, Query(max_length=200, description="An agent's name; without it the first one.", examples=["harbour"])
]


def admin_only(caller: Caller, what: str) -> None:
    """Raise an error unless the caller is an admin."""
    if not caller.admin:
        raise AccessError(f"{what} needs an admin key.", remedy="`dragoman keys create NAME --admin` makes one.")


async def embedded(
    service: Service,
    caller: Caller,
    agent: str,
    texts: list[str],
    *,
    dimensions: int | None,
    view: Callable[[list[list[float]]], object],
) -> Response:
    """Answer with the view of the vectors of texts; other `dimensions` than the encoder has are refused.

    Counts as a turn.
    """
    size = await service.do(caller, agent, source_search.dimensions)
    if dimensions not in (None, size):
        raise refused("dimensions", f"The agent's encoder gives vectors of {size} numbers.")
    await service.admit(caller)
    return await answer_of(service, caller, agent, lambda seat: view(source_search.embed(seat, texts)))


def answer(value: object, status: int = 200) -> Response:
    """A JSON response, without validation by a response model."""
    return Response(dumps(value), status, {"cache-control": "no-store"}, "application/json")


class Pieces(Response):
    """A response whose body is long: it is sent piece by piece, as fast as the client reads it."""

    def __init__(self, pieces: Sequence[bytes], media_type: str, headers: Mapping[str, str] | None = None) -> None:
        self._pieces = pieces
        size = str(sum(map(len, pieces)))
        super().__init__(
            None, 200, {"cache-control": "no-store", "content-length": size, **(headers or {})}, media_type
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def answer_of(
    service: Service,
    caller: Caller,
    agent: str,
    chore: Callable[Concatenate[Seat, P], object],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Response:
    """The result of a function for a caller as JSON, however long: it is encoded in the function's thread."""

    def encoded(seat: Seat) -> list[bytes]:
        return list(json_pieces(chore(seat, *args, **kwargs)))

    return Pieces(await service.do(caller, agent, encoded), "application/json")


def responds_with(
    model: Any, description: str = "Done", *, content: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """Options of a route that answers with a model, for the OpenAPI document; `content` adds media types."""
    described = {"model": model, "description": description} | ({} if content is None else {"content": content})
    return {"response_class": Response, "responses": {200: described}}
