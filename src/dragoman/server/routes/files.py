"""OpenAI's files: uploads of the caller, whose sources are vector stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, File, Form, Path, Query, Request, UploadFile
from starlette.responses import Response

from dragoman.server.data import file_objects, uploads
from dragoman.server.data.uploads import Upload
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.chat_parameters import refused
from dragoman.server.http.file_schemas import DeletedObject, FileObject, FileObjectList
from dragoman.server.http.problems import absent
from dragoman.server.http.views import View, json_pieces
from dragoman.server.routes.common import AgentName, KnownFirst, Pieces, Who, answer, responds_with, service_of

router = APIRouter(prefix="/v1/files", tags=["OpenAI"])
uploading = APIRouter(tags=["OpenAI"], route_class=KnownFirst)
FileId: TypeAlias = Annotated[str, Path(min_length=1, max_length=2000, description="A file's id.")]
After: TypeAlias = Annotated[str, Query(max_length=2000, description="The id after which the page begins.")]
Order: TypeAlias = Annotated[Literal["asc", "desc"], Query(description="By source and name.")]
_PURPOSES = ("assistants", "user_data")
_BYTES: dict[str, Any] = {
    "description": "The file",
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}


@uploading.post("/v1/files", operation_id="create_file", **responds_with(FileObject))
async def create(
    request: Request,
    caller: Who,
    *,
    file: Annotated[UploadFile, File(description="A document.")],
    purpose: Annotated[str, Form(max_length=40)] = "assistants",
    agent: AgentName = "",
    source: Annotated[str, Query(max_length=200, description="A source's name; without it the caller's own.")] = "",
) -> Response:
    """Upload a document, which can be searched when this returns. Counts as a turn.

    It goes into a source of the caller's own where the agent has one. A file that cannot be read is refused.
    """
    if purpose not in _PURPOSES:
        raise refused("purpose", f"Uploads are documents to search: {' or '.join(_PURPOSES)}.")
    if any(name.startswith("expires_after") for name in await request.form()):
        raise refused("expires_after", "Files stay until they are deleted.")
    service = service_of(request)
    await service.admit(caller)
    place = source or await service.do(caller, agent, file_objects.default_source)
    upload = Upload(file.filename or "", file.file)
    return answer(await service.read_in(caller, agent, place, file_objects.put, upload))


@router.get("", operation_id="list_files", **responds_with(FileObjectList))
async def listed(
    request: Request,
    caller: Who,
    *,
    purpose: Annotated[str, Query(max_length=40)] = "",
    limit: Annotated[int, Query(ge=1, le=10_000)] = 10_000,
    after: After = "",
    order: Order = "asc",
) -> Response:
    """The uploaded files that the caller may search, of all agents."""
    service = service_of(request)
    rows = [row for name in service.agents for row in await service.do(caller, name, file_objects.files)]
    shown = page(rows if purpose in ("", "assistants") else [], limit=limit, after=after, order=order)
    return Pieces(await service.call(lambda: list(json_pieces(shown)), whose=caller.whose), "application/json")


@router.get("/{file_id}", operation_id="retrieve_file", **responds_with(FileObject))
async def retrieve(file_id: FileId, request: Request, caller: Who) -> Response:
    """One uploaded file."""
    agent, source, name = file_objects.parse_file_id(file_id)
    return answer(await service_of(request).do(caller, agent, file_objects.file, source, name))


@router.get("/{file_id}/content", operation_id="file_content", response_class=Response, responses={200: _BYTES})
async def content(file_id: FileId, request: Request, caller: Who) -> Response:
    """The bytes of an uploaded file."""
    agent, source, name = file_objects.parse_file_id(file_id)
    data = await service_of(request).do(caller, agent, _bytes, source, name)
    headers = {"cache-control": "no-store", "content-disposition": "attachment"}
    return Response(data, 200, headers, "application/octet-stream")


@router.delete("/{file_id}", operation_id="delete_file", **responds_with(DeletedObject))
async def delete(file_id: FileId, request: Request, caller: Who) -> Response:
    """Delete an uploaded file and its passages."""
    agent, source, name = file_objects.parse_file_id(file_id)
    await service_of(request).read_in(caller, agent, source, uploads.remove, name)
    return answer({"id": file_id, "object": "file", "deleted": True})


def page(rows: Sequence[View], *, limit: int, after: str, order: str) -> View:
    """A page of a list of objects with ids."""
    ordered = list(rows) if order == "asc" else list(reversed(rows))
    if after:
        ids = [row["id"] for row in ordered]
        if after not in ids:
            raise absent("file")
        ordered = ordered[ids.index(after) + 1 :]
    page = ordered[:limit]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
        "has_more": len(ordered) > limit,
    }


def _bytes(seat: Seat, source: str, name: str) -> bytes:
    with file_objects.content(seat, source, name) as opened:
        return opened.read()
