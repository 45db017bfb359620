"""Health, readiness and metrics of the server."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from dragoman.core.errors import BusyError
from dragoman.server.http.resource_schemas import Alive, Ready
from dragoman.server.observe import prometheus
from dragoman.server.routes.common import Who, admin_only, answer, responds_with, service_of

router = APIRouter(tags=["Status"])


@router.get("/healthz", operation_id="healthz", **responds_with(Alive))
async def healthz() -> Response:
    """Liveness: the process runs. Needs no key."""
    return answer({"status": "ok"})


@router.get("/readyz", operation_id="readyz", **responds_with(Ready))
async def readyz(request: Request) -> Response:
    """Readiness: models loaded, database reachable, turns accepted; else, and on shutdown, 503. Needs no key."""
    service = service_of(request)
    if not service.ready:
        raise BusyError("The server is not ready.", remedy="Try again in a moment.", seconds=2.0)
    if not service.is_seen:
        raise BusyError("The database does not answer.", remedy="Try again in a moment.", seconds=2.0)
    return answer({"status": "ready", "agents": list(service.agents)})


@router.get(
    "/metrics",
    operation_id="metrics",
    response_class=Response,
    responses={200: {"description": "Prometheus text", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def figures(request: Request, caller: Who) -> Response:
    """Prometheus metrics. Needs an admin key if the server has keys."""
    admin_only(caller, "Reading metrics")
    return Response(request.app.state.metrics.page(), media_type=prometheus.MEDIA_TYPE)
