"""Users' facts as rows of the store: add them, reconcile them with older ones, update them by the calendar."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from dragoman.core.caches import clear_caches
from dragoman.core.clock import moment_of, now, stamp, zone_of
from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Encoder, LanguageModel, Store
from dragoman.core.values import NOTHING_LEARNED, Fact, Learned, Passage, Scope, Source
from dragoman.memory.ages import is_age, is_birthday
from dragoman.memory.dating import dated, grain_of, meta_of
from dragoman.memory.least_useful import DROPPED, least_useful
from dragoman.memory.patterns import hints
from dragoman.memory.people import people_of
from dragoman.memory.reconcile import KnownFacts, fact_of, older_than, replaces, with_known_names
from dragoman.memory.upkeep import EXPIRED, PENDING, Upkeep, ended, is_announced
from dragoman.memory.zones import UserZones, names_no_zone
from dragoman.text.analyse import forget_texts
from dragoman.text.language import language as language_of

if TYPE_CHECKING:
    from dragoman.memory.transfer.formats import Item
    from dragoman.memory.transfer.importing import ImportPlan

log = logging.getLogger("dragoman.memory")
_HISTORY = 10
"""How many rows there may be for each fact that may be kept, those included that newer ones replaced."""
_BATCH = 200
"""How many facts of an import are written at once."""
_IMPORTED = 2
"""How many facts of a file are looked at for each that is kept: comparing them takes longer the more there are."""


class FactRows:
    """The rows of the private source about the user."""

    def __init__(
        self,
        *,
        store: Store,
        encoder: Encoder,
        analyse: Callable[[str], tuple[str, ...]],
        sources: tuple[Source, ...],
        language_model: LanguageModel,
        time_zone: str,
        limit: int,
    ) -> None:
        if limit < 1:
            raise ConfigError(f"memory.limit is {limit}.", remedy="Give the number of facts to keep of each user.")
        self._store = store
        self._encoder = encoder
        self._analyse = analyse
        self._model = language_model
        self._limit = limit
        self._zone = zone_of(time_zone)
        self._zones = UserZones(store, self._zone)
        self.most_facts: int | None = None
        self._source = next((source for source in sources if source.about == "user" and source.private), None)

    def refresh(self, scope: Scope) -> None:
        """Update a user's facts by the calendar: end expired facts, begin announced ones."""
        if self._source is not None and self._upkeep(scope).run(scope):
            self._clear_caches()

    def time_zone(self, scope: Scope) -> str:
        """The name of a user's time zone; "" is the agent's."""
        return self._zones.name(scope)

    def set_time_zone(self, scope: Scope, name: str) -> None:
        """Set a user's time zone ("Europe/Zurich"); "" goes back to the agent's."""
        self._zones.set(scope, name)

    def bring(self, scope: Scope, items: Iterable[Item], *, dry_run: bool = False) -> ImportPlan:
        """Import the facts of a file, each once and with its date; with `dry_run`, only return what would happen."""
        from dragoman.memory.transfer.importing import ImportPlan, gathered, planned

        if self._source is None:
            return ImportPlan()
        self.refresh(scope)
        gathering = gathered(items, self._zones.of(scope), _IMPORTED * self._limit)
        hidden = list(self._store.passages(scope, self._source.name, superseded=True))
        plan = ImportPlan(planned(gathering, self._known(scope), hidden), *gathering.counts)
        if dry_run:
            return plan
        current = [each.fact for each in plan.facts if each.fate in ("new", "replaces")]
        for start in range(0, len(current), _BATCH):
            known = [(fact_of(row), row) for row in self._known(scope)]
            self._add(scope, current[start : start + _BATCH], known)
        for nth, each in enumerate(each for each in plan.facts if each.fate == "past"):
            row = self._passage(scope, each.fact, len(hidden) + nth)
            until = each.fact.valid_until
            self._store.put(scope, [row], self._encoder.encode([row.indexed]))
            self._store.supersede(scope, row.id, EXPIRED, meta={"valid_until": until, "replaced_at": until})
        return plan

    def _upkeep(self, scope: Scope) -> Upkeep:
        assert self._source is not None
        return Upkeep(self._store, self._encoder, self._source.name, self._zones.of(scope), self._passage)

    def _dated(self, scope: Scope, new: Sequence[Fact], at: datetime) -> tuple[Fact, ...]:
        zone = self._zones.of(scope) if new else self._zone
        return tuple(dated(fact, at, zone) for fact in new)

    def _known(self, scope: Scope) -> list[Passage]:
        return list(self._store.passages(scope, self._source.name)) if self._source is not None else []

    def _add(self, scope: Scope, new: Sequence[Fact], known: Sequence[tuple[Fact, Passage]]) -> Learned:
        """Add new facts to the `known` ones, which come with their rows; reads the store only once."""
        new = [fact for fact in new if not names_no_zone(fact)]
        if self._source is None or not new:
            return NOTHING_LEARNED
        joined: list[Passage] = []
        added: list[tuple[Fact, Passage]] = []
        live = KnownFacts(known)
        rows = self._next_position(scope, [row for _, row in known])
        people = people_of([*(fact for fact, _ in known), *new])
        for stated in new:
            fact = with_known_names(stated, people)
            same = live.repeated(fact)
            if same is not None:
                joined.append(same)
            elif self._is_full(fact, live, rows):
                log.info("a fact was not kept: there are %d already", len(live))
            else:
                passage = self._passage(scope, fact, rows)
                added.append((fact, passage))
                if not is_announced(fact):
                    live.drop(number for number, _ in live.replaced(fact, people))
                    live.add(fact, passage)
                rows += 1
        superseded = self._put(scope, added, people, known)
        new_ids = [passage.id for _, passage in added]
        return Learned(
            tuple(passage for _, passage in added),
            superseded,
            tuple(joined),
            dropped=self._make_room(scope, new_ids) if added else (),
        )

    def _next_position(self, scope: Scope, rows: Sequence[Passage]) -> int:
        """The position of the next row: after the last one, or the number of all rows if that is limited."""
        assert self._source is not None
        if self.most_facts is None:  # avoid reading the history, which may be long
            return max((row.position for row in rows), default=-1) + 1
        return len(rows) + sum(1 for _ in self._store.passages(scope, self._source.name, superseded=True))

    def _make_room(self, scope: Scope, new: Sequence[str]) -> tuple[Passage, ...]:
        """Drop the least useful facts above the limit; return the dropped ones."""
        assert self._source is not None
        above = self._store.count(scope, self._source.name) - self._limit
        if above <= 0:
            return ()
        gone = least_useful(self._known(scope), above, new)
        for row in gone:
            self._store.supersede(scope, row.id, DROPPED, meta={"replaced_at": stamp(), DROPPED: "yes"})
        return tuple(gone)

    def _put(
        self,
        scope: Scope,
        added: Sequence[tuple[Fact, Passage]],
        people: Mapping[str, str],
        read_before: Sequence[tuple[Fact, Passage]],
    ) -> tuple[Passage, ...]:
        """Write new facts; mark and return the facts that they replace, including those added since `read_before`."""
        assert self._source is not None
        if not added:
            return ()
        passages = [passage for _, passage in added]
        self._zones.follow(scope, [fact for fact, _ in added])
        self._store.put(scope, passages, self._encoder.encode([passage.indexed for passage in passages]))
        read = {row.id: (fact, row) for fact, row in (*read_before, *added)}
        live = [
            read[row.id] if row.id in read and read[row.id][1] == row else (fact_of(row), row)
            for row in self._store.passages(scope, self._source.name)
        ]
        superseded: dict[str, Passage] = {}
        for fact, passage in added:
            if is_announced(fact):  # the older fact holds until then
                self._store.supersede(scope, passage.id, PENDING, meta={PENDING: "yes"})
                continue
            for old_fact, old in older_than(passage.id, live):
                if old.id not in superseded and replaces(fact, old_fact, people):
                    meta = ended(old, fact.valid_from or stamp(), fact.said_at or stamp())
                    self._store.supersede(scope, old.id, passage.id, meta=meta)
                    superseded[old.id] = old
        if any(fact.valid_until or is_announced(fact) or is_age(fact) or is_birthday(fact) for fact, _ in added):
            gone = {*superseded, *(passage.id for fact, passage in added if is_announced(fact))}
            self._upkeep(scope).plan(scope, [(fact, row) for fact, row in live if row.id not in gone])
        return tuple(superseded.values())

    def _is_full(self, fact: Fact, live: KnownFacts[Passage], rows: int) -> bool:
        """Whether there is no room for a fact; a replacement needs room only in the history."""
        if self.most_facts is None or len(live) < self.most_facts:
            return self.most_facts is not None and rows >= _HISTORY * self.most_facts
        return rows >= _HISTORY * self.most_facts or not live.replaced(fact)

    def _passage(self, scope: Scope, fact: Fact, ordinal: int) -> Passage:
        assert self._source is not None
        while True:
            digest = hashlib.sha256(f"{fact.slot}\x00{fact.value}\x00{fact.text}\x00{ordinal}".encode()).hexdigest()
            if self._store.get(scope, [f"fact-{digest[:16]}"])[0] is None:
                break
            ordinal += 1  # an earlier fact with these words, superseded since, keeps its id
        return Passage(
            f"fact-{digest[:16]}",
            self._source.name,
            fact.text,
            title=hints(fact.slot, language_of(fact.text), relation=fact.relation, role=fact.role),
            position=ordinal,
            meta={
                "slot": fact.slot,
                "value": fact.value,
                "said": fact.said,
                "subject": fact.subject,
                "type": fact.type,
                **({"role": fact.role} if fact.role else {}),
                **({"chance": f"{fact.chance:.2f}"} if fact.chance else {}),
                **meta_of(fact, grain_of(fact, moment_of(fact.said_at) or now(), self._zones.of(scope))),
            },
        )

    def _clear_caches(self) -> None:
        """Clear cached texts and vectors of this process, which may contain a user's words beyond the fact itself."""
        forget_texts()
        clear_caches(self._encoder, self._model)
        forget = getattr(self._analyse, "forget", None)
        if callable(forget):
            forget()
