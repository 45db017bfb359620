"""Shared parts of bi- and cross-encoder training: recipe tables, and calibration by source."""

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
from dragoman.train.ranking.negatives import Analyse, limit_candidates
from dragoman.train.ranking.pairs import Pool, RankingPairs, join_pairs, pairs
from dragoman.train.recipe_tables import RecipeTable, TrunkTable

if TYPE_CHECKING:
    from dragoman.train.ranking.bi_encoder import Negatives

LABEL = "relevant"
_WIDEST = 256
"""Most candidates of a question in measures; of larger sources the best by BM25."""
_ENOUGH = 50
"""Least number of right and of wrong candidates for a source's own calibration."""


class Input(RecipeTable):
    """Query options, stored with the part so that use and training agree."""

    query: QueryKind = "standalone"
    dependency: Dependency = "filter"
    pool: Pool = "source"
    empty: bool = False
    """Also learn from turns that need nothing: nothing that they could take is right. (A bi-encoder only calibrates
    by them: there is no right one to set against the others.)"""


class Model(TrunkTable):
    """Trunk and negatives."""

    max_tokens: int = Field(default=256, ge=8)
    runs: int = Field(default=1, ge=1)
    """Number of trainings from the same weights with different seeds; the part is their mean."""
    positives: int = Field(default=4, ge=1)
    """Most positives of a question in one epoch."""
    own: int = Field(default=32, ge=1)
    """Most wrong candidates of the turn itself in one epoch."""
    words: int = Field(default=0, ge=0)
    """Number of hard negatives by BM25."""
    mined: int = Field(default=0, ge=0)
    """Number of hard negatives by the model, mined before each epoch from `after` (counted from 0) on."""
    after: int = Field(default=1, ge=0)
    ceiling: float = Field(default=0.95, gt=0)
    """Share of the positive's cosine above which texts are not mined, since they may be right too. 1: no limit."""

    def negatives(self) -> Negatives:
        from dragoman.train.ranking.bi_encoder import Negatives

        return Negatives(self.own, self.words, self.mined, self.after, self.ceiling)


def ranking_questions(job: Job, inputs: Input) -> tuple[RankingPairs, RankingPairs]:
    """Return the questions of both sides; auxiliary ones are added to training's."""
    options = {"query": inputs.query, "dependency": inputs.dependency, "pool": inputs.pool, "empty": inputs.empty}
    train = pairs(job.train, side="training", **options)  # type: ignore[arg-type]  # checked by `Input`
    dev = pairs(job.dev, side="dev", **options)  # type: ignore[arg-type]
    if job.aux is not None:
        train = join_pairs(train, pairs(job.aux, side="auxiliary", **options))  # type: ignore[arg-type]
    return train, dev


def small(dev: RankingPairs, analyse: Analyse, *, most: int, seed: int) -> RankingPairs:
    """Draw questions of dev with at most `most` candidates in all, for measures of an exported model."""
    wide = limit_candidates(dev, analyse, _WIDEST)
    order = list(range(len(wide.questions)))
    random.Random(seed).shuffle(order)
    places: set[int] = set()
    total = 0
    for place in order:
        total += len(wide.questions[place].candidates)
        if places and total > most:
            break
        places.add(place)
    questions = tuple(question for place, question in enumerate(wide.questions) if place in places)
    numbers = sorted({place for question in questions for place in (*question.candidates, *question.gold)})
    new = {old: place for place, old in enumerate(numbers)}
    moved = tuple(
        replace(
            question,
            gold=frozenset(new[place] for place in question.gold),
            candidates=tuple(new[place] for place in question.candidates),
            offered=tuple(new[place] for place in question.offered),
        )
        for question in questions
    )
    return RankingPairs(moved, tuple(wide.texts[old] for old in numbers))


def offered_indices(dev: RankingPairs) -> list[int]:
    """Return the indices of the offered candidates among all candidates of all questions."""
    numbers, at = [], 0
    for question in dev.questions:
        open_ones = set(question.offered)
        numbers += [at + i for i, place in enumerate(question.candidates) if place in open_ones]
        at += len(question.candidates)
    return numbers


def labels(dev: RankingPairs) -> list[bool]:
    """Return whether each offered candidate is right, in order."""
    return [right for _, right in _judged(dev)]


def by_source(part: Part, dev: RankingPairs, scores: Sequence[float], job: Job) -> Part:
    """Add a calibration for each source with enough dev data; `scores` are those of offered candidates."""
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
    """Return the source of each offered candidate, and whether it is right."""
    rows = []
    for question in dev.questions:
        open_ones = set(question.offered)
        rows += [(question.source, place in question.gold) for place in question.candidates if place in open_ones]
    return rows


def analyser(corpus: Corpus) -> Analyse:
    """Return the analyser for BM25 in the language of the data."""
    from dragoman.text.analyse import SNOWBALL, Analyser

    language = corpus.sets[0].language if corpus.sets else "auto"
    return Analyser(language=language if language in SNOWBALL else "auto")
