"""Sources of an agent with counts, and searches in them. Functions for `Service.do`."""

from __future__ import annotations

from dragoman.core.values import Context, Request, Turn
from dragoman.server.data import uploads
from dragoman.server.hosted_agent import Seat
from dragoman.server.http import views
from dragoman.server.http.views import View


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
