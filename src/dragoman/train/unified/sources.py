"""The sources that a unified model learns to ask: all that its turns name, and in which orders they may be asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example
from dragoman.core.values import Source
from dragoman.models.unified.model import Order


def sources_of(examples: Sequence[Example]) -> tuple[Source, ...]:
    """All sources of some turns, each once, in the order in which they are met."""
    by_name: dict[str, Source] = {}
    seen: set[int] = set()
    for example in examples:
        if id(example.sources) in seen:
            continue
        seen.add(id(example.sources))
        for source in example.sources:
            first = by_name.setdefault(source.name, source)
            if first.needs != source.needs:
                raise TrainingError(
                    f"The source '{source.name}' needs {list(first.needs)} in one set and {list(source.needs)} in "
                    "another.",
                    remedy="Give the sources different names, or the same needs.",
                )
    if not by_name:
        raise TrainingError("The training turns name no source.", remedy="Give a set with sources.")
    return tuple(by_name.values())


@lru_cache(maxsize=64)
def orders_of(sources: tuple[Source, ...]) -> tuple[Order, ...]:
    """Every legal order of some sources, as the planner that runs the part has them."""
    from dragoman.planner.acting import legal_orders
    from dragoman.sources.graph import SourceGraph

    return legal_orders(SourceGraph(sources), {source.name for source in sources})
