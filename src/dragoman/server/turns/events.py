"""A turn as it happens: what was decided, the text piece by piece, and the end of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.core.trace import Note, Refinement, Reply, Retrieval
from dragoman.core.values import NULL_PLAN, Draft, Evidence, Learned, Plan, Turn, Usage, Verdict

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
    """What one role decided; the reader's note is in the reply's trace."""

    kind: Kind
    note: Note


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the reply; all pieces together are its text."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnDone:
    """The whole reply, kept: `turn` is its place in the dialogue, `seconds` since the turn was taken in.

    `replayed` says that it was kept before, when the same request came for the first time.
    """

    reply: Reply
    agent: str
    dialogue: str
    turn: int
    usage: Usage
    seconds: float
    replayed: bool = False


Event: TypeAlias = Decided | Text | TurnDone


def decided(note: Note) -> Decided | None:
    """The event of a note; None for the reader's."""
    kind = _KINDS.get(note.role)
    return None if kind is None else Decided(kind, note)


def again(done: TurnDone) -> Iterator[Event]:
    """The events of a turn that was kept before, as they came the first time."""
    for note in done.reply.trace:
        event = decided(note)
        if event is not None:
            yield event
    yield Text(done.reply.text)
    yield done


class Toll:
    """What a turn has used so far: what its drafts say; of a text that is still being written an estimate."""

    def __init__(self, text: str, before: Sequence[Turn] = ()) -> None:
        self._known: Usage | None = None
        self._asked = [text, *(turn.text for turn in before)]
        self._pieces = 0

    def take(self, piece: object) -> None:
        """Go along with the turn: notes and pieces of text count."""
        if isinstance(piece, str):
            self._pieces += 1
        elif not isinstance(piece, Note):
            return
        elif isinstance(piece.value, Retrieval):
            self._asked += [evidence.passage.text for evidence in piece.value.evidence]
        elif isinstance(piece.value, Draft | Refinement):
            self._known = (self._known or Usage()) + _usage(piece)

    @property
    def usage(self) -> Usage:
        if self._known is not None:
            return self._known
        if not self._pieces:
            return Usage()
        # A token has four bytes or so, and models give a token a piece.
        return Usage(sum(len(text.encode(errors="replace")) for text in self._asked) // 4, self._pieces, 1)


class TurnPreface:
    """What stands before the text: learned, decided, planned and found, put together from the events."""

    def __init__(self) -> None:
        self.learned: Learned | None = None
        self.verdict = Verdict(False, 0.0)
        self.plan: Plan = NULL_PLAN
        self.evidence: tuple[Evidence, ...] = ()

    def take(self, event: Decided) -> None:
        """Go along with the loop: a gate that closes on reading the evidence drops plan and evidence."""
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
        """The same from a whole reply."""
        whole = cls()
        learned = [note.value for note in reply.trace.of("memory") if isinstance(note.value, Learned)]
        whole.learned = learned[-1] if learned else None
        whole.verdict, whole.plan, whole.evidence = reply.verdict, reply.plan, reply.evidence
        return whole


def usage_of(reply: Reply) -> Usage:
    """What the texts of a turn cost: every draft, refined ones too."""
    total = Usage()
    for note in reply.trace:
        total += _usage(note)
    return total


def _usage(note: Note) -> Usage:
    match note.value:
        case Draft(usage=used) | Refinement(draft=Draft(usage=used)):
            return used
    return Usage()
