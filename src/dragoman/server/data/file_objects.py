"""Uploads and sources in the terms of OpenAI's API: files and vector stores. Functions for `Service.do` and `read_in`.

An id holds the agent's, the source's and the file's name, so that no table of ids is needed and every server of an
agent understands it. It opens nothing: names are looked up among what the caller may see.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from dragoman.core.errors import AccessError, InputError
from dragoman.core.values import Source
from dragoman.server.data import source_search, uploads
from dragoman.server.data.uploads import Upload
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.problems import absent
from dragoman.server.http.views import View
from dragoman.sources.upload_folders import FOLDER

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant

_FILE, _STORE, _BATCH = "file-", "vs_", "vsfb_"
_SEARCH_PAGE = "vector_store.search_results.page"


def file_id(agent: str, source: str, name: str) -> str:
    """The id of an uploaded file."""
    return _id(_FILE, agent, source, name)


def parse_file_id(id: str) -> tuple[str, str, str]:
    """The agent, source and name of a file; a malformed id counts as unknown."""
    agent, source, name = _parts(_FILE, id, "file", 3)
    return agent, source, name


def store_id(agent: str, source: str) -> str:
    """The id of a source as a vector store."""
    return _id(_STORE, agent, source)


def parse_store_id(id: str) -> tuple[str, str]:
    """The agent and source of a vector store; a malformed id counts as unknown."""
    agent, source = _parts(_STORE, id, "vector store", 2)
    return agent, source


def _id(prefix: str, *parts: str) -> str:
    return prefix + base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def _parts(prefix: str, id: str, what: str, count: int) -> list[str]:
    try:
        name = id.removeprefix(prefix)
        parts = json.loads(base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)))
        if not id.startswith(prefix) or not isinstance(parts, list) or [type(part) for part in parts] != [str] * count:
            raise ValueError
    except (ValueError, RecursionError):  # of base64, UTF-8 and JSON too
        raise absent(what) from None
    return parts


# Files


def files(seat: Seat) -> list[View]:
    """Every uploaded file that the caller may search, by source and name."""
    return [_file(seat, source, row) for source in _documents(seat) for row in uploads.files(seat, source)]


def file(seat: Seat, source: str, name: str) -> View:
    """One uploaded file."""
    declared = _document_source(seat, source, "file")
    return _file(seat, declared, uploads.file(seat, declared, name))


def content(seat: Seat, source: str, name: str) -> BinaryIO:
    """The bytes of an uploaded file, open for reading."""
    return uploads.open_upload(seat, _document_source(seat, source, "file"), name)


def put(seat: Seat, source: Source, upload: Upload) -> View:
    """Upload one file; raises an error that says why if it cannot be read."""
    report = uploads.put(seat, source, [upload])
    if report.failed:
        raise InputError(f"The file cannot be read: {report.failed[0].reason}")  # the reason says what to do
    return file(seat, source.name, str(uploads.safe_name(upload.name)))


def default_source(seat: Seat) -> str:
    """The source of uploads that name none: the caller's own, or else a shared one that the caller may write."""
    writable = [source for source in _documents(seat) if uploads.writable(seat, source)]
    own = [source.name for source in writable if source.private]
    targets = own or [source.name for source in writable]
    if not targets:
        raise AccessError("The agent has no source that this key may write.", remedy="Use an admin key.")
    return targets[-1]


def _file(seat: Seat, source: Source, row: View) -> View:
    return {
        "id": file_id(seat.agent, source.name, row["name"]),
        "object": "file",
        "bytes": row["bytes"],
        "created_at": row["modified"],
        "filename": row["name"],
        "purpose": "assistants",
        "status": "processed",
        "status_details": None,
        "expires_at": None,
    }


# Vector stores


def stores(seat: Seat) -> list[View]:
    """The sources of documents, as vector stores."""
    return [_store(seat, source) for source in _documents(seat)]


def store(seat: Seat, source: str) -> View:
    """One source, as a vector store."""
    return _store(seat, _document_source(seat, source, "vector store"))


def store_files(seat: Seat, source: str) -> list[View]:
    """The uploaded files of a source, as files of its vector store."""
    declared = _document_source(seat, source, "vector store")
    return [_store_file(seat, declared, row) for row in uploads.files(seat, declared)]


def store_file(seat: Seat, source: str, name: str) -> View:
    """One file of a vector store."""
    declared = _document_source(seat, source, "vector store")
    return _store_file(seat, declared, uploads.file(seat, declared, name))


def store_content(seat: Seat, source: str, name: str) -> View:
    """The passages of a file, in order."""
    declared = _document_source(seat, source, "vector store")
    row = uploads.file(seat, declared, name)
    scope = declared.scope(seat.scope)
    passages = seat.assistant.store.passages(scope, declared.name, origin=f"{FOLDER}/{row['name']}")
    texts = [{"type": "text", "text": passage.text} for passage in sorted(passages, key=lambda one: one.position)]
    return {"object": "vector_store.file_content.page", "data": texts, "has_more": False, "next_page": None}


