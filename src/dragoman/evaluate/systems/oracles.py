"""Oracle and trivial components: the upper and lower bounds of a table.

They are given the labels by a part that only they ask for; what every component reads, the context, holds none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Literal, TypeAlias

from dragoman.core.errors import ConfigError, InputError
from dragoman.core.examples import Example
from dragoman.core.protocols import Store
from dragoman.core.registry import gates, planners, readers, retrievers
from dragoman.core.values import (
    Context,
    Draft,
    Evidence,
    Passage,
    Plan,
    ReadTask,
    Request,
    Scope,
    Source,
    SourceName,
    Turn,
    Verdict,
)
from dragoman.sources.graph import SourceGraph

_Key: TypeAlias = tuple[str, tuple[Turn, ...], Scope]
_SILENCE = Draft("", 0.0, "silent")


class GoldAnswers:
    """The labels of the current turns, by dialogue, last turn and scope.

    Where two turns are the same by these and their labels are not, no label is given for either.
    `whole` reads the set anew: some rows are made of the labels of all turns.
    """

    def __init__(self, whole: Callable[[], Iterable[Example]] = tuple) -> None:
        self._whole = whole
        self._examples: dict[_Key, list[Example]] = {}

    def know(self, examples: Iterable[Example]) -> None:
        """Replace the current turns."""
        self._examples = {}
        for example in examples:
            self._examples.setdefault(_key(example.context), []).append(example)

    def of(self, context: Context) -> Example:
        """The labelled turn of a context."""
        examples = self._examples.get(_key(context), [])
        if not examples:
            raise InputError(
                f"There is no labelled turn {len(context.turns)} of dialogue '{context.dialogue}'.",
                remedy="Rows that know the answers run in experiments only.",
            )
        first = examples[0]
        for other in examples[1:]:
            if other.gold != first.gold:
                raise InputError(
                    f"The turns '{first.id}' and '{other.id}' of dialogue '{context.dialogue}' are the same words with "
                    "other labels: nothing tells which one is asked for.",
                    remedy="Give each a dialogue of its own, or leave out the rows that know the answers.",
                    turn=other.id,
                )
        return first

    def all(self) -> Iterator[Example]:
        """Every turn of the set."""
        return iter(self._whole())


def _key(context: Context) -> _Key:
    return context.dialogue, context.turns, context.scope


def opened(example: Example) -> bool:
    """Whether a turn should retrieve: by its label, else by its gold plan or gold evidence."""
    gold = example.gold
    if gold.retrieve is not None:
        return gold.retrieve
    if gold.plan is not None:
        return bool(gold.plan)
    if gold.evidence is not None:
        return bool(gold.evidence)
    raise _unlabelled(example, "whether to look anything up")


@gates.register("gold.v1")
class GoldGate:
    """Opens where the label says so: RAGate's Human-label row."""

    def __init__(self, *, answers: GoldAnswers) -> None:
        self._answers = answers

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        return [_verdict(opened(self._answers.of(context)), "gold") for context in turns]


@gates.register("shuffled.v1")
class ShuffledGate:
    """Opens as often as the labels do, at turns drawn by a seed: RAGate's Random-Aug with the same number."""

    def __init__(self, *, answers: GoldAnswers, seed: int = 1) -> None:
        self._answers = answers
        self._seed = seed
        self._decisions: dict[str, bool] | None = None

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        if self._decisions is None:
            labels = {example.id: opened(example) for example in self._answers.all()}
            shuffled = list(labels.values())
            Random(self._seed).shuffle(shuffled)
            self._decisions = dict(zip(labels, shuffled, strict=True))
        return [_verdict(self._decisions[self._answers.of(context).id], "shuffled") for context in turns]


@planners.register("gold.v1")
class GoldPlanner:
    """Plans the gold sources: one per step in the label's order, or, with `order = "graph"`, ordered by `needs`.

    Sources in `without` are left out: the papers' ablation of a source.
    """

    def __init__(
        self, *, answers: GoldAnswers, order: Literal["gold", "graph"] = "gold", without: Sequence[str] = ()
    ) -> None:
        self._answers = answers
        self._order = order
        self._without = frozenset(without)

    def plan(self, turns: Sequence[Context], sources: Sequence[Source]) -> Sequence[Plan]:
        return [self._one(self._answers.of(context), sources) for context in turns]

    def _one(self, example: Example, sources: Sequence[Source]) -> Plan:
        names = example.gold.plan
        if names is None:
            raise _unlabelled(example, "which sources to ask")
        names = tuple(name for name in names if name not in self._without)
        if not names:
            return Plan((), dict.fromkeys((source.name for source in sources), 0.0), "gold")
        steps = SourceGraph(sources).plan(names).steps if self._order == "graph" else tuple((name,) for name in names)
        return Plan(steps, {source.name: float(source.name in names) for source in sources}, "gold")


