"""The values that travel through a turn: frozen dataclasses of tuples, without behaviour of their own.

Those that a store keeps are defined in `dragoman.core.records` and may be imported from here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Literal, TypeAlias

from dragoman.core.codec import SPARSE
from dragoman.core.control import DEFAULT_CONTROL, TurnControl
from dragoman.core.html import chips
from dragoman.core.quick import quick
from dragoman.core.records import (
    ASIDE,
    SHARED_USER,
    About,
    Answered,
    Erased,
    Erasure,
    Fact,
    Hit,
    Passage,
    Query,
    Receipt,
    Scope,
    Source,
    SourceName,
    Speaker,
    Turn,
)

__all__ = [
    "ASIDE",
    "NOTHING_LEARNED",
    "NULL_PLAN",
    "SHARED_USER",
    "About",
    "Answered",
    "Context",
    "Draft",
    "Erased",
    "Erasure",
    "Evidence",
    "Fact",
    "HistoryKind",
    "Hit",
    "Learned",
    "Message",
    "Passage",
    "Plan",
    "Prompt",
    "Query",
    "ReadTask",
    "Receipt",
    "Recollection",
    "Request",
    "Sampling",
    "Scope",
    "Source",
    "SourceName",
    "Speaker",
    "Turn",
    "Usage",
    "Verdict",
]

_LOCAL = Scope()


@dataclass(frozen=True, slots=True)
class Learned:
    """Changes that a turn made to a user's memory.

    `pending` is an erasure of everything that waits for the user's confirmation, `erased` one that was carried out;
    `declined` says that the user refused one. `mentions` are turns that hold a rare word of a deleted fact and are
    still there; `blanked` is how many such turns were deleted at the user's request. `wishes` are standing wishes about
    replies that the turn stated, `ended_wishes` those that it ended. `dropped` are the least useful facts, which
    made room for new ones.
    """

    added: tuple[Passage, ...] = ()
    superseded: tuple[Passage, ...] = ()
    joined: tuple[Passage, ...] = ()
    forgotten: tuple[Passage, ...] = ()
    restored: tuple[Passage, ...] = field(default=(), metadata={"sparse": True})
    pending: Erasure | None = field(default=None, metadata={"sparse": True})
    erased: Erasure | None = field(default=None, metadata={"sparse": True})
    declined: bool = field(default=False, metadata={"sparse": True})
    mentions: tuple[str, ...] = field(default=(), metadata={"sparse": True})
    blanked: int = field(default=0, metadata={"sparse": True})
    wishes: tuple[Passage, ...] = field(default=(), metadata={"sparse": True})
    ended_wishes: tuple[Passage, ...] = field(default=(), metadata={"sparse": True})
    dropped: tuple[Passage, ...] = field(default=(), metadata={"sparse": True})

    @property
    def is_empty(self) -> bool:
        changed = self.added or self.superseded or self.joined or self.forgotten or self.restored or self.blanked
        asked = self.pending or self.erased or self.declined
        return not (changed or asked or self.wishes or self.ended_wishes or self.mentions)


NOTHING_LEARNED = Learned()

HistoryKind: TypeAlias = Literal[
    "before",
    "told",
    "valid",
    "believed",
    "said",
    "since",
    "until",
    "age",
    "spoken",
    "why",
    "wishes",
    "known",
    "named",
    "yes",
    "no",
    "only",
    "untold",
]


@dataclass(frozen=True, slots=True)
class Recollection:
    """Facts of a user, past ones among them, that answer a question about them or their history.

    `kind` is what was asked: what was true `before`, when something was `told`, what was `valid` or `believed` at a
    time, what was `said` in a period, `since` or `until` when something is true, an `age`, what was `spoken` of in
    past chats, whose turns are then the facts, `why` a reply was given, with its passages as `current`, or which
    standing `wishes` there are; what is `known`, how somebody is `named`, whether something is so: `yes`, `no`,
    `only` something else is known, or the user has `untold` it, and `value` says what. `people` are names with
    roles ("Leo", "son"). `current` are facts that hold now, `start` and `end` the period asked for, `grain` its
    precision, `value` an age in years ("8", or "8-9" if no more is certain), `now` the time of the question, `zone`
    the user's.
    """

    kind: HistoryKind
    facts: tuple[Passage, ...] = ()
    current: tuple[Passage, ...] = ()
    start: str = ""
    end: str = ""
    grain: str = ""
    value: str = ""
    now: str = ""
    zone: str = ""
    people: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model draws its words: 0 is the most probable ones; None leaves it to the model's own configuration."""

    temperature: float | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """A dialogue up to and including the user's last turn, its scope, and what memory learned from that turn.

    `instructions` are what a calling program asks of the wording of the reply, and `sampling` how a model draws it;
    only readers with a model use them.
    `control` is what the caller decided about the turn.
    `recollection` is memory's answer to a question about the user's history ("Where did I live before?").
    `wishes` are the user's standing wishes about the wording of replies.
    """

    turns: tuple[Turn, ...]
    scope: Scope = _LOCAL
    dialogue: str = ""
    learned: Learned = NOTHING_LEARNED
    instructions: str = field(default="", metadata={SPARSE: True})
    sampling: Sampling | None = field(default=None, metadata={SPARSE: True})
    control: TurnControl = field(default=DEFAULT_CONTROL, metadata={SPARSE: True})
    recollection: Recollection | None = field(default=None, metadata={SPARSE: True})
    wishes: tuple[Passage, ...] = field(default=(), metadata={SPARSE: True})

    @classmethod
    def of(cls, *texts: str, scope: Scope | None = None, dialogue: str = "") -> Context:
        """Alternate user and agent turns so that the last one is the user's."""
        turns = tuple(Turn("user" if (len(texts) - i) % 2 else "agent", text) for i, text in enumerate(texts))
        return cls(turns, scope or Scope(), dialogue)

    @property
    def last(self) -> str:
        """The user's turn to answer."""
        return self.turns[-1].text if self.turns else ""

    @property
    def said_at(self) -> str:
        """When the user said the turn to answer; "" if unknown."""
        return self.turns[-1].said_at if self.turns else ""

    @property
    def history(self) -> tuple[Turn, ...]:
        """Everything before the last turn."""
        return self.turns[:-1]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage taken for a turn, with a calibrated relevance in [0, 1] and the scores behind it."""

    passage: Passage
    relevance: float
    scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.passage.id

    @property
    def source(self) -> SourceName:
        return self.passage.source

    @property
    def text(self) -> str:
        return self.passage.text


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's decision: whether to retrieve, with the probability that retrieval is needed."""

    retrieve: bool
    probability: float
    reason: str = ""


