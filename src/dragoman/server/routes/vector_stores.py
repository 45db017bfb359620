"""OpenAI's vector stores: the sources of agents, with the files that were uploaded into them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from dragoman.core.errors import AbsentError, AccessError, InputError
from dragoman.server.data import file_objects
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.chat_parameters import refused
from dragoman.server.http.file_schemas import (
    DeletedObject,
    FileBatch,
    FileBatchRequest,
    FileContent,
    StoreFile,
    StoreFileList,
    StoreFileRequest,
    StoreHits,
    StoreRequest,
    StoreSearchRequest,
    VectorStore,
    VectorStoreList,
)
from dragoman.server.http.problems import absent
from dragoman.server.routes.common import AgentName, Who, answer, answer_of, responds_with, service_of
from dragoman.server.routes.files import After, FileId, Order, page

if TYPE_CHECKING:
    from dragoman.server.access.caller import Caller
    from dragoman.server.http.schemas import Lenient
    from dragoman.server.http.views import View
    from dragoman.server.service import Service

router = APIRouter(prefix="/v1/vector_stores", tags=["OpenAI"])
StoreId: TypeAlias = Annotated[str, Path(min_length=1, max_length=1000, description="A vector store's id.")]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=100)]
_REFUSED = {
    "expires_after": "Sources and files stay until they are deleted.",
    "metadata": "Sources are described in the agent's configuration.",
    "attributes": "Files have no attributes of the caller's.",
    "chunking_strategy": "Files are divided by their headings and paragraphs.",
    "files": "Use `file_ids`.",
    "filters": "Files have no attributes to filter by.",
}


@router.post("", operation_id="create_vector_store", **responds_with(VectorStore))
async def create(body: StoreRequest, request: Request, caller: Who, agent: AgentName = "") -> Response:
    """The vector store of the source `name`; `file_ids` are attached to it.

    Sources are declared in the agent's configuration: a name that none has is refused.
    """
    check(body)
    service = service_of(request)
    hosted = service.hosted(agent).name
    source = await service.do(caller, hosted, _source, body.name)
    for file_id in body.file_ids:
        await _attach(service, caller, (hosted, source), file_id)
    return answer(await service.do(caller, hosted, file_objects.store, source))


@router.get("", operation_id="list_vector_stores", **responds_with(VectorStoreList))
async def listed(
    request: Request, caller: Who, *, limit: Limit = 20, after: After = "", order: Order = "asc"
) -> Response:
    """The sources of documents of all agents, as vector stores."""
    service = service_of(request)
    rows = [row for name in service.agents for row in await service.do(caller, name, file_objects.stores)]
    return answer(page(rows, limit=limit, after=after, order=order))


@router.get("/{store_id}", operation_id="retrieve_vector_store", **responds_with(VectorStore))
async def retrieve(store_id: StoreId, request: Request, caller: Who) -> Response:
    """One source, as a vector store."""
    agent, source = file_objects.parse_store_id(store_id)
    return answer(await service_of(request).do(caller, agent, file_objects.store, source))


@router.delete("/{store_id}", operation_id="delete_vector_store", **responds_with(DeletedObject))
async def delete(store_id: StoreId, request: Request, caller: Who) -> Response:
    """Refused: sources belong to the agent's configuration. Delete their files instead."""
    agent, source = file_objects.parse_store_id(store_id)
    await service_of(request).do(caller, agent, file_objects.store, source)
    raise AccessError(
        f"The source '{source}' belongs to the agent's configuration.", remedy="Delete its files one by one."
    )


@router.post("/{store_id}/search", operation_id="search_vector_store", **responds_with(StoreHits))
async def search(store_id: StoreId, body: StoreSearchRequest, request: Request, caller: Who) -> Response:
    """Search a source; best passages first, with their relevance as the score. Counts as a turn."""
    check(body)
    agent, source = file_objects.parse_store_id(store_id)
    service = service_of(request)
    await service.admit(caller)
    queries = [body.query] if isinstance(body.query, str) else body.query
    threshold = body.ranking_options.score_threshold if body.ranking_options else 0.0
    k = body.max_num_results
    return answer(await service.do(caller, agent, file_objects.search, source, queries, k, threshold))


@router.post("/{store_id}/files", operation_id="attach_file", **responds_with(StoreFile))
async def attach(store_id: StoreId, body: StoreFileRequest, request: Request, caller: Who) -> Response:
    """Put an uploaded file into a source: as a copy, unless it is there. Counts as a turn."""
    check(body)
    service = service_of(request)
    await service.admit(caller)
    return answer(await _attach(service, caller, file_objects.parse_store_id(store_id), body.file_id))


