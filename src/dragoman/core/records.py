"""Records of a store: scopes, sources, passages, facts, turns, and the results of searches and deletions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.core.codec import SPARSE
from dragoman.core.errors import InputError

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
"""Characters of a fact's original sentence that are searched with the fact."""


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
        """When a fact was stated, or the day of a document; "" if neither is known."""
        return self.meta.get("said_at") or self.date

    def is_within(self, since: str, until: str) -> bool:
        """Whether the moment lies in a period; a bound of "" is open, and a row without a moment lies in no period."""
        moment = self.moment
        return not (since or until) or (bool(moment) and since <= moment and (not until or moment < until))

    @property
    def indexed(self) -> str:
        """The text for search: title, heading path and text, and for a fact the sentence that stated it."""
        path = " > ".join(dict.fromkeys(part for part in (self.title, *self.headings) if part))
        text = f"{path}\n{self.text}" if path else self.text
        said = self.meta.get("said", "")[:_MOST_SAID].strip() if "slot" in self.meta else ""
        return f"{text} {said}" if said and said.rstrip(".!。！").casefold() not in self.text.casefold() else text


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that a user stated about themselves, or about a person or thing of theirs.

    `slot` names what it is about, for contradictions ("home", "Leo's age"); `subject` is "user", a name or a noun
    ("Leo", "dog"), `role` what the subject is to the user ("son"), `type` the type of the value ("age", "date",
    "diet"), and `said` the sentence as it was typed. `said_at` is when it was said; `valid_from` and `valid_until` are
    when it begins and ceases to be true, "" if unknown. Moments are written as `core.clock.stamp` does. `chance` is the
    write gate's probability that it is worth keeping, 0 for a fact found by a rule. `corrects` is the text of an
    earlier fact that the turn corrected by this one.
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
    chance: float = field(default=0.0, metadata={SPARSE: True})
    corrects: str = field(default="", metadata={SPARSE: True})

    @property
    def relation(self) -> str:
        """The slot without its subject: "age" of "Leo's age"."""
        for owner in (f"{self.subject}'s ", f"{self.subject}的"):
            if self.subject != "user" and self.slot.startswith(owner):
                return self.slot[len(owner) :]
        return self.slot


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance of a dialogue; `said_at` is when, as `core.clock.stamp` writes it, or "" if unknown.

    Two turns are equal if speaker and text are.
    """

    speaker: Speaker
    text: str
    said_at: str = field(default="", compare=False, metadata={SPARSE: True})


@dataclass(frozen=True, slots=True)
class Query:
    """One search in a store: by `tokens` (lexical) or by `vector` (nearest), inside one scope and source.

    `since` and `until` keep rows whose moment lies in between (`since <= moment < until`), as text in ISO 8601; "" is
    an open bound, and a row without a moment lies in no period.
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
        """Whether the query is limited to a period."""
        return bool(self.since or self.until)


@dataclass(frozen=True, slots=True)
class Hit:
    """A row found by a search; `score` is BM25 or cosine, higher is better."""

    passage: Passage
    score: float


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
    """Line of a receipt: how many items of a kind were erased from a file, and the SHA-256 of their content."""

    place: str
    what: str
    count: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Erasure:
    """What erasing everything of a user deletes; afterwards `receipt` holds the counts by file."""

    facts: int = 0
    chats: int = 0
    files: int = 0
    receipt: tuple[Erased, ...] = field(default=(), metadata={SPARSE: True})
