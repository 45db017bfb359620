"""Working state of a turn, and a stage of the loop, which times a role and marks its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING

from dragoman.core.cancelling import check_cancelled
from dragoman.core.errors import DragomanError
from dragoman.core.trace import Note, Reply, Retrieval, Role, Trace
from dragoman.core.values import NULL_PLAN, Context, Draft, Evidence, Plan, ReadTask, Source, SourceName, Verdict
from dragoman.models.compute_slots import resume

if TYPE_CHECKING:
    from typing import Self

    from dragoman.reader.recency import OlderVersion

_CLOSED = Verdict(False, 0.0)
_EMPTY = Draft("")


class TurnState:
    """The decisions and evidence of a turn so far; it lives as long as one call of the agent."""

    __slots__ = (
        "context",
        "draft",
        "evidence",
        "index",
        "notes",
        "older",
        "personal",
        "plan",
        "shown",
        "sources",
        "steps",
        "verdict",
    )

    def __init__(self, context: Context, index: int) -> None:
        self.context = context
        self.index = index
        self.verdict = _CLOSED
        self.plan: Plan = NULL_PLAN
        self.steps: tuple[tuple[Source, ...], ...] = ()
        self.sources: tuple[SourceName, ...] = ()
        self.personal: tuple[bool, ...] = ()
        self.evidence: tuple[Evidence, ...] = ()
        self.draft = _EMPTY
        self.notes: list[Note] = []
        self.older: tuple[OlderVersion, ...] = ()
        self.shown = 0

    def close(self) -> None:
        """Drop plan and evidence, as if nothing had been looked up."""
        self.plan, self.steps, self.sources, self.personal = NULL_PLAN, (), (), ()
        self.evidence = ()

    def recollect(self, names: Mapping[str, str], source: SourceName) -> None:
        """Take memory's facts as evidence for a question about their history, without asking gate and planner."""
        recollection = self.context.recollection
        assert recollection is not None
        if recollection.kind == "spoken" and recollection.facts:
            source = recollection.facts[0].source
        passages, asks = recollection.facts, "asks about the history of the user's facts"
        sources: tuple[SourceName, ...] = (source,)
        if recollection.kind == "why":
            passages, asks = (*passages, *recollection.current), "asks what a reply rested on"
            sources = tuple(dict.fromkeys(passage.source for passage in passages))
        self.verdict = Verdict(True, 1.0, asks)
        self.plan = Plan((sources,)) if any(sources) else NULL_PLAN
        self.evidence = tuple(Evidence(passage, 1.0) for passage in passages)
        self.notes.append(Note("gate", names["gate"], 0.0, self.verdict))
        if any(sources):
            self.notes.append(Note("planner", names["planner"], 0.0, self.plan))
            self.notes.append(Note("retriever", names["retriever"], 0.0, Retrieval(sources, self.evidence)))

    def fresh(self) -> list[Note]:
        """Return the notes that were not yielded yet."""
        notes = self.notes[self.shown :]
        self.shown = len(self.notes)
        return notes

    def task(self) -> ReadTask:
        return ReadTask(self.context, self.plan, self.evidence)

    def reply(self) -> Reply:
        draft = self.draft
        return Reply(draft.text, self.verdict, self.plan, self.evidence, Trace(tuple(self.notes)), draft.confidence)


class Stage:
    """Times one role's call over some turns, and marks an error with the role and the turns."""

    __slots__ = ("component", "elapsed", "role", "started", "turns")

    def __init__(self, role: Role, component: str, turns: Sequence[TurnState]) -> None:
        self.role: Role = role
        self.component = component
        self.turns = turns
        self.elapsed = 0.0

    def __enter__(self) -> Self:
        check_cancelled()
        resume()
        self.started = perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.elapsed = perf_counter() - self.started
        if error is None or not isinstance(error, Exception):
            return
        indices = tuple(turn.index for turn in self.turns)
        if isinstance(error, DragomanError):
            where: dict[str, object] = {"role": self.role, "component": self.component, "turns": indices}
            if len(indices) == 1:
                where["turn"] = indices[0]
            error.fields = where | error.fields
        else:
            error.add_note(f"in the {self.role} ({self.component}), turns {', '.join(map(str, indices[:8]))}")

    @property
    def header(self) -> tuple[Role, str, float]:
        """First fields of a turn's note: role, component and the turn's share of the time."""
        return self.role, self.component, self.elapsed / max(1, len(self.turns))


def require(answers: Sized, turns: Sequence[TurnState], stage: Stage) -> None:
    """Raise an error where a role did not answer every turn."""
    if len(answers) != len(turns):
        raise DragomanError(
            f"The {stage.role} '{stage.component}' gave {len(answers)} answers for {len(turns)} turns.",
            remedy="A role answers in the order and length of its batch; dragoman.testing has a suite to hold it to.",
        )
