"""Experiments as the laboratory stored them. Who reads them is injected: the server knows no metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from dragoman.server.http import views
from dragoman.server.http.problems import absent
from dragoman.server.http.schemas import RunList
from dragoman.server.http.views import View
from dragoman.server.routes.common import Who, admin_only, answer, service_of, told

router = APIRouter(prefix="/v1/runs", tags=["Runs"])


class Runs(Protocol):
    """Stored runs, newest first; an id is one that `listed` gave, never a path."""

    def listed(self) -> Sequence[View]:
        """id, name, ended, systems and sets of each."""
        ...

    def result(self, id: str) -> View | None:
        """Tables and figures of one run; None where there is none of that id."""
        ...


@router.get("", operation_id="runs", response_class=Response, responses={200: told(RunList)})
async def runs(request: Request, caller: Who) -> Response:
    """The finished runs of `dragoman evaluate` in the server's folder of runs. Needs an admin key."""
    admin_only(caller, "Reading runs")
    known: Runs | None = request.app.state.runs
    rows = [] if known is None else await service_of(request).call(known.listed)
    return answer(views.listing(rows))


@router.get("/{id:path}", operation_id="run", response_class=Response, responses={200: told(dict[str, Any])})
async def run(id: Annotated[str, Path(min_length=1, max_length=400)], request: Request, caller: Who) -> Response:
    """The tables and figures of a run. Needs an admin key."""
    admin_only(caller, "Reading runs")
    known: Runs | None = request.app.state.runs
    found = None if known is None else await service_of(request).call(lambda: known.result(id))
    if found is None:
        raise absent("run")
    return answer(found)