def attach(seat: Seat, source: Source, origin: str, name: str) -> View:
    """Put a file of the source `origin` into a source as a copy; one that is there already stays as it is."""
    if origin != source.name:
        with uploads.open_upload(seat, _document_source(seat, origin, "file"), name) as opened:
            put(seat, source, Upload(name, opened))
    return store_file(seat, source.name, name)


def detach(seat: Seat, source: Source, name: str) -> None:
    """Delete a file from a source."""
    uploads.remove(seat, source, name)


def search(seat: Seat, source: str, queries: Sequence[str], k: int, threshold: float) -> View:
    """The passages of a source that match any of the queries, best first."""
    declared = _document_source(seat, source, "vector store")
    best: dict[str, View] = {}
    for query in queries:
        for row in source_search.search(seat, declared.name, query, k):
            if row["relevance"] >= max(threshold, best.get(row["id"], {}).get("relevance", 0.0)):
                best[row["id"]] = row
    rows = sorted(best.values(), key=lambda row: -row["relevance"])[:k]
    hits = [_result(seat, declared, row) for row in rows]
    return {
        "object": _SEARCH_PAGE,
        "search_query": list(queries),
        "data": hits,
        "has_more": False,
        "next_page": None,
    }


def batch(agent: str, source: str, completed: int, failed: int, created: int) -> View:
    """A batch of attached files. Its id holds the counts: all of its work is done when it is answered."""
    return {
        "id": _id(_BATCH, agent, source, str(completed), str(failed), str(created)),
        "object": "vector_store.files_batch",
        "created_at": created,
        "status": "completed",
        "vector_store_id": store_id(agent, source),
        "file_counts": _counts(completed, failed),
    }


def batch_of(id: str) -> View:
    """The batch that an id names."""
    agent, source, *numbers = _parts(_BATCH, id, "batch", 5)
    if not all(number.isdecimal() and len(number) < 16 for number in numbers):
        raise absent("batch")
    return batch(agent, source, *(int(number) for number in numbers))


def citation(agent: str, source: str, origin: str) -> View:
    """The file behind a passage of a source."""
    name = origin.removeprefix(f"{FOLDER}/")
    return {"file_id": file_id(agent, source, name), "filename": name}


def document_sources(assistant: Assistant) -> frozenset[str]:
    """The names of the sources that hold documents; facts about the user have an API of their own."""
    return frozenset(source.name for source in assistant.sources if source.about != "user")


def sources_of(seat: Seat, stores: Sequence[str]) -> list[str]:
    """The sources of some vector stores of the agent, and those that hold no documents: facts about the user."""
    store_ids = [parse_store_id(store) for store in stores]
    if any(agent != seat.agent for agent, _ in store_ids):
        raise absent("vector store of this agent")
    names = {_document_source(seat, source, "vector store").name for _, source in store_ids}
    return [one.name for one in seat.assistant.sources if one.name in names or one.about == "user"]


def _result(seat: Seat, source: Source, row: View) -> View:
    return {
        **citation(seat.agent, source.name, str(row["origin"])),
        "score": row["relevance"],
        "attributes": {"passage": row["id"][:512], "title": row["title"][:512], "source": source.name},
        "content": [{"type": "text", "text": row["text"]}],
    }


def _store(seat: Seat, source: Source) -> View:
    rows = uploads.files(seat, source)
    return {
        "id": store_id(seat.agent, source.name),
        "object": "vector_store",
        "created_at": min((row["modified"] for row in rows), default=0),
        "name": source.name,
        "description": source.description,
        "usage_bytes": sum(row["bytes"] for row in rows),
        "file_counts": _counts(len(rows), 0),
        "status": "completed",
        "last_active_at": max((row["modified"] for row in rows), default=None),
        "metadata": {"agent": seat.agent, "private": str(source.private).lower()},
        "expires_at": None,
    }


def _store_file(seat: Seat, source: Source, row: View) -> View:
    return {
        "id": file_id(seat.agent, source.name, row["name"]),
        "object": "vector_store.file",
        "created_at": row["modified"],
        "usage_bytes": row["bytes"],
        "vector_store_id": store_id(seat.agent, source.name),
        "status": "completed",
        "last_error": None,
        "attributes": {"passages": row["passages"]},
    }


def _counts(completed: int, failed: int) -> View:
    return {
        "in_progress": 0,
        "completed": completed,
        "failed": failed,
        "cancelled": 0,
        "total": completed + failed,
    }


def _documents(seat: Seat) -> Iterator[Source]:
    names = document_sources(seat.assistant)
    return (source for source in seat.assistant.sources if source.name in names)


def _document_source(seat: Seat, name: str, what: str) -> Source:
    declared = next((source for source in _documents(seat) if source.name == name), None)
    if declared is None:
        raise absent(what)
    return declared
