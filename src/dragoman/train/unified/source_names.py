"""Sources by other names: sets that call the same thing differently teach one model the same tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dragoman.core.errors import ConfigError
from dragoman.core.examples import Example
from dragoman.core.values import Passage, Source
from dragoman.train.contract import Corpus


def renamed(corpus: Corpus, names: Mapping[str, str]) -> Corpus:
    """The same turns with sources by other names; two that get one name become one.

    Who needs whom is left to the agents that run the model: sets seldom agree on it. What a passage stands on stays.
    """
    if not names:
        return corpus
    return replace(
        corpus,
        examples=tuple(_example(example, names) for example in corpus.examples),
        passages=tuple(_passage(passage, names) for passage in corpus.passages),
    )


def check_names(names: Mapping[str, str], declared: frozenset[str]) -> None:
    """A name that no set has is a slip."""
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
