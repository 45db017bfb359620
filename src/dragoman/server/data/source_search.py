"""Sources of an agent with counts, and searches in them. Functions for `Service.do`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice

from dragoman.core.values import Context, Request, Turn
from dragoman.server.data import uploads
from dragoman.server.hosted_agent import Seat
from dragoman.server.http import views
from dragoman.server.http.views import View
from dragoman.sources.upload_folders import FOLDER

_PREVIEWED = 30
_MOST_DOCUMENTS, _MOST_PASSAGES = 200, 20_000
"""Documents that are listed, and passages that are counted for it: a source may have millions."""


def describe(seat: Seat) -> View:
    """Description of an agent for a caller."""
    assistant = seat.assistant
    return {
        "name": seat.agent,
        "title": assistant.name,
        "greeting": assistant.greeting,
        "examples": list(assistant.examples),
        "language": str(assistant.config.get("language", "")),
        "models": list(seat.models),
        "sources": sources(seat),
    }


def sources(seat: Seat) -> list[View]:
    """Every source with the number of passages visible to the caller."""
    store = seat.assistant.store
    return [
        views.source(
            source,
            count=store.count(source.scope(seat.scope), source.name),
            writable=uploads.writable(seat, source),
        )
        for source in seat.assistant.sources
    ]


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document of a source: the `origin` of its passages, the name that is shown, and how many passages it has."""

    origin: str
    name: str
    passages: int


def documents(seat: Seat, source: str) -> tuple[list[DocumentEntry], bool]:
    """The first documents of a source by name, and whether there are more; rows without a file count as one."""
    declared = seat.source(source)
    rows = seat.assistant.store.passages(declared.scope(seat.scope), declared.name)
    counts = Counter(row.origin for row in islice(rows, _MOST_PASSAGES))
    more = next(rows, None) is not None
    entries = sorted(counts.items())
    documents = [DocumentEntry(origin, origin.removeprefix(f"{FOLDER}/") or source, count) for origin, count in entries]
    return documents[:_MOST_DOCUMENTS], more or len(documents) > _MOST_DOCUMENTS


@dataclass(frozen=True, slots=True)
class ReadPassage:
    """A passage of a document as the agent reads it, with its page and the heading above it; "" where there is none."""

    text: str
    page: str = ""
    heading: str = ""


def first_passages(seat: Seat, source: str, origin: str) -> list[ReadPassage]:
    """The first passages of a document."""
    declared = seat.source(source)
    rows = seat.assistant.store.passages(declared.scope(seat.scope), declared.name, origin=origin)
    ordered = nsmallest(_PREVIEWED, rows, key=lambda row: row.position)
    return [ReadPassage(row.text, row.meta.get("page", ""), next(iter(row.headings[-1:]), "")) for row in ordered]


def search(seat: Seat, source: str, query: str, k: int) -> list[View]:
    """Search a source; best passages first."""
    context = Context((Turn("user", query),), seat.scope)
    (evidence,) = seat.assistant.agent.retriever.retrieve([Request(context, (seat.source(source),), k)])
    return [views.evidence(piece) for piece in evidence]


def embed(seat: Seat, texts: list[str]) -> list[list[float]]:
    """Encode texts as unit vectors with the agent's encoder."""
    return [[float(number) for number in vector] for vector in seat.assistant.encoder.encode(texts)]


def dimensions(seat: Seat) -> int:
    """The length of the vectors of the agent's encoder."""
    return seat.assistant.encoder.dimensions
