"""Events of a turn: decisions, pieces of text, and the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.core.trace import Note, Refinement, Reply, Retrieval
from dragoman.core.values import NULL_PLAN, Draft, Evidence, Learned, Plan, Turn, Usage, Verdict
from dragoman.models.tool_calls import ToolCall

Kind: TypeAlias = Literal["memory", "gate", "plan", "evidence", "refined"]
_KINDS: dict[str, Kind] = {
    "memory": "memory",
    "gate": "gate",
    "planner": "plan",
    "retriever": "evidence",
    "refiner": "refined",
}


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision of a role; the reader's note is in the reply's trace."""

    kind: Kind
    note: Note


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the reply; the pieces concatenate to its text."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnDone:
    """The stored reply: `turn` is its place in the dialogue, `seconds` the time since the turn was accepted.

    `replayed` is true if the same request was answered before. A turn with `calls` asks for them instead of answering:
    nothing of it is stored, and it has no place.
    """

    reply: Reply
    agent: str
    dialogue: str
    turn: int
    usage: Usage
    seconds: float
    replayed: bool = False
    calls: tuple[ToolCall, ...] = ()


Event: TypeAlias = Decided | Text | TurnDone


def decided(note: Note) -> Decided | None:
    """Return the event of a note; None for the reader's."""
    kind = _KINDS.get(note.role)
    return None if kind is None else Decided(kind, note)


def again(done: TurnDone) -> Iterator[Event]:
    """Replay the events of an already stored turn."""
    for note in done.reply.trace:
        event = decided(note)
        if event is not None:
            yield event
    yield Text(done.reply.text)
    yield done


class Toll:
    """Token use of a turn so far: that of its drafts, and an estimate for streamed text."""

    def __init__(self, text: str, before: Sequence[Turn] = ()) -> None:
        self._known: Usage | None = None
        self._asked = [text, *(turn.text for turn in before)]
        self._pieces = 0

    def take(self, piece: object) -> None:
        """Update the use with a note or a piece of text."""
        if isinstance(piece, str):
            self._pieces += 1
        elif not isinstance(piece, Note):
            return
        elif isinstance(piece.value, Retrieval):
            self._asked += [evidence.passage.text for evidence in piece.value.evidence]
        elif isinstance(piece.value, Draft | Refinement):
            self._known = (self._known or Usage()) + piece.total_usage

    @property
    def usage(self) -> Usage:
        if self._known is not None:
            return self._known
        if not self._pieces:
            return Usage()
        # A token has about four bytes, and models send one token per piece.
        return Usage(sum(len(text.encode(errors="replace")) for text in self._asked) // 4, self._pieces, 1)


class TurnPreface:
    """The decisions before the text, collected from the events: memory, gate, plan and evidence."""

    def __init__(self) -> None:
        self.learned: Learned | None = None
        self.verdict = Verdict(False, 0.0)
        self.plan: Plan = NULL_PLAN
        self.evidence: tuple[Evidence, ...] = ()

    def take(self, event: Decided) -> None:
        """Update with a note; a gate that closes after retrieval drops plan and evidence."""
        match event.note.value:
            case Learned() as learned:
                self.learned = learned
            case Verdict() as verdict:
                self.verdict = verdict
                if not verdict.retrieve:
                    self.plan, self.evidence = NULL_PLAN, ()
            case Plan() as plan:
                self.plan = plan if plan.steps else NULL_PLAN
            case Retrieval(evidence=found):
                self.evidence += found
            case Refinement(evidence=left):
                self.evidence = left

    @classmethod
    def of(cls, reply: Reply) -> TurnPreface:
        """Create the preface from a finished reply."""
        whole = cls()
        learned = [note.value for note in reply.trace.of("memory") if isinstance(note.value, Learned)]
        whole.learned = learned[-1] if learned else None
        whole.verdict, whole.plan, whole.evidence = reply.verdict, reply.plan, reply.evidence
        return whole


def usage_of(reply: Reply) -> Usage:
    """Token use of a turn, of every role."""
    return reply.trace.usage