_NO_SEARCH = "<div><em>nothing is looked up</em></div>"


@dataclass(frozen=True, slots=True)
class Plan:
    """The sources to search: steps in order, the sources of a step searched jointly. NULL is ().

    `since` and `until` limit the search to rows of a period, as in `Query`; `latest` prefers newer documents.
    """

    steps: tuple[tuple[SourceName, ...], ...] = ()
    probabilities: Mapping[SourceName, float] = field(default_factory=dict)
    reason: str = ""
    since: str = field(default="", metadata={SPARSE: True})
    until: str = field(default="", metadata={SPARSE: True})
    latest: bool = field(default=False, metadata={SPARSE: True})

    @property
    def sources(self) -> tuple[SourceName, ...]:
        return tuple(chain.from_iterable(self.steps))

    @property
    def is_null(self) -> bool:
        return not self.steps

    @property
    def period(self) -> str:
        """The period in words: "from 2025-01-01 and before 2026-01-01"; "" where there is none."""
        parts = (f"from {self.since}" if self.since else "", f"before {self.until}" if self.until else "")
        return " and ".join(filter(None, parts))

    def _repr_html_(self) -> str:
        """For notebooks."""
        return chips([" + ".join(step) for step in self.steps], self.reason) if self.steps else _NO_SEARCH


NULL_PLAN = Plan()


@quick
@dataclass(frozen=True, slots=True)
class Request:
    """One retrieval: `given` is the evidence of earlier steps, `without` the ids not to return again.

    `plan` names all planned sources, for retrievers that use the plan; () if it is unknown. `since` and `until`
    limit the rows to a period, as in `Query`.
    """

    context: Context
    sources: tuple[Source, ...]
    k: int = 3
    given: tuple[Evidence, ...] = ()
    without: frozenset[str] = frozenset()
    plan: tuple[SourceName, ...] = ()
    since: str = ""
    until: str = ""

    def period_of(self, source: Source) -> tuple[str, str]:
        """Return the period for the rows of a source; none for facts if it comes from the question, not the caller."""
        control = self.context.control
        if source.about == "user" and not (control.since or control.until):
            return "", ""
        return self.since, self.until


@quick
@dataclass(frozen=True, slots=True)
class ReadTask:
    """Input of a reader: context, plan and evidence."""

    context: Context
    plan: Plan = NULL_PLAN
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and calls of a generation.

    `cached_tokens` are those of the prompt that the endpoint had read before; `reasoning_tokens` are a model's
    thoughts, which `completion_tokens` leaves out.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    cached_tokens: int = field(default=0, metadata={"sparse": True})
    reasoning_tokens: int = field(default=0, metadata={"sparse": True})

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens + self.reasoning_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    def above(self, other: Usage) -> Usage:
        """The difference to a smaller usage; zero where that is larger."""
        return Usage(
            max(0, self.prompt_tokens - other.prompt_tokens),
            max(0, self.completion_tokens - other.completion_tokens),
            max(0, self.calls - other.calls),
            max(0, self.cached_tokens - other.cached_tokens),
            max(0, self.reasoning_tokens - other.reasoning_tokens),
        )

    def share(self, count: int) -> Usage:
        """An even share of it among some turns, in whole numbers."""
        if count <= 1:
            return self
        return Usage(*(round(getattr(self, field.name) / count) for field in fields(self)))


@dataclass(frozen=True, slots=True)
class Draft:
    """A reply text with its reliability: `confidence` is a probability in [0, 1].

    `method` says how it was made (`generated`, `quoted`, `said`, ...), `quoted` which evidence ids
    it rests on, `notes` what the reader wants shown in the trace.
    """

    text: str
    confidence: float = 1.0
    method: str = "generated"
    quoted: tuple[str, ...] = ()
    usage: Usage = Usage()
    notes: Mapping[str, str | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages for a language model; `name` is the template.

    `sampling` replaces the model's own temperature and seed where it is given; models with `takes_sampling` obey it.
    """

    messages: tuple[Message, ...]
    name: str = ""
    sampling: Sampling | None = field(default=None, metadata={SPARSE: True})

    @classmethod
    def user(cls, content: str, *, system: str = "", name: str = "") -> Prompt:
        head = (Message("system", system),) if system else ()
        return cls((*head, Message("user", content)), name)
