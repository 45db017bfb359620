"""Facts about the user: list, add, correct, export and delete them."""

from __future__ import annotations

from asyncio import to_thread
from functools import partial
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from dragoman.server.data import user_data
from dragoman.server.http import views
from dragoman.server.http.reply_schemas import LearnedView
from dragoman.server.http.resource_schemas import (
    EverythingRemoved,
    ExportView,
    FactList,
    ImportView,
    RemovedView,
    WishList,
)
from dragoman.server.http.schemas import FactRequest, ImportRequest
from dragoman.server.routes.common import AgentName, KnownFirst, Who, answer, answer_of, responds_with, service_of

router = APIRouter(prefix="/v1/memory", tags=["Memory"])
streaming = APIRouter(tags=["Memory"], route_class=KnownFirst)
_ANY_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
FactId = Annotated[str, Path(min_length=1, max_length=200)]


@router.get("", operation_id="facts", **responds_with(FactList))
async def facts(
    request: Request,
    caller: Who,
    agent: AgentName = "",
    query: Annotated[str | None, Query(min_length=1, max_length=2000, description="Only what fits this.")] = None,
    *,
    at: Annotated[str, Query(max_length=40, description="What was known on this day (2026-05-03).")] = "",
    since: Annotated[str, Query(max_length=40, description="Only what was told from this day on.")] = "",
    until: Annotated[str, Query(max_length=40, description="Only what was told before this day.")] = "",
) -> Response:
    """Facts about the user, and the words they were learned from."""
    read_facts = partial(user_data.facts, at=at, since=since, until=until)
    return await answer_of(service_of(request), caller, agent, lambda seat: views.listing(read_facts(seat, query)))


@router.post("", operation_id="remember", **responds_with(LearnedView))
async def remember(body: FactRequest, request: Request, caller: Who, agent: AgentName = "") -> Response:
    """Remember a fact, which replaces facts it contradicts. Counts as a turn."""
    service = service_of(request)
    await service.admit(caller)
    return answer(await service.do(caller, agent, user_data.remember, body.text))


@router.delete("", operation_id="forget_me", **responds_with(EverythingRemoved))
async def forget_me(
    request: Request,
    caller: Who,
    everything: Annotated[Literal["true"], Query(description="Say so: all of the user's facts, dialogues and files.")],
    confirm: Annotated[
        bool, Query(description="The user has agreed. Without it the answer is 409, with what would be deleted.")
    ] = False,
    agent: AgentName = "",
) -> Response:
    """Delete everything of the user, from every file. Running turns are cancelled.

    Without `confirm=true` nothing is deleted, and the problem says how much would be. The receipt says what was erased
    from which file, with hashes; it is stored nowhere.
    """
    removed, receipt = await service_of(request).forget_everything(caller, agent, confirmed=confirm)
    return answer({"removed": removed, "receipt": views.receipt(receipt)})


@router.get("/export", operation_id="export", **responds_with(ExportView))
async def export(request: Request, caller: Who, agent: AgentName = "") -> Response:
    """Everything stored about the user."""
    return await answer_of(service_of(request), caller, agent, user_data.export)


@router.post("/import", operation_id="import_memory", **responds_with(ImportView))
async def import_memory(body: ImportRequest, request: Request, caller: Who, agent: AgentName = "") -> Response:
    """Take the facts of a file into memory, each once and with its date. Counts as a turn.

    With `dry_run` nothing changes. Orders to the agent that the file holds are left out.
    """
    service = service_of(request)
    await service.admit(caller)
    import_facts = partial(user_data.import_memory, chats=body.chats, dry_run=body.dry_run)
    return await answer_of(service, caller, agent, import_facts, body.content)


@streaming.put(
    "/v1/memory/import", operation_id="import_memory_file", openapi_extra=_ANY_FILE, **responds_with(ImportView)
)
async def import_file(
    request: Request,
    caller: Who,
    *,
    agent: AgentName = "",
    chats: Annotated[bool, Query(description="Keep its chats too, as past chats of the user.")] = False,
    dry_run: Annotated[bool, Query(description="Only say what would be kept.")] = False,
) -> Response:
    """Take the facts of a large file into memory: the body is the file as it came, JSON, Markdown or zip, up to 2 GB.

    It is written to a temporary file and read piece by piece. Otherwise like the import of a text. Counts as a turn.
    """
    service = service_of(request)
    await service.admit(caller)
    with TemporaryDirectory(prefix="dragoman-import-") as folder:
        path = FilePath(folder) / "import"
        try:
            with path.open("wb") as file:
                async for piece in request.stream():
                    await to_thread(file.write, piece)  # a disk that is behind lets writers wait
            import_facts = partial(user_data.import_file, chats=chats, dry_run=dry_run)
            return await answer_of(service, caller, agent, import_facts, path)
        finally:
            await to_thread(path.unlink, missing_ok=True)  # of a large file it takes long


@router.get("/wishes", operation_id="wishes", **responds_with(WishList))
async def wishes(request: Request, caller: Who, agent: AgentName = "") -> Response:
    """Standing wishes about the wording of replies."""
    return answer(views.listing(await service_of(request).do(caller, agent, user_data.wishes)))


@router.delete("/wishes/{id}", operation_id="end_wish", **responds_with(RemovedView))
async def end_wish(id: FactId, request: Request, caller: Who, agent: AgentName = "") -> Response:
    """Delete a standing wish."""
    return answer({"removed": await service_of(request).do(caller, agent, user_data.end_wish, id)})


@router.put("/{id}", operation_id="correct", **responds_with(LearnedView))
async def correct(id: FactId, body: FactRequest, request: Request, caller: Who, agent: AgentName = "") -> Response:
    """Replace a fact. Counts as a turn; running turns are cancelled."""
    service = service_of(request)
    await service.admit(caller)
    return answer(await service.forgetting(caller, agent, user_data.correct, id, body.text))


@router.delete("/{id}", operation_id="forget", **responds_with(RemovedView))
async def forget(id: FactId, request: Request, caller: Who, agent: AgentName = "") -> Response:
    """Delete one fact, and blank the turns that mention it. Running turns are cancelled.

    The user can restore it by saying "undo" in a chat within a minute.
    """
    return answer({"removed": await service_of(request).forgetting(caller, agent, user_data.forget, id)})