@router.get("/{store_id}/files", operation_id="list_store_files", **responds_with(StoreFileList))
async def files(
    store_id: StoreId, request: Request, caller: Who, *, limit: Limit = 20, after: After = "", order: Order = "asc"
) -> Response:
    """The files that were uploaded into a source."""
    agent, source = file_objects.parse_store_id(store_id)
    rows = await service_of(request).do(caller, agent, file_objects.store_files, source)
    return answer(page(rows, limit=limit, after=after, order=order))


@router.get(
    "/{store_id}/files/{file_id}",
    operation_id="retrieve_store_file",
    **responds_with(StoreFile),
)
async def file(store_id: StoreId, file_id: FileId, request: Request, caller: Who) -> Response:
    """One file of a source, by its id there or where it was uploaded first."""
    agent, source, name = _within(store_id, file_id)
    return answer(await service_of(request).do(caller, agent, file_objects.store_file, source, name))


@router.get(
    "/{store_id}/files/{file_id}/content",
    operation_id="store_file_content",
    **responds_with(FileContent),
)
async def content(store_id: StoreId, file_id: FileId, request: Request, caller: Who) -> Response:
    """The passages of a file, as they are searched."""
    agent, source, name = _within(store_id, file_id)
    return await answer_of(service_of(request), caller, agent, file_objects.store_content, source, name)


@router.delete(
    "/{store_id}/files/{file_id}",
    operation_id="detach_file",
    **responds_with(DeletedObject),
)
async def detach(store_id: StoreId, file_id: FileId, request: Request, caller: Who) -> Response:
    """Delete a file from a source; copies in other sources stay."""
    agent, source, name = _within(store_id, file_id)
    await service_of(request).read_in(caller, agent, source, file_objects.detach, name)
    return answer({"id": file_id, "object": "vector_store.file.deleted", "deleted": True})


@router.post(
    "/{store_id}/file_batches",
    operation_id="create_file_batch",
    **responds_with(FileBatch),
)
async def batch(store_id: StoreId, body: FileBatchRequest, request: Request, caller: Who) -> Response:
    """Put several uploaded files into a source; `file_counts` says how many failed. Counts as a turn."""
    check(body)
    service = service_of(request)
    await service.admit(caller)
    agent, source = file_objects.parse_store_id(store_id)
    await service.do(caller, agent, file_objects.store, source)
    failed = 0
    for file_id in body.file_ids:
        try:
            await _attach(service, caller, (agent, source), file_id)
        except (AbsentError, InputError):
            failed += 1
    created = int(time.time())
    return answer(file_objects.batch(agent, source, len(body.file_ids) - failed, failed, created))


@router.get(
    "/{store_id}/file_batches/{batch_id}",
    operation_id="retrieve_file_batch",
    **responds_with(FileBatch),
)
async def retrieve_batch(store_id: StoreId, batch_id: FileId, request: Request, caller: Who) -> Response:
    """Return the state of a batch."""
    file_objects.parse_store_id(store_id)
    batch_object = file_objects.batch_of(batch_id)
    if batch_object["vector_store_id"] != store_id:
        raise absent("batch")
    return answer(batch_object)


def check(body: Lenient) -> None:
    """Raise an error for a parameter that is not honoured."""
    extra = body.model_extra or {}
    for name, note in _REFUSED.items():
        if extra.get(name):
            raise refused(name, note)


def _within(store_id: str, file_id: str) -> tuple[str, str, str]:
    """Agent and source of a vector store, and the name of a file in it."""
    agent, source = file_objects.parse_store_id(store_id)
    owner, _, name = file_objects.parse_file_id(file_id)
    if owner != agent:
        raise absent("file")
    return agent, source, name


async def _attach(service: Service, caller: Caller, store: tuple[str, str], file_id: str) -> View:
    agent, source = store
    owner, origin, name = file_objects.parse_file_id(file_id)
    if owner != agent:
        raise InputError("The file was uploaded for another agent.", remedy="Upload it with ?agent=NAME.")
    return await service.read_in(caller, agent, source, file_objects.attach, origin, name)


def _source(seat: Seat, name: str | None) -> str:
    """The source of a name; without one, the caller's own."""
    if not name:
        return file_objects.default_source(seat)
    names: Sequence[str] = [row["name"] for row in file_objects.stores(seat)]
    if name not in names:
        raise refused("name", f"Sources are declared in the agent's configuration. Available: {', '.join(names)}.")
    return name
