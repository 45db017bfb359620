"""Stored experiments. Their reader is injected: the server knows no metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from dragoman.server.http import views
from dragoman.server.http.problems import absent
from dragoman.server.http.resource_schemas import RunList
from dragoman.server.http.views import View
from dragoman.server.routes.common import Who, admin_only, answer, responds_with, service_of

router = APIRouter(prefix="/v1/runs", tags=["Runs"])


class Runs(Protocol):
    """Protocol of stored runs, newest first; ids come from `listed` and are not paths."""

    def listed(self) -> Sequence[View]:
        """Id, name, end, systems and data sets of each run."""
        ...

    def result(self, id: str) -> View | None:
        """Tables and figures of one run; None if there is no such run."""
        ...


@router.get("", operation_id="runs", **responds_with(RunList))
async def runs(request: Request, caller: Who) -> Response:
    """The finished runs of `dragoman evaluate` in the server's folder of runs. Needs an admin key."""
    admin_only(caller, "Reading runs")
    runs: Runs | None = request.app.state.runs
    rows = [] if runs is None else await service_of(request).call(runs.listed)
    return answer(views.listing(rows))


@router.get("/{id:path}", operation_id="run", **responds_with(dict[str, Any]))
async def run(id: Annotated[str, Path(min_length=1, max_length=400)], request: Request, caller: Who) -> Response:
    """The tables and figures of a run. Needs an admin key."""
    admin_only(caller, "Reading runs")
    runs: Runs | None = request.app.state.runs
    result = None if runs is None else await service_of(request).call(lambda: runs.result(id))
    if result is None:
        raise absent("run")
    return answer(result)
