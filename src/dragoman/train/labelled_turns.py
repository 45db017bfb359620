"""The labelled turns of a side, as gates and planners learn from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dragoman.core.examples import Example
from dragoman.train.checks import check_classes, is_held_out, labelled
from dragoman.train.contract import Corpus


def gate_side(corpus: Corpus, side: str) -> Corpus:
    """The turns labelled with whether to retrieve; raise an error for labels of one class."""
    turns = labelled(corpus, ("retrieve",), side)
    truths = [example.gold.retrieve for example in turns]
    check_classes(truths, what="retrieve", side=side, held_out=is_held_out(corpus))
    return replace(corpus, examples=turns)


def plan_side(corpus: Corpus, side: str) -> Corpus:
    """The turns labelled with a plan; an empty plan is NULL."""
    return replace(corpus, examples=labelled(corpus, ("plan",), side))


def gate_labels(examples: Sequence[Example]) -> list[float]:
    """1 for a turn that needs retrieval, 0 for one that does not."""
    return [float(bool(example.gold.retrieve)) for example in examples]
