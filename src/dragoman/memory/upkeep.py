"""Keep a user's facts in step with the calendar: end what has expired, begin what was announced, count birthdays.

A row that ends is superseded, so that no search returns it and history keeps it. The time of the next change is kept
under a key, so that a turn on which nothing is due costs one look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

from dragoman.core.clock import moment_of, now, stamp
from dragoman.core.protocols import Encoder, Store
from dragoman.core.values import Fact, Passage, Scope, SourceName
from dragoman.memory.ages import aged, birthday_of, is_age, next_birthday
from dragoman.memory.dating import times_of
from dragoman.memory.reconcile import fact_of, repeats, replaces

DUE = "memory:due"
"""Key under which the time of the next change is kept."""
EXPIRED, PENDING = "expired", "pending"
"""What `superseded_by` says of rows that no other row replaced: those that have ended, and those yet to begin."""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Applies changes of the calendar to a user's facts."""

    store: Store
    encoder: Encoder
    source: SourceName
    zone: tzinfo
    make: Callable[[Scope, Fact, int], Passage]
    """Makes the row of a fact."""

    def run(self, scope: Scope) -> bool:
        """Carry out due changes; return whether anything changed."""
        due = self.store.kept(scope, DUE)
        if not due or due > stamp():
            return False
        changed = self._expire(scope) | self._begin(scope) | self._age(scope)
        self.plan(scope)
        return changed

    def plan(self, scope: Scope, live: Sequence[tuple[Fact, Passage]] | None = None) -> None:
        """Store when the next change is due, if that has changed.

        `live` are the current facts with their rows, if the caller has read them already.
        """
        if live is None:
            live = [(fact_of(row), row) for row in self.store.passages(scope, self.source)]
        moments = [row.meta["valid_until"] for _, row in live if row.meta.get("valid_until")]
        moments += [row.meta["valid_from"] for row in self._pending(scope)]
        facts = [fact for fact, _ in live]
        for fact in facts:
            born = birthday_of(fact.subject, facts) if is_age(fact) else None
            if born is not None and born.month:
                moments.append(next_birthday(born, now(), self.zone))
        due = min(moments, default="")
        if due != (self.store.kept(scope, DUE) or ""):
            self.store.keep(scope, DUE, due)

    def _expire(self, scope: Scope) -> bool:
        at = stamp()
        over = [row for row in self.store.passages(scope, self.source) if "" < row.meta.get("valid_until", "") <= at]
        for row in over:
            self.store.supersede(scope, row.id, EXPIRED, meta={"replaced_at": at})
        return bool(over)

    def _begin(self, scope: Scope) -> bool:
        """Begin announced facts whose day has come: "from Monday I live in Basel"."""
        at = stamp()
        begun = [row for row in self._pending(scope) if row.meta["valid_from"] <= at]
        for row in sorted(begun, key=lambda row: row.meta["valid_from"]):
            fact = fact_of(row)
            live = list(self.store.passages(scope, self.source))
            fresh = replace(row, meta={key: value for key, value in row.meta.items() if key != PENDING})
            self.store.put(scope, [fresh], self.encoder.encode([fresh.indexed]))
            for old in live:
                if replaces(fact, fact_of(old)) or repeats(fact, fact_of(old)):
                    self.store.supersede(scope, old.id, row.id, meta=ended(old, row.meta["valid_from"], at))
        return bool(begun)

    def _age(self, scope: Scope) -> bool:
        live = list(self.store.passages(scope, self.source))
        changes = aged(live, now(), self.zone)
        for row, fact in changes:
            older = self.make(scope, fact, len(live))
            older = replace(older, meta={**older.meta, "aged": row.id})
            self.store.put(scope, [older], self.encoder.encode([older.indexed]))
            self.store.supersede(scope, row.id, older.id, meta=ended(row, fact.valid_from, stamp()))
        return bool(changes)

    def _pending(self, scope: Scope) -> Sequence[Passage]:
        hidden = self.store.passages(scope, self.source, superseded=True)
        return [row for row in hidden if row.meta.get(PENDING) and row.meta.get("valid_from")]


def ended(old: Passage, until: str, at: str) -> Mapping[str, str]:
    """Return the meta of a replaced row: until when it was true, and when that was learned.

    A fact never ends before it begins. A fact that a later turn ends at its very start is marked `corrected`: it was
    never true.
    """
    _, start, end = times_of(old.meta)
    said_at = old.meta.get("said_at", "")
    meta = {"valid_until": max(min(until, end) if end else until, start), "replaced_at": max(at, said_at)}
    return {**meta, "corrected": "yes"} if until == start and "" < said_at < at else meta


def is_announced(fact: Fact) -> bool:
    """Whether a fact is true only from a later day on."""
    start, said_at = moment_of(fact.valid_from), moment_of(fact.said_at)
    return start is not None and said_at is not None and start > said_at
