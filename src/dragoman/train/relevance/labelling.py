"""Labelling from turns to a label file, which an interrupted run resumes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

from dragoman.core.errors import InputError, ModelError
from dragoman.core.workers import InProcess, Shard, ShardJob, Tell, Work, Workers
from dragoman.train.contract import Corpus
from dragoman.train.relevance.candidate_pools import CandidatePool, TurnToLabel, Which, turn_to_label
from dragoman.train.relevance.label_file import LabelRow, header_of
from dragoman.train.relevance.methods import Judged, RelevanceMethod, Unanswered, tenth
from dragoman.train.relevance.unfinished_file import BATCH, UnfinishedFile

Report: TypeAlias = Callable[[int, int], None]
"""Callback after each batch: turns done, turns in all."""
Method: TypeAlias = Callable[[], AbstractContextManager[RelevanceMethod]]
"""Factory of a method in a worker."""
Judgement: TypeAlias = tuple[list[Judged], int]
"""Labels of pools, and the number of prompts paid for."""


@dataclass(frozen=True, slots=True)
class LabellingResult:
    """Result of labelling: turns, labels, and the number that an earlier run had made."""

    path: Path
    turns: tuple[TurnToLabel, ...]
    rows: tuple[LabelRow, ...]
    found: int

    @property
    def failed(self) -> int:
        """Turns with a source without labels."""
        return sum(bool(row.failed) for row in self.rows)


def label_relevance(
    corpus: Corpus,
    method: RelevanceMethod,
    out: Path,
    *,
    which: Which = "plan",
    fresh: bool = False,
    skip_failed: bool = False,
    report: Report = lambda done, total: None,
    workers: Workers | None = None,
    made: Method | None = None,
    paid: Callable[[int], None] = lambda prompts: None,
) -> LabellingResult:
    """Label the candidates of every turn. The same call resumes after a kill, and does nothing when all is done.

    A pool that the method cannot judge stops it, with what was done kept; `skip_failed` leaves that pool without labels
    and goes on. `workers` that are elsewhere make the method themselves, by `made`, and `paid` is told what it costs.
    """
    turns = to_label(corpus, which)
    header = header_of(turns, by=method.about, which=which, files=_files(corpus), version=version("dragoman"))
    who = workers or InProcess()
    with UnfinishedFile(out, header, turns, fresh=fresh) as file:
        earlier = len(file.rows)
        if not file.is_finished:
            report(earlier, len(turns))
            starts = range(earlier, len(turns), BATCH)
            shards = (_shard(start, turns[start : start + BATCH]) for start in starts)
            for judged, prompts in who.map(_job(method, made, who), shards):
                paid(prompts)
                file.add(_rows(turns[len(file.rows) : len(file.rows) + BATCH], judged, skip_failed))
                report(len(file.rows), len(turns))
            file.finish()
        return LabellingResult(out, turns, tuple(file.rows), earlier)


def _shard(start: int, turns: Sequence[TurnToLabel]) -> Shard[tuple[CandidatePool, ...]]:
    return Shard(f"turns {start + 1}-{start + len(turns)}", tuple(pool for turn in turns for pool in turn.pools))


def _job(
    method: RelevanceMethod, made: Method | None, workers: Workers
) -> ShardJob[tuple[CandidatePool, ...], Judgement]:
    if workers.here:
        return ShardJob("label", lambda: nullcontext(partial(_judged, method)))
    if made is None:
        raise InputError("Workers elsewhere cannot be given a method as it is.", remedy="Say by `made` how to make it.")
    return ShardJob("label", partial(_opened, made))


@contextmanager
def _opened(made: Method) -> Iterator[Work[tuple[CandidatePool, ...], Judgement]]:
    with made() as method:
        yield partial(_judged, method)


def _judged(method: RelevanceMethod, pools: Sequence[CandidatePool], tell: Tell) -> list[Judgement]:
    before = getattr(method, "paid", 0)
    judged = list(method.judge(pools))
    return [(judged, getattr(method, "paid", 0) - before)]


def to_label(corpus: Corpus, which: Which) -> tuple[TurnToLabel, ...]:
    """Return the turns with candidates to label."""
    turns = tuple(turn for example in corpus.examples if (turn := turn_to_label(example, which)) is not None)
    if turns:
        return turns
    if not any(example.candidates for example in corpus.examples):
        raise InputError(
            "No turn of the data has candidates of its own, so that there is nothing to label.",
            remedy="Give a set that has `candidates`; of dstc11, --option pool=gold or pool=mentioned.",
        )
    raise InputError("No turn's plan names a source that it has candidates of.", remedy="Give --sources all.")


def _rows(turns: Sequence[TurnToLabel], judgement: Sequence[Judged], skip_failed: bool) -> list[LabelRow]:
    judged = iter(judgement)
    return [_row(turn, {pool.source.name: next(judged) for pool in turn.pools}, skip_failed) for turn in turns]


def _row(turn: TurnToLabel, judged: Mapping[str, Judged], skip_failed: bool) -> LabelRow:
    scores: dict[str, float] = {}
    failed: dict[str, str] = {}
    for pool in turn.pools:
        judgement = judged[pool.source.name]
        if isinstance(judgement, Unanswered):
            failed[pool.source.name] = judgement.why
            continue
        for passage, relevance in zip(pool.candidates, judgement, strict=True):
            scores[passage.id] = tenth(relevance)
    if failed and not skip_failed:
        source, why = next(iter(failed.items()))
        raise ModelError(
            f"The candidates of the turn '{turn.example.id}' in {source} could not be labelled: {why}.",
            remedy="Give --skip-failed to leave such turns without labels; or, with --fresh, more --retries (no answer "
            "is paid for twice), --ask choose or another model. What was done is kept.",
            turn=turn.example.id,
            source=source,
        )
    return LabelRow(id=turn.example.id, sha256=turn.sha256, scores=scores, failed=failed)


def _files(corpus: Corpus) -> list[Mapping[str, str]]:
    return [{"name": str(entry["name"]), "sha256": str(entry["sha256"])} for entry in corpus.origin]
