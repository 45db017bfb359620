"""Sources of unified training: those that the turns name, their legal orders, and their names in the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.core.examples import Example
from dragoman.core.values import Passage, Source
from dragoman.models.unified.model import Order
from dragoman.train.contract import Corpus


def sources_of(examples: Sequence[Example]) -> tuple[Source, ...]:
    """Return the distinct sources of turns, in order of first occurrence."""
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
    """Return every legal order of sources, as the planner computes them."""
    from dragoman.planner.acting import legal_orders
    from dragoman.sources.graph import SourceGraph

    return legal_orders(SourceGraph(sources), {source.name for source in sources})


def rename_sources(corpus: Corpus, names: Mapping[str, str]) -> Corpus:
    """Rename sources, so that sets with different names for one thing train the same tokens; equal names merge.

    `needs` is dropped, since sets seldom agree on it; the agents that run the model declare it. Parents of passages
    stay.
    """
    if not names:
        return corpus
    return replace(
        corpus,
        examples=tuple(_example(example, names) for example in corpus.examples),
        passages=tuple(_passage(passage, names) for passage in corpus.passages),
    )


def check_names(names: Mapping[str, str], declared: frozenset[str]) -> None:
    """Raise an error for a name that no set has."""
    strange = sorted(names.keys() - declared)
    if strange:
        raise ConfigError(
            f"input.sources renames {', '.join(strange)}, which no set has.",
            remedy=f"The sets have: {', '.join(sorted(declared))}.",
        )


def _example(example: Example, names: Mapping[str, str]) -> Example:
    plan = example.gold.plan
    renamed_plan = None if plan is None else tuple(dict.fromkeys(names.get(source, source) for source in plan))
    return replace(
        example,
        sources=_sources(example.sources, names),
        candidates=tuple(_passage(passage, names) for passage in example.candidates),
        gold=replace(example.gold, plan=renamed_plan),
    )


def _sources(sources: tuple[Source, ...], names: Mapping[str, str]) -> tuple[Source, ...]:
    by_name: dict[str, Source] = {}
    for source in sources:
        name = names.get(source.name, source.name)
        by_name.setdefault(name, replace(source, name=name, needs=()))
    return tuple(by_name.values())


def _passage(passage: Passage, names: Mapping[str, str]) -> Passage:
    name = names.get(passage.source)
    return passage if name is None else replace(passage, source=name)
