"""Workers that answer batches of turns, in this process or another: agents, stores and outcomes.

The outcomes of a batch depend on that batch alone, so that any worker may answer it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

from dragoman.agent.agent import Agent
from dragoman.core.errors import DragomanError, RunError
from dragoman.core.examples import Example
from dragoman.core.protocols import by_about, passage_vectors
from dragoman.core.values import Context, Passage, Scope, Source
from dragoman.core.workers import Tell, Work
from dragoman.evaluate.results import Outcome
from dragoman.evaluate.spec import SystemSpec
from dragoman.evaluate.systems.build import Bench, Models, SystemBuilder, needs_answers, needs_training
from dragoman.evaluate.systems.memo import Memo
from dragoman.evaluate.systems.oracles import GoldAnswers

_KEPT_ROWS = 20_000
"""Rows of scopes that are kept after their batch, in case that a later one shares them."""
_CORPUS_CHUNK = 4096


class Seen(Protocol):
    """Protocol of a set as the systems of a group read it. Each call reads the set again."""

    @property
    def sources(self) -> tuple[Source, ...]: ...

    @property
    def language(self) -> str: ...

    def examples(self) -> Iterator[Example]: ...

    def train(self) -> Iterator[Example]: ...

    def passages(self) -> Iterator[Passage]: ...


@dataclass(frozen=True, slots=True)
class TurnBatch:
    """Consecutive turns in the view of each group of systems, and the systems of each group that answer them."""

    start: int
    chunks: tuple[tuple[Example, ...], ...]
    systems: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class BatchOutcomes:
    """The outcomes of one system on a batch that begins at `start`."""

    system: str
    start: int
    outcomes: Sequence[Outcome]


@dataclass(frozen=True, slots=True)
class Carried:
    """The part of a set sent to another process: what systems read besides the turns of their batches."""

    sources: tuple[Source, ...]
    language: str
    shared: tuple[Passage, ...]
    whole: tuple[Example, ...]
    """Every turn without its candidates, where a row is made of the labels of all turns."""
    training: tuple[Example, ...]

    def examples(self) -> Iterator[Example]:
        return iter(self.whole)

    def train(self) -> Iterator[Example]:
        return iter(self.training)

    def passages(self) -> Iterator[Passage]:
        return iter(self.shared)


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything that a worker in another process needs to answer batches of a set."""

    name: str
    seed: int
    groups: tuple[tuple[Mapping[str, Any], Carried, tuple[SystemSpec, ...]], ...]


class SystemGroup:
    """Systems that read a set with the same options: their agents, stores and gold labels."""

    def __init__(
        self, view: Mapping[str, Any], block: Seen, systems: Sequence[SystemSpec], models: Models, seed: int
    ) -> None:
        self.view = view
        self.systems = systems
        self._block = block
        self._models = models
        self._answers = GoldAnswers(block.examples)
        self._sharing = Memo(models.tally)
        bench = Bench(block.sources, block.language, self._answers, block.train, seed, models, self._sharing)
        self._builder = SystemBuilder(bench, systems)
        self._agents: dict[str, Agent] = {system.name: self._builder.build(system) for system in systems}
        self._kept: OrderedDict[Scope, tuple[Passage, ...]] = OrderedDict()
        self._held = 0
        self._ready = False

    def batches(self, size: int, start: int) -> Iterator[list[Example]]:
        """The batches of turns from an index on."""
        examples = islice(self._block.examples(), start, None)
        while chunk := list(islice(examples, size)):
            yield chunk

    def carried(self) -> Carried:
        """The part of the set that its systems read besides the turns of their batches."""
        whole, training = map(
            any, zip(*((needs_answers(one), needs_training(one)) for one in self.systems), strict=True)
        )
        return Carried(
            self._block.sources,
            self._block.language,
            tuple(self._block.passages()),
            tuple(replace(example, candidates=()) for example in self._block.examples()) if whole else (),
            tuple(self._block.train()) if training else (),
        )

    def take(self, examples: Sequence[Example]) -> None:
        """Put the candidates of a batch into the stores, and its labels into the oracles."""
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
        """The outcomes of a system on a batch that `take` prepared."""
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
        """Drop the labels and the memo of the batch."""
        self._answers.know(())
        self._sharing.forget()
        self._sharing.bill()

    def failing(self, system: SystemSpec, examples: Sequence[Example]) -> tuple[Example, Exception] | None:
        """The first turn of a batch that fails on its own, with its error."""
        for example in examples:
            try:
                self.answer(system, [example])
            except Exception as error:  # noqa: BLE001 - it is told with the turn's id
                return example, error
        return None

    def _put(self, example: Example) -> None:
        """Store the candidates of a turn, unless its scope is stored already: turns of one scope share their
        candidates."""
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
        for about, rows in by_about(passages, self._block.sources).items():
            texts = [row.indexed for row in rows]
            for store, encoder in self._builder.stores.values():
                store.put(scope, rows, None if encoder is None else passage_vectors(encoder, texts, about=about))


class BatchWorker:
    """Answers one batch after another with all groups of systems."""

    def __init__(self, name: str, groups: Sequence[SystemGroup]) -> None:
        self._name = name
        self._groups = groups

    def answer(self, batch: TurnBatch, tell: Tell) -> Iterator[BatchOutcomes]:
        """The outcomes of a batch, system by system; `tell` is called with the name of the running one."""
        for group, examples, names in zip(self._groups, batch.chunks, batch.systems, strict=True):
            if not names:
                continue
            group.take(examples)
            for system in group.systems:
                if system.name in names:
                    tell(system.name)
                    yield BatchOutcomes(system.name, batch.start, self._outcomes(group, system, examples))
            group.leave()

    def _outcomes(self, group: SystemGroup, system: SystemSpec, examples: Sequence[Example]) -> list[Outcome]:
        try:
            return group.answer(system, examples)
        except Exception as error:
            failing = group.failing(system, examples) or (examples[0], error)
            raise self._explained(system, *failing) from error

    def _explained(self, system: SystemSpec, example: Example, error: Exception) -> RunError:
        """The error with its turn, role and component."""
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


@contextmanager
def open_worker(setup: Setup) -> Iterator[Work[TurnBatch, BatchOutcomes]]:
    """A worker with models of its own, in another process."""
    with Models() as models:
        groups = [SystemGroup(view, seen, systems, models, setup.seed) for view, seen, systems in setup.groups]
        yield BatchWorker(setup.name, groups).answer


def _distinct(contexts: Sequence[Context]) -> list[Context]:
    """Copy repeated context objects, since the memo tells turns apart by identity."""
    seen: set[int] = set()
    distinct = []
    for context in contexts:
        own = replace(context) if id(context) in seen else context
        seen.add(id(own))
        distinct.append(own)
    return distinct
