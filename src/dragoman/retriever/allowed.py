"""Limit another retriever to the sources that the caller allows for a turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dragoman.core.protocols import Retriever, warm
from dragoman.core.trace import Found
from dragoman.core.values import Evidence, Request


class AllowedRetriever:
    """Wraps a retriever and hides sources that a turn must not read.

    It is the innermost retriever: planners and other retrievers search through it.
    """

    def __init__(self, inner: Retriever) -> None:
        self._inner = inner
        describe: Callable[[Request], str] | None = getattr(inner, "describe", None)
        if describe is not None:
            self.describe = describe

    def warm_up(self) -> None:
        """Load what the other retriever needs."""
        warm(self._inner)

    def retrieve(self, requests: Sequence[Request]) -> Sequence[Sequence[Evidence]]:
        if not any(request.context.control.limits_sources for request in requests):
            return self._inner.retrieve(requests)
        allowed = [_limited(request) for request in requests]
        results = iter(self._inner.retrieve([request for request in allowed if request.sources]))
        return [next(results) if request.sources else Found() for request in allowed]


def _limited(request: Request) -> Request:
    control = request.context.control
    if not control.limits_sources:
        return request
    return replace(request, sources=tuple(source for source in request.sources if control.reads(source)))
