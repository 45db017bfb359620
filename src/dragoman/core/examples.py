"""A labelled turn, whatever set it comes from: the one value that loaders yield and evaluation and training read.

A turn's private candidates lie under its context's scope, as a user's memory would; what a whole set shares is
the data set's own to give. So the agents that are measured are the agents that talk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from dragoman.core.values import Context, Passage, Source, SourceName

Label: TypeAlias = Literal["retrieve", "plan", "evidence", "reply"]


@dataclass(frozen=True, slots=True)
class Gold:
    """What the set says is right; None where it says nothing. An empty plan is NULL, empty evidence is none."""

    retrieve: bool | None = None
    plan: tuple[SourceName, ...] | None = None
    evidence: tuple[str, ...] | None = None
    reply: str | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """One turn to be answered. `context.dialogue` names its dialogue, `context.scope` where its candidates lie.

    Examples with the same scope have the same candidates. `position` counts the agent's turns of the dialogue
    from 0. Gold evidence names passages of `candidates` or of the set's shared passages.
    """

    id: str
    context: Context
    sources: tuple[Source, ...]
    candidates: tuple[Passage, ...] = ()
    gold: Gold = Gold()
    position: int = 0
    domain: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a row of a file. An `error` left the row out; a `warning` kept it, and says what is odd.

    `row` is the line of a file that is read by lines, else the number of the record, from 1.
    """

    file: str
    row: int
    what: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return f"{self.file}:{self.row}: {self.what}"


@runtime_checkable
class Dataset(Protocol):
    """A labelled set. Constructors only look at their arguments; each call of a method reads the files anew."""

    @property
    def name(self) -> str: ...

    @property
    def language(self) -> str: ...

    @property
    def sources(self) -> tuple[Source, ...]: ...

    @property
    def labels(self) -> frozenset[Label]:
        """Which labels the set has: a metric that needs another one is refused before anything runs."""
        ...

    @property
    def files(self) -> tuple[Path, ...]:
        """What is read: the data hash of a result is taken over these."""
        ...

    def examples(self) -> Iterator[Example | Problem]:
        """The turns in the order of the file, one at a time, with a problem in place of each row that is wrong."""
        ...

    def passages(self) -> Iterator[Passage]:
        """The passages that all turns share: a corpus; nothing where candidates come with the turns."""
        ...
