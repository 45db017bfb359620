"""Sources of agents: counts, searches and uploaded files."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, Path, Request, UploadFile
from starlette.responses import Response

from dragoman.core.values import Source
from dragoman.server.data import source_search, uploads
from dragoman.server.data.uploads import Upload
from dragoman.server.hosted_agent import Seat
from dragoman.server.http import views
from dragoman.server.http.resource_schemas import EvidenceList, FileList, IngestView, RemovedView, SourceList
from dragoman.server.http.schemas import SearchRequest
from dragoman.server.http.views import View
from dragoman.server.routes.common import AgentName, KnownFirst, Who, answer, answer_of, responds_with, service_of
from dragoman.sources.upload_folders import FOLDER

router = APIRouter(prefix="/v1/sources", tags=["Sources"])
uploading = APIRouter(route_class=KnownFirst)
SourceName = Annotated[str, Path(max_length=200, description="A source's name.", examples=["DOCUMENTS"])]


@router.get("", operation_id="sources", **responds_with(SourceList))
async def sources(request: Request, caller: Who, agent: AgentName = "") -> Response:
    """An agent's sources with the number of passages visible to the caller."""
    return answer(views.listing(await service_of(request).do(caller, agent, source_search.sources)))


@router.post("/{source}/search", operation_id="search", **responds_with(EvidenceList))
async def search(
    source: SourceName, body: SearchRequest, request: Request, caller: Who, agent: AgentName = ""
) -> Response:
    """Search a source; best passages first. Counts as a turn."""
    service = service_of(request)
    await service.admit(caller)
    return answer(views.listing(await service.do(caller, agent, source_search.search, source, body.query, body.k)))


@router.get("/{source}/files", operation_id="files", **responds_with(FileList))
async def files(source: SourceName, request: Request, caller: Who, agent: AgentName = "") -> Response:
    """The files uploaded into a source."""
    return await answer_of(service_of(request), caller, agent, _files, source)


@uploading.post("/{source}/files", operation_id="upload", **responds_with(IngestView))
async def upload(
    source: SourceName,
    request: Request,
    caller: Who,
    files: Annotated[
        list[UploadFile], File(min_length=1, max_length=200, description="Files; names may have folders.")
    ],
    agent: AgentName = "",
) -> Response:
    """Upload files into a source. Private sources are the caller's own; shared ones need an admin key.

    Counts as a turn. Files that cannot be read are listed under `failed` and not stored.
    """
    uploaded = [Upload(file.filename or "", file.file) for file in files]
    service = service_of(request)
    await service.admit(caller)
    return answer(await service.read_in(caller, agent, source, _put, uploaded))


@router.delete(
    "/{source}/files/{name:path}",
    operation_id="remove_file",
    **responds_with(RemovedView),
)
async def remove(
    source: SourceName,
    name: Annotated[str, Path(min_length=1, max_length=400)],
    request: Request,
    caller: Who,
    agent: AgentName = "",
) -> Response:
    """Delete an uploaded file and its passages."""
    return answer({"removed": await service_of(request).read_in(caller, agent, source, uploads.remove, name)})


router.include_router(uploading)


def _files(seat: Seat, source: str) -> View:
    return views.listing(uploads.files(seat, seat.source(source)))


def _put(seat: Seat, source: Source, files: list[Upload]) -> View:
    report = uploads.put(seat, source, files)
    return {
        "files": report.files,
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "failed": [
            {"path": failure.path.removeprefix(f"{FOLDER}/"), "reason": failure.reason} for failure in report.failed
        ],
        "seconds": report.seconds,
    }