@retrievers.register("gold.v1")
class GoldRetriever:
    """Returns the gold evidence of the planned sources, at most k per source."""

    def __init__(self, *, answers: GoldAnswers, store: Store) -> None:
        self._answers = answers
        self._store = store

    def retrieve(self, requests: Sequence[Request]) -> Sequence[Sequence[Evidence]]:
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> list[Evidence]:
        example = self._answers.of(request.context)
        sources = {source.name for source in request.sources}
        taken: Counter[SourceName] = Counter()
        evidence = []
        for passage in gold_passages(example, self._store):
            if passage.source in sources and passage.id not in request.without and taken[passage.source] < request.k:
                taken[passage.source] += 1
                evidence.append(Evidence(passage, 1.0, {"gold": 1.0}))
        return evidence


class _Says:
    """Base of readers that reply with one fixed text."""

    def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
        return [self._say(task) for task in tasks]

    def stream(self, task: ReadTask) -> Iterator[str | Draft]:
        draft = self._say(task)
        if draft.text:
            yield draft.text
        yield draft

    def _say(self, task: ReadTask) -> Draft:
        raise NotImplementedError


@readers.register("silent.v1")
class SilentReader(_Says):
    """Replies with an empty text, for rows that measure only the steps before the reader."""

    def _say(self, task: ReadTask) -> Draft:
        return _SILENCE


@readers.register("gold.v1")
class GoldReader(_Says):
    """Replies with the gold reply, for gates that read the true response as in the papers."""

    def __init__(self, *, answers: GoldAnswers) -> None:
        self._answers = answers

    def _say(self, task: ReadTask) -> Draft:
        example = self._answers.of(task.context)
        if example.gold.reply is None:
            raise _unlabelled(example, "what to reply")
        return Draft(example.gold.reply, 1.0, "gold")


@readers.register("copy.v1")
class CopyReader(_Says):
    """Replies with the gold evidence word for word, whatever was retrieved: a lower bound for generators."""

    def __init__(self, *, answers: GoldAnswers, store: Store, language: str = "en") -> None:
        self._answers = answers
        self._store = store
        self._between = "，" if language == "zh" else " "  # as SAFARI joins evidence

    def _say(self, task: ReadTask) -> Draft:
        passages = gold_passages(self._answers.of(task.context), self._store)
        if not passages:
            return Draft("", 1.0, "copied")
        text = self._between.join(passage.text for passage in passages)
        return Draft(text, 1.0, "copied", tuple(passage.id for passage in passages))


@readers.register("frequent.v1")
class FrequentReader(_Says):
    """Replies to every turn with the most frequent reply of the training part; the first of equally frequent ones."""

    def __init__(self, *, training: Callable[[], Iterator[Example]]) -> None:
        self._training = training
        self._draft: Draft | None = None

    def _say(self, task: ReadTask) -> Draft:
        if self._draft is None:
            replies = Counter(example.gold.reply for example in self._training() if example.gold.reply)
            if not replies:
                raise InputError(
                    "The training part has no replies, so that none is the most frequent.",
                    remedy="Name a training file with replies as `train` in [[data]].",
                )
            [(text, times)] = replies.most_common(1)
            self._draft = Draft(text, times / replies.total(), "frequent")
        return self._draft


def gold_passages(example: Example, store: Store) -> list[Passage]:
    """The gold evidence of a turn: its own candidates, else rows that the set shares."""
    named = example.gold.evidence
    if named is None:
        raise _unlabelled(example, "which passages are right")
    by_id: dict[str, Passage | None] = {passage.id: passage for passage in example.candidates}
    others = [one for one in named if one not in by_id]
    if others:
        by_id |= zip(others, store.get(example.context.scope.shared, others), strict=True)
    gold = []
    for one in named:
        passage = by_id[one]
        if passage is None:
            raise InputError(
                f"The gold evidence '{one}' of turn '{example.id}' is neither a candidate nor a shared passage.",
                remedy="`dragoman data check FILE` lists such rows.",
                example=example.id,
            )
        gold.append(passage)
    return gold


def _verdict(retrieve: bool, reason: str) -> Verdict:
    return Verdict(retrieve, float(retrieve), reason)


def _unlabelled(example: Example, what: str) -> ConfigError:
    return ConfigError(
        f"The turn '{example.id}' does not say {what}.", remedy="Leave this row out for this set.", example=example.id
    )
