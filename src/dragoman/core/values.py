"""The values that travel through a turn: frozen, made of tuples, without behaviour of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.core.codec import SPARSE
from dragoman.core.control import DEFAULT_CONTROL, TurnControl
from dragoman.core.errors import InputError
from dragoman.core.quick import quick

if TYPE_CHECKING:
    from dragoman.core.codec import Json

SourceName: TypeAlias = str
About: TypeAlias = Literal["world", "user", "bot"]
Speaker: TypeAlias = Literal["user", "agent"]

SHARED_USER = ""
"""The user part of a scope that holds what a whole tenant shares; no person can have this id."""
ASIDE = "feedback:"
"""Prefix of internal dialogues, which hold ratings."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant and user whose data a call may touch; part of every key in the store."""

    tenant: str = "local"
    user: str = "me"

    def __post_init__(self) -> None:
        if not self.tenant.strip():
            raise InputError("A scope needs a tenant.", remedy="Give a non-empty tenant id.")
        if "\x00" in self.tenant or "\x00" in self.user:
            raise InputError("A tenant or user id holds a NUL character.", remedy="Remove it.")

    @property
    def shared(self) -> Scope:
        """The tenant's shared rows: documents, the bot's persona."""
        return Scope(self.tenant, SHARED_USER)


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance of a dialogue; `said_at` is when, as `core.clock.stamp` writes it, or "" where nobody knows.

    Two turns are equal if speaker and text are.
    """

    speaker: Speaker
    text: str
    said_at: str = field(default="", compare=False, metadata={SPARSE: True})


@dataclass(frozen=True, slots=True)
class Receipt:
    """Request id and queue ticket of a turn: a turn is stored once per request id."""

    request: str = ""
    line: int = 0
    ticket: int = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """A turn stored under a request id: the user's text, and the trace and position of the reply."""

    dialogue: str
    place: int
    asked: str
    trace: Json


@dataclass(frozen=True, slots=True)
class Erased:
    """A line of a receipt: so many of a kind were erased from a file, and the SHA-256 of what they held."""

    place: str
    what: str
    count: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Erasure:
    """What erasing everything of a user deletes; `receipt` says what was erased from where, once it was."""

    facts: int = 0
    chats: int = 0
    files: int = 0
    receipt: tuple[Erased, ...] = field(default=(), metadata={SPARSE: True})


@dataclass(frozen=True, slots=True)
class Learned:
    """What a turn changed in a user's memory.

    `pending` is an erasure of everything that waits for the user's confirmation, `erased` one that was carried out.
    `mentions` are turns that hold a rare word of a deleted fact and are still there; `blanked` is how many such turns
    were deleted at the user's word. `wishes` are standing wishes about replies that the turn stated, `ended_wishes`
    those that it took back. `dropped` are the least useful facts, which made room for new ones.
    """

    added: tuple[Passage, ...] = ()
    superseded: tuple[Passage, ...] = ()
    joined: tuple[Passage, ...] = ()
    forgotten: tuple[Passage, ...] = ()
    restored: tuple[Passage, ...] = field(default=(), metadata={"sparse": True})
    pending: Erasure | None = field(default=None, metadata={"sparse": True})
    erased: Erasure | None = field(default=None, metadata={"sparse": True})
    mentions: tuple[str, ...] = field(default=(), metadata={"sparse": True})
    blanked: int = field(default=0, metadata={"sparse": True})
    wishes: tuple[Passage, ...] = field(default=(), metadata={"sparse": True})
    ended_wishes: tuple[Passage, ...] = field(default=(), metadata={"sparse": True})
    dropped: tuple[Passage, ...] = field(default=(), metadata={"sparse": True})

    @property
    def is_empty(self) -> bool:
        changed = self.added or self.superseded or self.joined or self.forgotten or self.restored or self.blanked
        return not (changed or self.pending or self.erased or self.wishes or self.ended_wishes)


NOTHING_LEARNED = Learned()

HistoryKind: TypeAlias = Literal[
    "before", "told", "valid", "believed", "said", "since", "until", "age", "spoken", "wishes"
]


@dataclass(frozen=True, slots=True)
class Recollection:
    """Facts of a user, past ones among them, that answer a question about their history.

    `kind` is what was asked: what was true `before`, when something was `told`, what was `valid` or `believed` at a
    time, what was `said` in a period, `since` or `until` when something is true, an `age`, what was `spoken` of in past
    chats, whose turns are then the facts, or which standing `wishes` there are. `current` are facts that hold now,
    `start` and `end` the period asked for, `grain` its precision, `value` an age in years ("8", or "8-9" if no more is
    certain), `now` the time of the question, `zone` the user's.
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
    `recollection` is what memory has on a question about the user's history ("Where did I live before?").
    `wishes` are the user's standing wishes about the wording of replies.
    """

    turns: tuple[Turn, ...]
    scope: Scope = Scope()
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
        """When the user said the turn to answer; "" where nobody knows."""
        return self.turns[-1].said_at if self.turns else ""

    @property
    def history(self) -> tuple[Turn, ...]:
        """Everything before the last turn."""
        return self.turns[:-1]


