"""Runs the systems of a table over a set, batch by batch, and hands each turn's outcome to whoever keeps the rows.

A batch's candidates go into a store under their scopes, once for all systems; then every system answers the batch.
What systems have in common is asked once (`share.py`). Scopes that no later batch is likely to need are forgotten, so
that memory does not grow with the set. A run that was stopped goes on where the rows end: the batch in which it stopped
is run again by every system, so that what is shared, and so what is billed, is what it would have been.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import islice, zip_longest
from typing import Any, Protocol, TypeAlias

from dragoman.agent.agent import Agent
from dragoman.core.errors import DragomanError, InputError, RunError
from dragoman.core.examples import Example
from dragoman.core.values import Context, Passage, Scope
from dragoman.evaluate.block import Block
from dragoman.evaluate.build import Bench, Builder, Models
from dragoman.evaluate.oracles import Answers
from dragoman.evaluate.results import Outcome
from dragoman.evaluate.share import Sharing
from dragoman.evaluate.spec import SystemSpec

Progress: TypeAlias = Callable[[int, int | None, str], None]
"""Turns of systems done, turns of systems in all, and the system at work."""

_KEPT_ROWS = 20_000
"""Rows of scopes that are kept after their batch, in case that a later one shares them."""
_CORPUS_CHUNK = 4096
_WHOLE_EVERY = 64
"""Batches after which all of the memory is searched for garbage."""


class Rows(Protocol):
    """Where outcomes are kept: in the order of the set's turns, whatever was there before a restart included."""

    def done(self, block: str, system: str) -> int:
        """How many turns of a system are there."""
        ...

    def append(self, block: str, system: str, outcomes: Sequence[Outcome]) -> None: ...

    def outcomes(self, block: str, system: str) -> Iterator[Outcome]: ...


def run_block(
    block: Block,
    views: Callable[[Mapping[str, Any]], Block],
    systems: Sequence[SystemSpec],
    rows: Rows,
    *,
    seed: int,
    batch: int,
    progress: Progress | None = None,
    models: Models | None = None,
) -> None:
    """Measure systems on a set; those that say why they cannot run are left out. `models` are lent, not closed."""
    running = [system for system in systems if system.runs]
    if not running:
        return
    with Models() if models is None else nullcontext(models) as lent:
        _Run(block, views, running, rows, models=lent, seed=seed, batch=batch, progress=progress).run()


