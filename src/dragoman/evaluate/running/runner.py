"""Runs the systems of a table over a set, batch by batch, and writes each turn's outcome.

A batch is a shard: workers, here or elsewhere, answer it (`batch_worker.py`), and outcomes are written in the order of
turns. A batch's candidates go into a store under their scopes, once for all systems; then every system answers the
batch. Identical model calls of systems are made once (`evaluate/systems/memo.py`). Scopes that no later batch is likely
to need are dropped, so that memory does not grow with the set. A run that was stopped goes on where the rows end: the
batch in which it stopped is run again by every system, so that what is shared, and so what is billed, is what it would
have been.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import zip_longest
from typing import Any, Protocol, TypeAlias

from dragoman.core.errors import InputError
from dragoman.core.examples import Example
from dragoman.core.workers import InProcess, Shard, ShardJob, Workers
from dragoman.evaluate.results import Outcome
from dragoman.evaluate.running.batch_worker import (
    BatchOutcomes,
    BatchWorker,
    Setup,
    SystemGroup,
    TurnBatch,
    open_worker,
)
from dragoman.evaluate.running.dataset_table import DatasetTable
from dragoman.evaluate.spec import SystemSpec
from dragoman.evaluate.systems.build import Models

Progress: TypeAlias = Callable[[int, int | None, str], None]
"""Called with the turns done, the turns in total (over all systems), and the running system."""

_WHOLE_EVERY = 64
"""Number of batches between two full garbage collections."""


class OutcomeWriter(Protocol):
    """Stores outcomes in the order of the set's turns, including those from before a restart."""

    def done(self, block: str, system: str) -> int:
        """The number of stored turns of a system."""
        ...

    def append(self, block: str, system: str, outcomes: Sequence[Outcome]) -> None: ...

    def outcomes(self, block: str, system: str) -> Iterator[Outcome]: ...


def run_table(
    block: DatasetTable,
    views: Callable[[Mapping[str, Any]], DatasetTable],
    systems: Sequence[SystemSpec],
    rows: OutcomeWriter,
    *,
    seed: int,
    batch: int,
    progress: Progress | None = None,
    models: Models | None = None,
    workers: Workers | None = None,
) -> None:
    """Run systems on a set, without those that are marked missing. `models` are not closed.

    `workers` answer the batches; without them this process does.
    """
    running = [system for system in systems if system.runs]
    if not running:
        return
    with Models() if models is None else nullcontext(models) as lent:
        run = _TableRun(block, views, running, rows, models=lent, seed=seed, batch=batch, progress=progress)
        run.run(workers or InProcess())


class _TableRun:
    """One set and its systems, grouped by their view of the set."""

    def __init__(
        self,
        block: DatasetTable,
        views: Callable[[Mapping[str, Any]], DatasetTable],
        systems: Sequence[SystemSpec],
        rows: OutcomeWriter,
        *,
        models: Models,
        seed: int,
        batch: int,
        progress: Progress | None,
    ) -> None:
        self._block = block
        self._name = block.spec.name
        self._systems = systems
        self._rows = rows
        self._seed = seed
        self._batch = max(1, batch)
        self._progress = progress
        self._done: dict[str, int] = {}
        self._everything = 0
        self._groups: list[SystemGroup] = []
        for system in systems:
            group = next((group for group in self._groups if group.view == system.view), None)
            if group is None:
                mine = [other for other in systems if other.view == system.view]
                seen = views(system.view) if system.view else block
                self._groups.append(SystemGroup(system.view, seen, mine, models, seed))

    def run(self, workers: Workers) -> None:
        total = self._block.count()
        self._done = {system.name: self._rows.done(self._name, system.name) for system in self._systems}
        for name, turns in self._done.items():
            if turns > total:
                raise InputError(
                    f"There are {turns} turns of '{name}' on '{self._name}', which has {total}.",
                    remedy="The data or the limit is another one: run into a new folder.",
                )
        self._everything = total * len(self._systems)
        if sum(self._done.values()) == self._everything:
            return
        job = self._job(workers)
        with _collected_between() as collect:
            for answered in workers.map(
                job, self._shards(collect), listener=lambda shard, system: self._tell(str(system))
            ):
                self._keep(answered)
        self._tell(self._systems[-1].name)

    def _job(self, workers: Workers) -> ShardJob[TurnBatch, BatchOutcomes]:
        if workers.here:
            return ShardJob(self._name, lambda: nullcontext(BatchWorker(self._name, self._groups).answer))
        groups = tuple((group.view, group.carried(), tuple(group.systems)) for group in self._groups)
        return ShardJob(self._name, partial(open_worker, Setup(self._name, self._seed, groups)))

    def _shards(self, collect: Callable[[], None]) -> Iterator[Shard[TurnBatch]]:
        """The batches that at least one system has not answered."""
        begun = dict(self._done)
        start = stopped = min(begun.values()) // self._batch * self._batch
        streams = [group.batches(self._batch, start) for group in self._groups]
        for chunks in zip_longest(*streams, fillvalue=()):
            self._same(chunks)
            end = start + len(chunks[0])
            names = tuple(_due(group, begun, end, again=start == stopped) for group in self._groups)
            if any(names):
                yield Shard(
                    f"{self._name}, turns {start + 1}-{end}", TurnBatch(start, tuple(map(tuple, chunks)), names)
                )
            start = end
            collect()

    def _keep(self, answered: BatchOutcomes) -> None:
        """Store the outcomes that are not stored yet."""
        end = answered.start + len(answered.outcomes)
        if self._done[answered.system] < end:
            new = answered.outcomes[self._done[answered.system] - answered.start :]
            self._rows.append(self._name, answered.system, new)
            self._done[answered.system] = end

    def _tell(self, system: str) -> None:
        if self._progress is not None:
            self._progress(sum(self._done.values()), self._everything, system)

    def _same(self, chunks: Sequence[Sequence[Example]]) -> None:
        """Refuse a view that has other turns than the set."""
        first = [example.id for example in chunks[0]]
        for group, examples in zip(self._groups, chunks, strict=True):
            pairs = zip(examples, first, strict=False)
            strange = next((example.id for example, stored_id in pairs if example.id != stored_id), None)
            if strange is not None or len(examples) != len(first):
                raise InputError(
                    f"The view {group.view} of '{self._name}' has other turns than the set itself: '{strange or ''}'.",
                    remedy="A view changes how turns read, not which there are.",
                )


def _due(group: SystemGroup, begun: Mapping[str, int], end: int, *, again: bool) -> tuple[str, ...]:
    """The systems of a group that have not answered a batch; after an interruption (`again`), also those before them,
    so that the memo is shared as in an uninterrupted run."""
    names = [system.name for system in group.systems]
    waiting = [name for name in names if begun[name] < end]
    if not waiting or not again:
        return tuple(waiting)
    return tuple(names[: names.index(waiting[-1]) + 1])


@contextmanager
def _collected_between() -> Iterator[Callable[[], None]]:
    """Collect garbage between batches only, and never objects from before the run: within a batch nearly all objects
    are still in use, so that collections would be wasted."""
    was = gc.isenabled()
    batches = 0

    def collect() -> None:
        nonlocal batches
        batches += 1
        gc.collect(2 if batches % _WHOLE_EVERY == 0 else 1)

    gc.disable()
    gc.freeze()
    try:
        yield collect
    finally:
        gc.unfreeze()
        if was:
            gc.enable()
