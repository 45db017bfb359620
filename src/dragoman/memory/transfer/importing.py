"""Take the statements of a file into a user's memory: each fact once, with its date, in the order of time.

Only facts are taken. Standing wishes and orders to the agent that a file holds are left out, since a file is nobody's
word; those of our own exports are the user's, and come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Literal, TypeAlias

from dragoman.core.cancelling import check_cancelled
from dragoman.core.clock import moment_of, now
from dragoman.core.values import Fact, Passage
from dragoman.memory.dating import dated
from dragoman.memory.facts import facts, is_instruction, is_lasting
from dragoman.memory.people import people_of
from dragoman.memory.reconcile import KnownFacts, fact_of
from dragoman.memory.transfer.formats import Item
from dragoman.text.form import form
from dragoman.text.wishes import wishing

Fate: TypeAlias = Literal["new", "known", "replaces", "past"]
"""What becomes of a fact: kept; known already; kept in the place of an older one; kept as history of a newer one."""
_SHORTEST = 4
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class ImportedFact:
    """A fact of a file and what becomes of it; `other` is the fact that it repeats, replaces or precedes."""

    fact: Fact
    fate: Fate
    other: str = ""


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import would do. `left_out` counts what states no fact about the user, `instructions` orders among it."""

    facts: tuple[ImportedFact, ...] = ()
    wishes: tuple[str, ...] = ()
    messages: int = 0
    left_out: int = 0
    instructions: int = 0
    chats: int = 0

    @property
    def kept(self) -> tuple[ImportedFact, ...]:
        return tuple(each for each in self.facts if each.fate != "known")


@dataclass(slots=True)
class Gathering:
    """Facts of the items of a file, as they are read."""

    zone: tzinfo
    facts: list[Fact] = field(default_factory=list)
    wishes: list[str] = field(default_factory=list)
    seen: set[tuple[str, ...]] = field(default_factory=set)
    messages: int = 0
    left_out: int = 0
    instructions: int = 0

    @property
    def counts(self) -> tuple[tuple[str, ...], int, int, int]:
        """The wishes, and how much was read and left out."""
        return tuple(self.wishes), self.messages, self.left_out, self.instructions

    def add(self, item: Item) -> None:
        """Take the facts of one item."""
        self.messages += item.kind == "message"
        if item.kind == "wish":
            self.wishes.append(item.text)
        elif item.kind == "row":
            self._keep(_restored(item))
        elif item.speaker == "user":
            self._read(item)

    def _read(self, item: Item) -> None:
        at = moment_of(item.said_at) or now()
        if not wishing(item.text[:_LONGEST]).is_empty or is_instruction(item.text):
            self.instructions += 1
            self.left_out += 1
            return
        stated: Sequence[Fact] = facts(item.text, people=lambda: people_of(self.facts[-200:]))
        if not stated and item.kind == "statement" and _is_statement(item.text):
            stated = (Fact(item.text, "about", item.text, item.text),)
        self.left_out += not stated
        for fact in stated:
            self._keep(dated(fact, at, self.zone))

    def _keep(self, fact: Fact) -> None:
        key = fact.slot, fact.value.casefold(), fact.text.casefold() if fact.slot == "about" else "", fact.valid_until
        if key not in self.seen:  # what is said often is kept once, with its first date
            self.seen.add(key)
            self.facts.append(fact)


def gathered(items: Iterable[Item], zone: tzinfo, most: int) -> Gathering:
    """The facts of a file's items: the newest, if there are more than `most`."""
    gathering = Gathering(zone)
    for item in items:
        check_cancelled()
        gathering.add(item)
    gathering.facts.sort(key=lambda fact: fact.said_at)
    gathering.left_out += max(0, len(gathering.facts) - most)
    del gathering.facts[:-most]
    return gathering


def planned(gathering: Gathering, known: Sequence[Passage], past: Sequence[Passage] = ()) -> tuple[ImportedFact, ...]:
    """What becomes of each fact, given those that are remembered and those that were; nothing is written."""
    live = KnownFacts((fact, fact) for fact in map(fact_of, known))
    earlier = [fact_of(row) for row in past]
    history = KnownFacts((fact, fact) for fact in earlier)
    gone = {(old.text, old.said_at) for old in earlier}
    plan: list[ImportedFact] = []
    for fact in gathering.facts:
        check_cancelled()
        same = live.repeated(fact)
        others = live.replaced(fact)
        newer = next((old for _, old in others if old.said_at > fact.said_at), None)
        older = others[0][1] if others else None
        if (fact.text, fact.said_at) in gone:
            plan.append(ImportedFact(fact, "known", fact.text))
        elif same is not None and not fact.valid_until:
            plan.append(ImportedFact(fact, "known", same.text))
        elif newer is not None:
            next_one = min(
                (old for _, old in (*others, *history.replaced(fact)) if old.said_at > fact.said_at),
                key=lambda old: old.said_at,
            )
            plan.append(ImportedFact(_ended(fact, next_one), "past", newer.text))
        elif fact.valid_until and (moment_of(fact.valid_until) or now()) <= now():
            plan.append(ImportedFact(fact, "past", older.text if older else ""))
        else:
            plan.append(ImportedFact(fact, "replaces" if older else "new", older.text if older else ""))
            live.drop(number for number, _ in others[:1])
            live.add(fact, fact)
    return tuple(plan)


def _is_statement(text: str) -> bool:
    """Whether a line of a list may be kept as it stands: it states something that could hold beyond today."""
    return _SHORTEST <= len(text) <= _LONGEST and form(text).act == "statement" and is_lasting(text)


def _ended(fact: Fact, newer: Fact) -> Fact:
    return replace(fact, valid_until=max(newer.valid_from or newer.said_at, fact.valid_from))


def _restored(item: Item) -> Fact:
    """A row of our own export."""
    row = item.row or {}
    slot, value, said, role, valid_from, valid_until = (
        str(row.get(key) or "") for key in ("slot", "value", "said", "role", "valid_from", "valid_until")
    )
    subject, kind = str(row.get("subject") or "user"), str(row.get("type") or "text")
    said_at = item.said_at if moment_of(item.said_at) else ""
    return Fact(item.text, slot, value, said, subject, kind, role, said_at, valid_from, valid_until)
