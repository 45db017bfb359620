"""Control of one turn: whether to search, which sources, how memory is used, and whether the turn is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias, get_args

from dragoman.core.errors import InputError
from dragoman.core.records import Source

RetrieveMode: TypeAlias = Literal["auto", "always", "never"]
MemoryMode: TypeAlias = Literal["on", "read", "off"]
RETRIEVE_MODES: tuple[RetrieveMode, ...] = get_args(RetrieveMode)
MEMORY_MODES: tuple[MemoryMode, ...] = get_args(MemoryMode)


def _check(name: str, value: str, modes: tuple[str, ...]) -> None:
    if value not in modes:
        raise InputError(f"{name} is '{str(value)[:40]}'.", remedy=f"Use {', '.join(modes[:-1])} or {modes[-1]}.")


def checked_date(name: str, value: str) -> str:
    """Check a caller's date: ISO 8601 or ""; anything else is an error."""
    try:
        return value if not value or datetime.fromisoformat(value) else ""
    except ValueError as error:
        raise InputError(f"{name} is '{value[:40]}'.", remedy="Give a date like 2026-05-03.") from error


@dataclass(frozen=True, slots=True)
class TurnControl:
    """The caller's options for a turn; the defaults leave everything to the agent.

    `retrieve` overrides the gate. `memory` is `on` (read and write facts about the user), `read` or `off`. A turn with
    `keep` false is private: no text of it is stored and memory does not change. `sources` are the sources that may be
    searched, with those that they need; None allows all. `since` and `until` are dates in ISO 8601: only documents
    dated, and facts stated, from `since` on and before `until` are searched.
    """

    retrieve: RetrieveMode = "auto"
    memory: MemoryMode = "on"
    keep: bool = True
    sources: tuple[str, ...] | None = None
    since: str = ""
    until: str = ""

    def __post_init__(self) -> None:
        _check("retrieve", self.retrieve, RETRIEVE_MODES)
        _check("memory", self.memory, MEMORY_MODES)

    @property
    def writes_memory(self) -> bool:
        """Whether the turn may add, change or delete facts."""
        return self.keep and self.memory == "on"

    @property
    def limits_sources(self) -> bool:
        """Whether the caller excludes some rows that the agent could search."""
        return self.sources is not None or self.memory == "off"

    def allows(self, source: Source) -> bool:
        """Whether a source may be in the plan."""
        return self.sources is None or source.name in self.sources

    def reads(self, source: Source) -> bool:
        """Whether stored rows of a source may be used; without memory, facts about the user may not."""
        return self.allows(source) and not (self.memory == "off" and source.about == "user" and source.private)


DEFAULT_CONTROL = TurnControl()


def sources_with_needs(names: Iterable[str], declared: Iterable[Source]) -> tuple[str, ...]:
    """The named sources and those that they need, in the order of their declaration; an unknown name is an error."""
    by_name = {source.name: source for source in declared}
    chosen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in by_name:
            raise InputError(f"There is no source '{name[:80]}'.", remedy=f"Available: {', '.join(by_name)}.")
        if name not in chosen:
            chosen.add(name)
            waiting.extend(by_name[name].needs)
    return tuple(name for name in by_name if name in chosen)