class _Run:
    """One set and its systems, in lanes by the view that they have of it."""

    def __init__(
        self,
        block: Block,
        views: Callable[[Mapping[str, Any]], Block],
        systems: Sequence[SystemSpec],
        rows: Rows,
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
        self._models = models
        self._batch = max(1, batch)
        self._progress = progress
        self._done: dict[str, int] = {}
        self._everything = 0
        self._lanes: list[_Lane] = []
        for system in systems:
            lane = next((lane for lane in self._lanes if lane.view == system.view), None)
            if lane is None:
                mine = [other for other in systems if other.view == system.view]
                seen = views(system.view) if system.view else block
                self._lanes.append(_Lane(system.view, seen, mine, models, seed))

    def run(self) -> None:
        total = self._block.count()
        self._done = {system.name: self._rows.done(self._name, system.name) for system in self._systems}
        for name, turns in self._done.items():
            if turns > total:
                raise InputError(
                    f"There are {turns} turns of '{name}' on '{self._name}', which has {total}.",
                    remedy="The data or the limit is another one: run into a new folder.",
                )
        self._everything = total * len(self._systems)
        start = stopped = min(self._done.values()) // self._batch * self._batch
        if sum(self._done.values()) == self._everything:
            return
        streams = [lane.batches(self._batch, start) for lane in self._lanes]
        with _collected_between() as collect:
            for chunks in zip_longest(*streams, fillvalue=()):
                self._same(chunks)
                for lane, examples in zip(self._lanes, chunks, strict=True):
                    self._step(lane, examples, start, again=start == stopped)
                start += len(chunks[0])
                collect()
        self._tell(self._systems[-1].name)

    def _step(self, lane: _Lane, examples: Sequence[Example], start: int, *, again: bool) -> None:
        """One batch of a lane: the systems that lack it; where a run was stopped (`again`), also those before them, so
        that sharing is as on a first run."""
        end = start + len(examples)
        waiting = [system.name for system in lane.systems if self._done[system.name] < end]
        if not waiting:
            return
        lane.take(examples)
        for system in lane.systems:
            if not (again or system.name in waiting):
                continue
            self._tell(system.name)
            outcomes = self._outcomes(lane, system, examples)
            if self._done[system.name] < end:
                self._rows.append(self._name, system.name, outcomes[self._done[system.name] - start :])
                self._done[system.name] = end
            if system.name == waiting[-1]:
                break
        lane.leave()

    def _tell(self, system: str) -> None:
        if self._progress is not None:
            self._progress(sum(self._done.values()), self._everything, system)

    def _same(self, chunks: Sequence[Sequence[Example]]) -> None:
        """A view changes how turns read, never which turns there are."""
        first = [example.id for example in chunks[0]]
        for lane, examples in zip(self._lanes, chunks, strict=True):
            pairs = zip(examples, first, strict=False)
            strange = next((example.id for example, known in pairs if example.id != known), None)
            if strange is not None or len(examples) != len(first):
                raise InputError(
                    f"The view {lane.view} of '{self._name}' has other turns than the set itself: '{strange or ''}'.",
                    remedy="A view changes how turns read, not which there are.",
                )

    def _outcomes(self, lane: _Lane, system: SystemSpec, examples: Sequence[Example]) -> list[Outcome]:
        try:
            return lane.answer(system, examples)
        except Exception as error:
            found = lane.failing(system, examples) or (examples[0], error)
            raise self._explained(system, *found) from error

    def _explained(self, system: SystemSpec, example: Example, error: Exception) -> RunError:
        """What happened, where: the turn, the role and the component."""
        fields = error.fields if isinstance(error, DragomanError) else {}
        message = error.message if isinstance(error, DragomanError) else f"{type(error).__name__}: {error}"
        noted = "; ".join(getattr(error, "__notes__", ()))
        role, component = fields.get("role"), fields.get("component")
        where = f" in the {role} ({component})" if role else f" {noted.partition(', turns')[0]}" if noted else ""
        return RunError(
            f"System '{system.name}' failed on turn '{example.id}' of '{self._name}'{where}: {message}",
            remedy=(error.remedy if isinstance(error, DragomanError) else "") or "The rows of other turns are kept.",
            system=system.name,
            example=example.id,
            block=self._name,
            role=role,
            component=component,
        )


class _Lane:
    """The systems that see a set in one way: their agents, their stores, their answers."""

    def __init__(
        self, view: Mapping[str, Any], block: Block, systems: Sequence[SystemSpec], models: Models, seed: int
    ) -> None:
        self.view = view
        self.systems = systems
        self._block = block
        self._models = models
        self._answers = Answers(block.examples)
        self._sharing = Sharing(models.tally)
        bench = Bench(block.sources, block.language, self._answers, block.train, seed, models, self._sharing)
        self._builder = Builder(bench, systems)
        self._agents: dict[str, Agent] = {system.name: self._builder.build(system) for system in systems}
        self._kept: OrderedDict[Scope, tuple[Passage, ...]] = OrderedDict()
        self._held = 0
        self._ready = False

    def batches(self, size: int, start: int) -> Iterator[list[Example]]:
        """The turns from a place on, a batch at a time."""
        examples = islice(self._block.examples(), start, None)
        while chunk := list(islice(examples, size)):
            yield chunk

    def take(self, examples: Sequence[Example]) -> None:
        """Make the stores and the rows that know the answers ready for a batch."""
        if not self._ready:
            self._builder.warm_up()
            self._put_corpus(examples[0].context.scope.shared)
            self._ready = True
        self._answers.know(examples)
        for example in examples:
            self._put(example)
        current = {example.context.scope for example in examples}
        while self._held > _KEPT_ROWS and next(iter(self._kept)) not in current:
            scope, passages = self._kept.popitem(last=False)
            self._held -= len(passages)
            for store, _ in self._builder.stores.values():
                store.forget(scope)

    def answer(self, system: SystemSpec, examples: Sequence[Example]) -> list[Outcome]:
        """A system's outcomes on a batch that was taken."""
        contexts = _distinct([example.context for example in examples])
        self._models.cool()
        self._sharing.bill()
        replies = self._agents[system.name].run(contexts)
        billed = self._sharing.settle(contexts, replies)
        return [
            Outcome(example.id, own.reply, own.spent.usage, own.spent.encoded)
            for example, own in zip(examples, billed, strict=True)
        ]

    def leave(self) -> None:
        """The batch is over: what it asked and knew is let go."""
        self._answers.know(())
        self._sharing.forget()
        self._sharing.bill()

    def failing(self, system: SystemSpec, examples: Sequence[Example]) -> tuple[Example, Exception] | None:
        """The first turn of a batch that fails by itself, and how."""
        for example in examples:
            try:
                self.answer(system, [example])
            except Exception as error:  # noqa: BLE001 - it is told with the turn's id
                return example, error
        return None

    def _put(self, example: Example) -> None:
        """The candidates of a turn, unless its scope is there already: examples of one scope have the same."""
        scope = example.context.scope
        if scope in self._kept:
            self._kept.move_to_end(scope)
            return
        passages = example.candidates
        self._kept[scope] = passages
        self._held += len(passages)
        if passages:
            self._store(scope, passages)

    def _put_corpus(self, scope: Scope) -> None:
        passages = self._block.passages()
        while chunk := list(islice(passages, _CORPUS_CHUNK)):
            self._store(scope, chunk)

    def _store(self, scope: Scope, passages: Sequence[Passage]) -> None:
        for store, encoder in self._builder.stores.values():
            vectors = None if encoder is None else encoder.encode([passage.indexed for passage in passages])
            store.put(scope, passages, vectors)


@contextmanager
def _collected_between() -> Iterator[Callable[[], None]]:
    """Garbage in circles is collected when a batch is over: in the middle of one, the collector would walk again and
    again over values that are all still needed. Nor does it walk over what was there before the run."""
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


def _distinct(contexts: Sequence[Context]) -> list[Context]:
    """The same contexts, no object twice: turns are told apart by them."""
    seen: set[int] = set()
    found = []
    for context in contexts:
        own = replace(context) if id(context) in seen else context
        seen.add(id(own))
        found.append(own)
    return found
