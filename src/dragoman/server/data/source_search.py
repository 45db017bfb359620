"""What an agent can look in: sources with counts, and a query to try. Chores for `Service.do`."""

from __future__ import annotations

from dragoman.core.values import Context, Request, Turn
from dragoman.server.data import uploads
from dragoman.server.hosted_agent import Seat
from dragoman.server.http import views
from dragoman.server.http.views import View


def describe(seat: Seat) -> View:
    """An agent as the caller meets it."""
    assistant = seat.assistant
    return {
        "name": seat.agent,
        "title": assistant.name,
        "greeting": assistant.greeting,
        "examples": list(assistant.examples),
        "language": str(assistant.config.get("language", "")),
        "sources": sources(seat),
    }


def sources(seat: Seat) -> list[View]:
    """Every source with the number of its passages that the caller may see."""
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
    """What a source gives for a query, best first."""
    context = Context((Turn("user", query),), seat.scope)
    (found,) = seat.assistant.agent.retriever.retrieve([Request(context, (seat.source(source),), k)])
    return [views.evidence(piece) for piece in found]


def embed(seat: Seat, texts: list[str]) -> list[list[float]]:
    """Texts as unit vectors of the agent's encoder."""
    return [[float(number) for number in vector] for vector in seat.assistant.encoder.encode(texts)]