@dataclass(frozen=True, slots=True)
class Source:
    """A declared source: its content, whom it is about, and the sources that must be searched before it."""

    name: SourceName
    description: str = ""
    needs: tuple[SourceName, ...] = ()
    about: About = "world"
    private: bool = False

    def scope(self, scope: Scope) -> Scope:
        """The scope of this source's rows for a caller; the only place that decides private or shared."""
        return scope if self.private else scope.shared


_MOST_SAID = 240
"""Characters of the sentence that told a fact by which the fact is found."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text in a source; `parent` points at the passage it depends on, if any."""

    id: str
    source: SourceName
    text: str
    title: str = ""
    headings: tuple[str, ...] = ()
    parent: str | None = None
    position: int = 0
    origin: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)

    @property
    def date(self) -> str:
        """The day of the document in ISO 8601, "" where it has none: `meta["date"]`."""
        return self.meta.get("date", "")

    @property
    def moment(self) -> str:
        """When a fact was said, or the day of a document; "" where neither is known."""
        return self.meta.get("said_at") or self.date

    def is_within(self, since: str, until: str) -> bool:
        """Whether the moment lies in a period; "" is no bound, and no moment is in no period."""
        moment = self.moment
        return not (since or until) or (bool(moment) and since <= moment and (not until or moment < until))

    @property
    def indexed(self) -> str:
        """What search reads: the text under its title and heading path, and the sentence that told a fact."""
        path = " > ".join(dict.fromkeys(part for part in (self.title, *self.headings) if part))
        text = f"{path}\n{self.text}" if path else self.text
        said = self.meta.get("said", "")[:_MOST_SAID].strip() if "slot" in self.meta else ""
        return f"{text} {said}" if said and said.rstrip(".!。！").casefold() not in self.text.casefold() else text


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
        from dragoman.core.html import plan_html

        return plan_html(self)


NULL_PLAN = Plan()


@quick
@dataclass(frozen=True, slots=True)
class Request:
    """One retrieval: `given` is the evidence of earlier steps, `without` the ids not to return again.

    `plan` are all sources that were planned, for who reads the plan too; () where it is not known. `since` and `until`
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
        """The period of the rows of a source; none for facts where the question, not the caller, gave it."""
        control = self.context.control
        if source.about == "user" and not (control.since or control.until):
            return "", ""
        return self.since, self.until


@quick
@dataclass(frozen=True, slots=True)
class ReadTask:
    """What a reader answers from."""

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
        """What this has more than another; nothing where it has less."""
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
    """A text and how far it is to be trusted: `confidence` is a probability in [0, 1].

    `method` says how it came about (`generated`, `quoted`, `said`, ...), `quoted` which evidence ids
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


@dataclass(frozen=True, slots=True)
class Query:
    """One search in a store: by `tokens` (lexical) or by `vector` (nearest), inside one scope and source.

    `since` and `until` keep rows whose moment lies in between (`since <= moment < until`), as text in ISO 8601; ""
    is no bound, and a row without a moment is in no period.
    """

    scope: Scope
    source: SourceName
    k: int
    tokens: tuple[str, ...] = ()
    vector: Sequence[float] | None = None
    parents: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    since: str = ""
    until: str = ""

    @property
    def is_timed(self) -> bool:
        """Whether only rows of a period are wanted."""
        return bool(self.since or self.until)


@dataclass(frozen=True, slots=True)
class Hit:
    """A row found by a search; `score` is BM25 or cosine, higher is better."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that a user stated about themselves, or about a person or thing of theirs.

    `slot` names what it is about, for contradictions ("home", "Leo's age"); `subject` is "user", a name or a noun
    ("Leo", "dog"), `role` what the subject is to the user ("son"), `type` the type of the value ("age", "date",
    "diet"), and `said` the sentence as it was typed. `said_at` is when it was said; `valid_from` and `valid_until` are
    when it begins and ends to be true, "" where nobody knows. Moments are written as `core.clock.stamp` does.
    """

    text: str
    slot: str = ""
    value: str = ""
    said: str = ""
    subject: str = "user"
    type: str = "text"
    role: str = ""
    said_at: str = field(default="", metadata={SPARSE: True})
    valid_from: str = field(default="", metadata={SPARSE: True})
    valid_until: str = field(default="", metadata={SPARSE: True})

    @property
    def relation(self) -> str:
        """The slot without its subject: "age" of "Leo's age"."""
        for owner in (f"{self.subject}'s ", f"{self.subject}的"):
            if self.subject != "user" and self.slot.startswith(owner):
                return self.slot[len(owner) :]
        return self.slot
