"""A memo of component calls in a batch: systems with the same component and request share one answer.

Two systems that come to the same request of the same component ask once. Wrappers look like what they wrap, remember
answers for one batch, and pass on only what nobody asked before, as one batch. What an answer took is billed to every
turn that used it, so that seconds and model calls of a row do not depend on which rows were measured before it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Generic, TypeAlias, TypeVar

from dragoman.agent.refine import Mode, Refiner
from dragoman.core.errors import DragomanError
from dragoman.core.protocols import Critic, Reader, Retriever
from dragoman.core.quick import quick
from dragoman.core.trace import Note, Refinement, Reply, Trace
from dragoman.core.values import Context, Draft, Evidence, Plan, ReadTask, Request, Source, Verdict
from dragoman.evaluate.results import NO_USAGE
from dragoman.evaluate.systems.meter import CallMeter, MeterReading, split

A = TypeVar("A")
Compute: TypeAlias = Callable[[Sequence[int]], Sequence[A]]
"""Computes the answers to the requests with these indexes."""

_NOTHING = MeterReading()


class BatchMeter(CallMeter):
    """A meter that also records single calls, so that the cost of a batch can be assigned to its turns."""

    def __init__(self) -> None:
        super().__init__()
        self._events: list[MeterReading] = []

    def add(self, spent: MeterReading) -> None:
        super().add(spent)
        self._events.append(spent)

    def drain(self) -> list[MeterReading]:
        """The calls recorded since the last call of this method."""
        events, self._events = self._events, []
        return events


def attributed(events: Sequence[MeterReading], items: int) -> list[MeterReading]:
    """The cost of each item of a call: its own generation where there is one per item, else an even share."""
    if not events:
        return [_NOTHING] * items
    drafts = [event for event in events if event.calls == 1 and not event.choices]
    if len(drafts) != items:
        return split(sum(events, _NOTHING), items)
    others = sum((event for event in events if event.calls != 1 or event.choices), _NOTHING)
    return [own + share for own, share in zip(drafts, split(others, items), strict=True)]


@dataclass(slots=True)
class _Slot:
    """Seconds and model cost of one note of a turn."""

    seconds: float = 0.0
    spent: MeterReading = _NOTHING

    def add(self, entry: _MemoEntry[Any]) -> None:
        self.seconds += entry.seconds
        if entry.spent is not _NOTHING:
            self.spent += entry.spent


@dataclass(slots=True)
class _MemoEntry(Generic[A]):
    """A stored answer with its cost; `kept` holds a reference to the objects whose identity is part of the key."""

    answer: A
    seconds: float
    spent: MeterReading
    kept: object


@quick
@dataclass(frozen=True, slots=True)
class Billed:
    """A reply with seconds for each note, and the model cost of the turn."""

    reply: Reply
    spent: MeterReading


class Memo:
    """The answers of one batch, and the cost of the running system."""

    def __init__(self, tally: BatchMeter | None = None) -> None:
        self.tally = tally or BatchMeter()
        self._memories: list[_ComponentMemo[Any]] = []
        self._slots: dict[int, list[_Slot | _MemoEntry[Any]]] = {}
        self._round: dict[int, _Slot] | None = None
        self.owners: Mapping[Hashable, list[Context]] = {}

    def forget(self) -> None:
        """Begin a batch: drop all answers."""
        for memory in self._memories:
            memory.known.clear()

    def bill(self) -> None:
        """Begin a system: reset its cost."""
        self._slots = {}
        self._round = None

    def settle(self, contexts: Sequence[Context], replies: Sequence[Reply]) -> list[Billed]:
        """The replies of a system, each note with the full cost of its answer, whichever system computed it."""
        return [self._settled(context, reply) for context, reply in zip(contexts, replies, strict=True)]

    def _settled(self, context: Context, reply: Reply) -> Billed:
        slots = self._slots.get(id(context), ())
        notes = [
            Note(note.role, note.component, slot.seconds, note.value)
            for note, slot in zip(reply.trace.notes, slots, strict=True)
        ]
        spent = _NOTHING
        for slot in slots:
            if slot.spent is not _NOTHING:
                spent += slot.spent
        trace = Trace(tuple(notes))
        return Billed(Reply(reply.text, reply.verdict, reply.plan, reply.evidence, trace, reply.confidence), spent)

    def memory(self, role: str, component: str) -> _ComponentMemo[Any]:
        memory: _ComponentMemo[Any] = _ComponentMemo(self, role, component)
        self._memories.append(memory)
        return memory

    def charge(self, turns: Sequence[Context], entries: Sequence[_MemoEntry[Any]]) -> None:
        """Add each entry to the cost of its turn: one slot per call or, inside a refinement, per round."""
        slots, current = self._slots, self._round
        for context, entry in zip(turns, entries, strict=True):
            turn = id(context)
            slot: _Slot | _MemoEntry[Any] = entry
            if current is not None:
                if turn in current:
                    current[turn].add(entry)
                    continue
                slot = current[turn] = _Slot()
                slot.add(entry)
            if turn in slots:
                slots[turn].append(slot)
            else:
                slots[turn] = [slot]

    def begin_round(self, owners: Mapping[Hashable, list[Context]]) -> None:
        """Within this block all costs of a turn belong to one note."""
        self._round, self.owners = {}, owners

    def end_round(self) -> None:
        self._round, self.owners = None, {}


class _ComponentMemo(Generic[A]):
    """The answers of one component in this batch, by request."""

    def __init__(self, sharing: Memo, role: str, component: str) -> None:
        self._sharing = sharing
        self._role = role
        self._component = component
        self.known: dict[Hashable, _MemoEntry[A]] = {}

    def ask(self, keys: Sequence[Hashable], turns: Sequence[Context], compute: Compute[A]) -> list[A]:
        """The answers in order; each is charged to its turn."""
        entries = self.entries(keys, compute, turns)
        self._sharing.charge(turns, entries)
        return [entry.answer for entry in entries]

    def entries(self, keys: Sequence[Hashable], compute: Compute[A], kept: Sequence[object]) -> list[_MemoEntry[A]]:
        """The entries of the requests; new requests are computed once each, as one batch."""
        entries = self.known
        missing: dict[Hashable, int] = {}
        for place, key in enumerate(keys):
            if key not in entries:
                missing.setdefault(key, place)
        if missing:
            self._compute(missing, compute, kept)
        return [entries[key] for key in keys]

    def _compute(self, missing: Mapping[Hashable, int], compute: Compute[A], kept: Sequence[object]) -> None:
        tally = self._sharing.tally
        tally.drain()
        began = perf_counter()
        answers = compute(list(missing.values()))
        seconds = (perf_counter() - began) / len(missing)
        if len(answers) != len(missing):
            raise DragomanError(
                f"The {self._role} '{self._component}' gave {len(answers)} answers for {len(missing)} turns.",
                remedy="A role answers in the order and length of its batch; dragoman.testing has a suite.",
            )
        events = tally.drain()
        spent = attributed(events, len(missing))
        if not any(event.calls for event in events):  # a model of its own: only the drafts tell of it
            spent = [own + _reported_cost(answer) for own, answer in zip(spent, answers, strict=True)]
        for (key, place), answer, own in zip(missing.items(), answers, spent, strict=True):
            self.known[key] = _MemoEntry(answer, seconds, own, kept[place])


def _reported_cost(answer: object) -> MeterReading:
    """The cost that an answer reports."""
    if not isinstance(answer, Draft) or answer.usage == NO_USAGE:
        return _NOTHING
    return MeterReading(answer.usage.calls, 0, answer.usage.prompt_tokens, answer.usage.completion_tokens)


class _Shared:
    """A component behind the memo; other attributes are those of the component."""

    def __init__(self, inner: object, sharing: Memo, role: str, component: str = "") -> None:
        self._inner: Any = inner
        self._sharing = sharing
        self._memory = sharing.memory(role, component or type(inner).__name__)

    def __getattr__(self, name: str) -> Any:  # reads_evidence, describe, warm_up: what the component has
        if name == "_inner":  # while being copied there is nothing to pass on to yet
            raise AttributeError(name)
        return getattr(self._inner, name)


class SharedGate(_Shared):
    """A gate; f(c) and f(c, e) are two requests."""

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        if evidence is None:
            return self._memory.ask(
                [id(context) for context in turns], turns, lambda places: self._inner.decide([turns[i] for i in places])
            )
        keys = [(id(context), seen(pieces)) for context, pieces in zip(turns, evidence, strict=True)]
        return self._memory.ask(
            keys, turns, lambda places: self._inner.decide([turns[i] for i in places], [evidence[i] for i in places])
        )


class SharedPlanner(_Shared):
    """A planner."""

    def plan(self, turns: Sequence[Context], sources: Sequence[Source]) -> Sequence[Plan]:
        names = tuple([source.name for source in sources])
        return self._memory.ask(
            [(id(context), names) for context in turns],
            turns,
            lambda places: self._inner.plan([turns[i] for i in places], sources),
        )


class SharedRetriever(_Shared):
    """A retriever; requests are the same with the same sources, plan, given and without, and as many asked for."""

    def retrieve(self, requests: Sequence[Request]) -> Sequence[Sequence[Evidence]]:
        return self._memory.ask(
            [_request(request) for request in requests],
            [request.context for request in requests],
            lambda places: [tuple(evidence) for evidence in self._inner.retrieve([requests[i] for i in places])],
        )


class SharedReader(_Shared):
    """A reader; tasks are the same where the steps of the plan and the evidence are."""

    def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
        return self._memory.ask(
            [(id(task.context), task.plan.steps, seen(task.evidence)) for task in tasks],
            [task.context for task in tasks],
            lambda places: self._inner.read([tasks[i] for i in places]),
        )

    def stream(self, task: ReadTask) -> Iterator[str | Draft]:
        """Stream from the component directly: streamed replies are not measured."""
        pieces: Iterator[str | Draft] = self._inner.stream(task)
        return pieces


class SharedCritic(_Shared):
    """A critic. Its pairs do not name their turn, so the round of refinement assigns their cost."""

    def consistency(self, pairs: Sequence[tuple[Evidence, str]]) -> Sequence[float]:
        keys = [pair_key(evidence, text) for evidence, text in pairs]
        entries = self._memory.entries(
            keys, lambda places: self._inner.consistency([pairs[i] for i in places]), kept=pairs
        )
        # a pair that two turns have is asked twice in a call, and each of them pays once
        bills = [
            (context, entry)
            for key, entry in dict(zip(keys, entries, strict=True)).items()
            for context in self._sharing.owners.get(key, ())
        ]
        self._sharing.charge([context for context, _ in bills], [entry for _, entry in bills])
        return [entry.answer for entry in entries]


class SharedRefiner(Refiner):
    """Algorithm 1 over memoised components; the cost of a round goes to the note that the round adds to each turn."""

    def __init__(
        self,
        sharing: Memo,
        critic: Critic,
        retriever: Retriever,
        reader: Reader,
        *,
        mode: Mode = "within-step",
        alpha: int = 1,
        steps: int = 1,
        below: float | None = None,
    ) -> None:
        super().__init__(critic, retriever, reader, mode=mode, alpha=alpha, steps=steps, below=below)
        self._sharing = sharing

    def rounds(
        self, tasks: Sequence[ReadTask], drafts: Sequence[Draft], sources: Sequence[Source]
    ) -> Iterator[list[Refinement | None]]:
        inner = super().rounds(tasks, drafts, sources)
        judged = [(task.context, task.evidence, draft.text) for task, draft in zip(tasks, drafts, strict=True)]
        while True:
            owners: dict[Hashable, list[Context]] = {}
            for context, evidence, text in judged:
                for piece in evidence:
                    owners.setdefault(pair_key(piece, text), []).append(context)
            self._sharing.begin_round(owners)
            try:
                refinements = next(inner, None)
            finally:
                self._sharing.end_round()
            if refinements is None:
                return
            yield refinements
            judged = [
                (task.context, refinement.evidence, refinement.draft.text)
                for task, refinement in zip(tasks, refinements, strict=True)
                if refinement is not None and refinement.replaced
            ]


def seen(evidence: Sequence[Evidence]) -> tuple[Hashable, ...]:
    """The key of a piece of evidence as components see it; passages are keyed by identity, since they do not change."""
    return tuple(
        [(piece.passage.source, piece.passage.id, piece.relevance, *piece.scores.items()) for piece in evidence]
    )


def pair_key(evidence: Evidence, text: str) -> Hashable:
    """The key of a pair; it includes the texts, since passages of two scopes may have the same id."""
    passage = evidence.passage
    return passage.source, passage.id, passage.indexed, evidence.relevance, text


def _request(request: Request) -> Hashable:
    names = tuple([source.name for source in request.sources])
    if not request.given and not request.without:
        return id(request.context), names, request.k, request.plan
    return id(request.context), names, request.k, request.plan, seen(request.given), request.without


def shared(role: str, component: object, sharing: Memo, name: str = "") -> Any:
    """Wrap a component of a role with the memo of a batch."""
    return _WRAPPERS[role](component, sharing, role, name)


_WRAPPERS: dict[str, type[_Shared]] = {
    "gate": SharedGate,
    "planner": SharedPlanner,
    "retriever": SharedRetriever,
    "reader": SharedReader,
    "critic": SharedCritic,
}
