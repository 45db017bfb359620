"""What routes share: the caller of a request, the house, and answers in JSON."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Query, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from dragoman.core.errors import AccessError
from dragoman.server.caller import Caller
from dragoman.server.house import House
from dragoman.server.views import dumps

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


def house_of(request: Request) -> House:
    house: House = request.app.state.house
    return house


async def caller_of(request: Request) -> Caller:
    """The caller, from the credential alone."""
    return await calling(house_of(request), request)


async def calling(house: House, request: Request) -> Caller:
    """Whom the headers of a request stand for."""
    scheme, _, credential = request.headers.get("authorization", "").partition(" ")
    given = credential.strip() if scheme.lower() == "bearer" else None
    acting = request.headers.get("x-dragoman-user")
    return await house.caller(given, acting if acting is None else _written(acting))


def _written(header: str) -> str:
    """A header as its sender wrote it: in UTF-8, where the framework reads single bytes."""
    return header if header.isascii() else header.encode("latin-1").decode("utf-8", "surrogateescape")


class KnownFirst(APIRoute):
    """A path whose body may be large: who sends it is asked before any of it is read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def known_first(request: Request) -> Response:
            await caller_of(request)
            return await handle(request)

        return known_first


Who: TypeAlias = Annotated[Caller, Depends(caller_of)]
AgentName: TypeAlias = Annotated[
    str, Query(max_length=200, description="An agent's name; without it the first one.", examples=["harbour"])
]


def admin_only(caller: Caller, what: str) -> None:
    """Refuse what is the operator's."""
    if not caller.admin:
        raise AccessError(f"{what} needs an admin key.", remedy="`dragoman keys create NAME --admin` makes one.")


def answer(value: object, status: int = 200) -> Response:
    """JSON that is not built twice: no model is made of it again."""
    return Response(dumps(value), status, {"cache-control": "no-store"}, "application/json")


def told(model: Any, description: str = "Done") -> dict[str, Any]:
    """An answer for the OpenAPI document."""
    return {"model": model, "description": description}
