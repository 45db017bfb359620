"""What bi- and cross-encoders share: the tables of their recipes, and the calibration of their parts by source."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import Field

from dragoman.models.part import Head, Part
from dragoman.retriever.search import Dependency, QueryKind
from dragoman.retriever.trained import HEAD
from dragoman.train.calibration.fitting import fit_calibration
from dragoman.train.contract import Corpus, Job
from dragoman.train.ranking.negatives import Analyse, narrowed
from dragoman.train.ranking.pairs import Pool, RankingPairs, joined, pairs
from dragoman.train.recipe_tables import RecipeTable, TrunkTable

if TYPE_CHECKING:
    from dragoman.train.ranking.bi_encoder import Negatives

LABEL = "relevant"
_WIDEST = 256
"""Candidates of a question that are measured: what words find of a source with more."""
_ENOUGH = 50
"""Right and wrong candidates of a source from which on it is calibrated by itself."""


class Input(RecipeTable):
    """What is asked, and of what; stored with the part, which is used as it was trained."""

    query: QueryKind = "standalone"
    dependency: Dependency = "filter"
    pool: Pool = "source"
    empty: bool = False
    """Also learn from turns that need nothing: nothing that they could take is right. (A bi-encoder only calibrates
    by them: there is no right one to set against the others.)"""


class Model(TrunkTable):
    """The trunk, and which negatives it meets."""

    max_tokens: int = Field(default=256, ge=8)
    runs: int = Field(default=1, ge=1)
    """So many trainings from the same weights, each with its own order and chance; the part is their mean."""
    positives: int = Field(default=4, ge=1)
    """Right ones of a question in one epoch, where it has more."""
    own: int = Field(default=32, ge=1)
    """Wrong candidates of the turn itself in one epoch, where it has more."""
    words: int = Field(default=0, ge=0)
    """Hard negatives of the whole training part by BM25."""
    mined: int = Field(default=0, ge=0)
    """Hard negatives by the model itself, found anew before each epoch from `after` (counted from 0) on."""
    after: int = Field(default=1, ge=0)
    ceiling: float = Field(default=0.95, gt=0)
    """What comes nearer than this share of the right one's cosine is not mined: it may be right too. 1: all is."""

    def negatives(self) -> Negatives:
        from dragoman.train.ranking.bi_encoder import Negatives

        return Negatives(self.own, self.words, self.mined, self.after, self.ceiling)


def asked(job: Job, inputs: Input) -> tuple[RankingPairs, RankingPairs]:
    """The questions of both sides; those of auxiliary data, where there is any, are learned beside training's own."""
    options = {"query": inputs.query, "dependency": inputs.dependency, "pool": inputs.pool, "empty": inputs.empty}
    train = pairs(job.train, side="training", **options)  # type: ignore[arg-type]  # checked by `Input`
    dev = pairs(job.dev, side="dev", **options)  # type: ignore[arg-type]
    if job.aux is not None:
        train = joined(train, pairs(job.aux, side="auxiliary", **options))  # type: ignore[arg-type]
    return train, dev


def small(dev: RankingPairs, analyse: Analyse, *, most: int, seed: int) -> RankingPairs:
    """Questions of dev, by chance, with no more than `most` candidates in all: what an exported model is read off."""
    wide = narrowed(dev, analyse, _WIDEST)
    order = list(range(len(wide.questions)))
    random.Random(seed).shuffle(order)
    places: set[int] = set()
    total = 0
    for place in order:
        total += len(wide.questions[place].candidates)
        if places and total > most:
            break
        places.add(place)
    chosen = tuple(question for place, question in enumerate(wide.questions) if place in places)
    numbers = sorted({place for question in chosen for place in (*question.candidates, *question.gold)})
    new = {old: place for place, old in enumerate(numbers)}
    moved = tuple(
        replace(
            question,
            gold=frozenset(new[place] for place in question.gold),
            candidates=tuple(new[place] for place in question.candidates),
            offered=tuple(new[place] for place in question.offered),
        )
        for question in chosen
    )
    return RankingPairs(moved, tuple(wide.texts[old] for old in numbers))


def offered(dev: RankingPairs) -> list[int]:
    """Of all candidates of all questions, in order, the numbers of those that are offered: what use meets."""
    numbers, at = [], 0
    for question in dev.questions:
        open_ones = set(question.offered)
        numbers += [at + i for i, place in enumerate(question.candidates) if place in open_ones]
        at += len(question.candidates)
    return numbers


def labels(dev: RankingPairs) -> list[bool]:
    """Whether each candidate that is offered is right, in order."""
    return [right for _, right in _judged(dev)]


def by_source(part: Part, dev: RankingPairs, scores: Sequence[float], job: Job) -> Part:
    """The part with a calibration of its own for each source that dev has enough of; scores are of the offered."""
    rows = _judged(dev)
    head = part.head(HEAD)
    calibrations = dict(head.calibrations)
    for source in dict.fromkeys(name for name, _ in rows):
        mine = [(score, right) for score, (name, right) in zip(scores, rows, strict=True) if name == source]
        right = [is_right for _, is_right in mine]
        if min(sum(right), len(right) - sum(right)) >= _ENOUGH and source not in calibrations:
            calibrations[source] = fit_calibration([score for score, _ in mine], right, job.recipe.calibrate.method)
    heads = {**part.heads, HEAD: Head(head.labels, calibrations, head.thresholds)}
    return replace(part, heads=heads)


def _judged(dev: RankingPairs) -> list[tuple[str, bool]]:
    """The source of each candidate that is offered, and whether it is right."""
    rows = []
    for question in dev.questions:
        open_ones = set(question.offered)
        rows += [(question.source, place in question.gold) for place in question.candidates if place in open_ones]
    return rows


def analyser(corpus: Corpus) -> Analyse:
    """Words for BM25 in the language of the data."""
    from dragoman.text.analyse import SNOWBALL, Analyser

    language = corpus.sets[0].language if corpus.sets else "auto"
    return Analyser(language=language if language in SNOWBALL else "auto")
