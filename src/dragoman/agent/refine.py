"""UniMS-RAG, Algorithm 1: score the evidence against the draft, replace the worst, read again.

Within-step refinement is one round that replaces the worst `alpha`; multi-step refinement is several rounds that
replace one each. A turn without evidence (NULL) is never refined. With `below` (not in the paper), evidence that scores
at least `below` is not replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.core.errors import ConfigError
from dragoman.core.trace import Refinement
from dragoman.core.values import Draft, Evidence, ReadTask, Request, Source, SourceName

if TYPE_CHECKING:
    from dragoman.core.protocols import Critic, Reader, Retriever

Mode: TypeAlias = Literal["within-step", "multi-step"]


class Refiner:
    """Algorithm 1 over a batch. The refined draft is taken as it is: the paper does not go back to an earlier one."""

    def __init__(
        self,
        critic: Critic,
        retriever: Retriever,
        reader: Reader,
        *,
        mode: Mode = "within-step",
        alpha: int = 1,
        steps: int = 1,
        below: float | None = None,
    ) -> None:
        if mode not in ("within-step", "multi-step"):
            raise ConfigError(f"Unknown refiner mode '{mode}'.", remedy="Use within-step or multi-step.")
        if alpha < 1 or steps < 1:
            raise ConfigError(f"alpha ({alpha}) and steps ({steps}) must be at least 1.", remedy="Raise them to 1.")
        if mode == "multi-step" and alpha != 1:
            raise ConfigError(f"Multi-step refinement replaces one at a time, not {alpha}.", remedy="Leave alpha out.")
        if mode == "within-step" and steps != 1:
            raise ConfigError(f"Within-step refinement is one round, not {steps}.", remedy="Use mode multi-step.")
        if below is not None and not 0 < below <= 1:
            raise ConfigError(f"below ({below}) is a score above 0, at most 1.", remedy="Leave it out, or try 0.5.")
        self.critic = critic
        self.retriever = retriever
        self.reader = reader
        self.mode = mode
        self.alpha = alpha
        self.steps = steps
        self.below = below

    def refine(
        self, tasks: Sequence[ReadTask], drafts: Sequence[Draft], sources: Sequence[Source]
    ) -> list[tuple[Refinement, ...]]:
        """Run all rounds of each task; () for a task without evidence."""
        rounds = list(self.rounds(tasks, drafts, sources))
        return [tuple(entry[i] for entry in rounds if entry[i] is not None) for i in range(len(tasks))]  # type: ignore[misc]  # None is filtered out

    def rounds(
        self, tasks: Sequence[ReadTask], drafts: Sequence[Draft], sources: Sequence[Source]
    ) -> Iterator[list[Refinement | None]]:
        """Yield round by round; None for a task without evidence or without further candidates."""
        states = [_RefinementState(task, draft) for task, draft in zip(tasks, drafts, strict=True)]
        by_name = {source.name: source for source in sources}
        for _ in range(self.steps):
            active = [state for state in states if not state.done]
            if not active:
                return
            self._score(active)
            self._replace(active, by_name)
            self._read_again([state for state in active if state.replaced])
            yield [state.refinement() if not state.done else None for state in states]
            for state in active:
                state.done = not state.replaced  # no new evidence was found: another round would do the same

    def _score(self, states: list[_RefinementState]) -> None:
        pairs = [(piece, state.draft.text) for state in states for piece in state.task.evidence]
        consistency = iter(self.critic.consistency(pairs))  # S_nli, Alg. 1 lines 2-5
        for state in states:
            # S = S_nli * S_c, Alg. 1 line 6
            state.scores = [next(consistency) * piece.relevance for piece in state.task.evidence]
            # lines 7-8; among equals the later one goes first, since retrievers give the best first
            order = sorted(range(len(state.scores)), key=lambda i, scores=state.scores: (scores[i], -i))  # type: ignore[misc]
            worst = order[: self.alpha]
            state.worst = [i for i in worst if self.below is None or state.scores[i] < self.below]

    def _replace(self, states: list[_RefinementState], by_name: dict[SourceName, Source]) -> None:
        """Alg. 1 lines 9-14: retrieve the next new evidence of each source, in the plan's order.

        So a dependent source is searched with the replacement of the evidence it depends on. Each source is asked once
        for all states.
        """
        for state in states:
            state.replaced, state.warnings = {}, ()
        for turn in range(max((len(state.asked) for state in states), default=0)):
            wanted = [(state, state.asked[turn]) for state in states if turn < len(state.asked)]
            requests = [state.request(by_name[name]) for state, name in wanted]
            for (state, name), novel in zip(wanted, self.retriever.retrieve(requests), strict=True):
                # An exhausted source returns fewer pieces: the worst ones are replaced, the others stay.
                state.replaced.update(zip(state.places(name), novel, strict=False))
                state.warnings += getattr(novel, "warnings", ())
        for state in states:
            state.take()

    def _read_again(self, states: list[_RefinementState]) -> None:
        if states:
            drafts = self.reader.read([state.task for state in states])  # Alg. 1 line 15
            for state, draft in zip(states, drafts, strict=True):
                state.draft = draft


class _RefinementState:
    """State of one task between the rounds."""

    __slots__ = ("done", "draft", "former", "replaced", "scores", "task", "used", "warnings", "worst")

    def __init__(self, task: ReadTask, draft: Draft) -> None:
        self.task = task
        self.draft = draft
        self.former = task.evidence
        self.scores: list[float] = []
        self.worst: list[int] = []
        self.replaced: dict[int, Evidence] = {}
        self.used = {piece.id for piece in task.evidence}
        self.warnings: tuple[str, ...] = ()
        self.done = not task.evidence

    @property
    def asked(self) -> list[SourceName]:
        """The sources of the worst evidence, in the order of the plan."""
        names = {self.task.evidence[i].source for i in self.worst}
        order = {name: place for place, name in enumerate(self.task.plan.sources)}
        return sorted(names, key=lambda name: (order.get(name, len(order)), name))

    def places(self, name: SourceName) -> list[int]:
        """The positions of the worst evidence of a source, worst first."""
        return [i for i in self.worst if self.task.evidence[i].source == name]

    def request(self, source: Source) -> Request:
        """Return the request that replaces the worst evidence of a source."""
        name, task = source.name, self.task
        count = len(self.places(name))
        return Request(task.context, (source,), count, self.given(name), frozenset(self.used), task.plan.sources)

    def given(self, name: SourceName) -> tuple[Evidence, ...]:
        """Return the evidence of the steps before the one that asks this source, as in the first retrieval.

        Evidence that this round has already replaced counts with its replacement.
        """
        earlier: set[SourceName] = set()
        for step in self.task.plan.steps:
            if name in step:
                break
            earlier.update(step)
        kept = (self.replaced.get(i, piece) for i, piece in enumerate(self.task.evidence))
        return tuple(piece for piece in kept if piece.source in earlier)

    def take(self) -> None:
        """Put the new evidence in the position of the old, so that the order of sources stays."""
        self.former = self.task.evidence
        evidence = tuple(self.replaced.get(i, piece) for i, piece in enumerate(self.former))
        self.used.update(piece.id for piece in evidence)
        self.task = replace(self.task, evidence=evidence)

    def refinement(self) -> Refinement:
        scores = tuple((piece.id, score) for piece, score in zip(self.former, self.scores, strict=True))
        replaced = tuple((self.former[i].id, self.replaced[i].id) for i in self.worst if i in self.replaced)
        return Refinement(scores, replaced, self.task.evidence, self.draft, self.warnings)
