"""A labelled turn of any data set: loaders yield it, evaluation and training read it.

A turn's private candidates lie under its context's scope, like a user's memory; passages that a whole set shares come
from the data set. So evaluation runs the same agents as a chat.
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
    """Gold labels of a turn; None for a label that the set lacks. An empty plan is NULL, empty evidence means none."""

    retrieve: bool | None = None
    plan: tuple[SourceName, ...] | None = None
    evidence: tuple[str, ...] | None = None
    reply: str | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """One turn to answer. `context.dialogue` names its dialogue, `context.scope` the scope of its candidates.

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
    """A problem with a row of a file. A row with an `error` is left out; a row with a `warning` is kept.

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
    """A labelled set. Constructors read no files; each call of a method reads them again."""

    @property
    def name(self) -> str: ...

    @property
    def language(self) -> str: ...

    @property
    def sources(self) -> tuple[Source, ...]: ...

    @property
    def labels(self) -> frozenset[Label]:
        """Which labels the set has; a metric that needs another label is rejected before anything runs."""
        ...

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the set: the data hash of a result covers these."""
        ...

    def examples(self) -> Iterator[Example | Problem]:
        """The turns in the order of the file, one at a time, with a problem in place of each row that is wrong."""
        ...

    def passages(self) -> Iterator[Passage]:
        """The shared corpus of all turns; empty if candidates come with the turns."""
        ...
