"""The default memory: learns by rules and the model, joins what is said twice, lets the newer fact win, forgets."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dragoman import prompts
from dragoman.core.caches import clear_caches
from dragoman.core.clock import moment_of, now, stamp, zone_of
from dragoman.core.protocols import Encoder, LanguageModel, Store
from dragoman.core.registry import memories
from dragoman.core.trace import reply_from_json
from dragoman.core.values import (
    ASIDE,
    NOTHING_LEARNED,
    Context,
    Draft,
    Erased,
    Erasure,
    Fact,
    Learned,
    Passage,
    Recollection,
    Scope,
    Source,
)
from dragoman.memory.ages import is_age, is_birthday
from dragoman.memory.correction import corrected
from dragoman.memory.dating import dated, grain_of, meta_of
from dragoman.memory.facts import facts, is_instruction, is_lasting
from dragoman.memory.fleeting import fleeting_facts
from dragoman.memory.forgetting import fitting, telling, turn_texts
from dragoman.memory.history import all_rows, believed
from dragoman.memory.mentions import mentioning, rare_words
from dragoman.memory.patterns import hints
from dragoman.memory.people import people_in, people_of
from dragoman.memory.recollect import Asking, asks_for_history, recollection
from dragoman.memory.reconcile import fact_of, older_than, repeats, replaces, with_known_names
from dragoman.memory.selection import best_facts, is_told_within
from dragoman.memory.spoken import PastChats, asks_for_chats
from dragoman.memory.undo import Deletion, RecentDeletions
from dragoman.memory.untimed import untimed_facts
from dragoman.memory.upkeep import EXPIRED, PENDING, Upkeep, ended, is_announced
from dragoman.memory.zones import UserZones
from dragoman.stores.dialogue_search import DialogueSearch
from dragoman.text.confirmations import is_confirmation, is_those_too, is_undo
from dragoman.text.forget.requests import forget_request
from dragoman.text.forgetting import forget_texts
from dragoman.text.form import form
from dragoman.text.language import language as language_of

if TYPE_CHECKING:
    from dragoman.memory.transfer.formats import Item
    from dragoman.memory.transfer.importing import ImportPlan

log = logging.getLogger("dragoman.memory")
_SHORT = 80
"""The longest turn, in characters, that may only give a new value: "sorry, I meant Thursday"."""
_HISTORY = 10
"""How many rows there may be for each fact that may be kept, those included that newer ones replaced."""

_BATCH = 200
"""How many facts of an import are written at once."""
_OF_ONESELF = re.compile(r"(?:i|i['’](?:ve|m|d)|my|we|our)\b(?:\s+\S+){3,}", re.IGNORECASE)


@memories.register("rules.v1")
class RuleMemory:
    """Facts about a user, kept in the private source about the user.

    The model is asked only where the rules see a lasting statement about the user that they cannot
    place; `ask_model` switches that off, `learn` switches learning from conversation off altogether. `time_zone` is the
    users' ("Europe/Zurich"; default: the machine's): it says when "yesterday" was, and when a day ends. `fleeting`
    keeps facts of the hour ("I'm at the station") until the day ends.
    """

    def __init__(
        self,
        *,
        store: Store,
        encoder: Encoder,
        analyse: Callable[[str], tuple[str, ...]],
        sources: tuple[Source, ...],
        language_model: LanguageModel,
        learn: bool = True,
        ask_model: bool = True,
        certainty: float = 0.9,
        time_zone: str = "",
        fleeting: bool = True,
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._analyse = analyse
        self._model = language_model
        self._learn = learn
        self._ask_model = ask_model
        self._certainty = certainty
        self._fleeting = fleeting
        self._zone = zone_of(time_zone)
        self._zones = UserZones(store, self._zone)
        self.most_facts: int | None = None
        self.erase_scope: Callable[[Scope], int] = store.forget
        """Erases everything of a user; the assistant's also erases what is kept beside the store. How much."""
        self.count_files: Callable[[Scope], int] | None = None
        """Counts the uploaded files that `erase_scope` would erase."""
        self.take_receipt: Callable[[Scope], tuple[Erased, ...]] | None = None
        """Gives the receipt of the last call of `erase_scope`, once."""
        self.recent = RecentDeletions()
        self._chats = PastChats(DialogueSearch(store, encoder, analyse), analyse)
        self._source = next((source for source in sources if source.about == "user" and source.private), None)

    def learn(self, turns: Sequence[Context]) -> Sequence[Learned]:
        return [self._turn(context) for context in turns]

    def remember(self, scope: Scope, text: str) -> Learned:
        """Keep what a text says; as one fact where the rules find none in it."""
        self.refresh(scope)
        known = self._known(scope)
        whole = Fact(text.strip(), "about", text.strip(), text.strip())
        new = facts(text, people=lambda: people_of(map(fact_of, known))) or (whole,)
        return self._add(scope, self._dated(scope, new, now()), known)

    def recall(
        self,
        scope: Scope,
        query: str | None = None,
        *,
        k: int = 5,
        at: datetime | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Sequence[Passage]:
        """What is remembered about a user: all of it, oldest first, or what fits a query best.

        With `at`, what was believed at that moment, all of it. With `since` and `until`, what was told in between.
        """
        if self._source is None:
            return ()
        self.refresh(scope)
        source, start, end = self._source.name, stamp(since) if since else "", stamp(until) if until else ""
        if at is not None:
            rows: Sequence[Passage] = believed(all_rows(self._store, scope, source), stamp(at))
        elif query is None:
            rows = tuple(self._store.passages(scope, source))
        else:
            named: dict[str, Any] = {"encoder": self._encoder, "analyse": self._analyse, "scope": scope}
            return best_facts(self._store, query, source=source, k=k, since=start, until=end, **named)
        return tuple(row for row in rows if is_told_within(row, start, end))

    def refresh(self, scope: Scope) -> None:
        """Bring a user's facts up to date with the calendar: end what has expired, begin what was announced."""
        if self._source is not None and self._upkeep(scope).run(scope):
            self._clear_caches()

    def recollect(self, context: Context) -> Recollection | None:
        """What the history of the user's facts has on the last turn; None where it asks for something else."""
        if self._source is None:
            return None
        at = moment_of(context.said_at) or now()
        live = self._known(context.scope)
        if asks_for_history(context.last) and not asks_for_chats(context.last):
            rows = all_rows(self._store, context.scope, self._source.name)
            zone = self._zones.of(context.scope)
            asking = Asking(context, at, zone, rows, live, self._encoder, self._analyse, self._shown_before)
            history = recollection(asking)
            if history is not None:
                return history
        return self._chats.recollection(context, live, at=at, zone=self._zones.of(context.scope))

    def _shown_before(self, context: Context) -> Sequence[str]:
        """The ids of the user's facts behind the last reply of a dialogue."""
        trace = self._store.trace(context.scope, context.dialogue) if context.dialogue else None
        if trace is None or self._source is None:
            return ()
        reply = reply_from_json(trace)
        learned = [note.value for note in reply.trace.of("memory") if isinstance(note.value, Learned)]
        changed = [row.id for each in learned for row in (*each.added, *each.joined)]
        quoted = [
            id_ for note in reply.trace.of("reader") if isinstance(note.value, Draft) for id_ in note.value.quoted
        ]
        shown = [piece.id for piece in reply.evidence if piece.source == self._source.name]
        return changed or [id_ for id_ in shown if id_ in quoted] or shown

    def _upkeep(self, scope: Scope) -> Upkeep:
        assert self._source is not None
        return Upkeep(self._store, self._encoder, self._source.name, self._zones.of(scope), self._passage)

    def _dated(self, scope: Scope, new: Sequence[Fact], at: datetime) -> tuple[Fact, ...]:
        zone = self._zones.of(scope) if new else self._zone
        return tuple(dated(fact, at, zone) for fact in new)

    def time_zone(self, scope: Scope) -> str:
        """The name of a user's time zone; "" is the agent's."""
        return self._zones.name(scope)

    def set_time_zone(self, scope: Scope, name: str) -> None:
        """Set a user's time zone ("Europe/Zurich"); "" goes back to the agent's."""
        self._zones.set(scope, name)

    def bring(self, scope: Scope, items: Iterable[Item], *, dry_run: bool = False) -> ImportPlan:
        """Take the facts of a file into memory, each once and with its date; with `dry_run` only say what would be."""
        from dragoman.memory.transfer.importing import ImportPlan, gathered, planned

        if self._source is None:
            return ImportPlan()
        self.refresh(scope)
        found = gathered(items, self._zones.of(scope))
        hidden = list(self._store.passages(scope, self._source.name, superseded=True))
        plan = ImportPlan(planned(found, self._known(scope), hidden), *found.counts)
        if dry_run:
            return plan
        current = [each.fact for each in plan.facts if each.fate in ("new", "replaces")]
        for start in range(0, len(current), _BATCH):
            self._add(scope, current[start : start + _BATCH], self._known(scope))
        for nth, each in enumerate(each for each in plan.facts if each.fate == "past"):
            row = self._passage(scope, each.fact, len(hidden) + nth)
            until = each.fact.valid_until
            self._store.put(scope, [row], self._encoder.encode([row.indexed]))
            self._store.supersede(scope, row.id, EXPIRED, meta={"valid_until": until, "replaced_at": until})
        return plan

    def forget(self, scope: Scope, what: str | None = None) -> Sequence[Passage]:
        """Erase a user's facts that fit, or, without `what`, everything of theirs; the rows without their text.

        Whoever erases everything has asked the user before. Deleted facts can be restored for a minute (`undo`).
        """
        gone = self._erase(scope) if what is None else self._delete(scope, what)
        return tuple(Passage(passage.id, passage.source, "") for passage in gone)

    def undo(self, scope: Scope) -> Sequence[Passage]:
        """Restore the facts of the user's last deletion; none where it is over a minute old or was undone.

        What the deletion blanked in dialogues stays blank. A fact that a newer one contradicts is not restored.
        """
        deletion = self.recent.take(scope)
        if deletion is None or self._source is None:
            return ()
        live = list(self._store.passages(scope, self._source.name))
        restored = [old for old in deletion.facts if not any(_contradicts(new, old) for new in live)]
        there = {passage.id for passage in (*live, *restored)}
        replaced = [(old, by) for old, by in deletion.replaced if by in there]
        rows = [*restored, *(old for old, _ in replaced)]
        if rows:
            self._store.put(scope, rows, self._encoder.encode([row.indexed for row in rows]))
            for old, by in replaced:
                self._store.supersede(scope, old.id, by)
        return tuple(restored)

    def retract(self, scope: Scope, added: Sequence[str], replaced: Sequence[str] = ()) -> Sequence[Passage]:
        """Take back what a turn taught: remove the facts it added, restore those that they replaced.

        Unlike `forget`, this leaves the dialogues as they are: the user only did not want it remembered.
        """
        if self._source is None:
            return ()
        gone = [
            row for row in self._store.get(scope, list(added)) if row is not None and row.source == self._source.name
        ]
        hidden = self._store.passages(scope, self._source.name, superseded=True)
        back = [_reopened(row) for row in hidden if row.id in set(replaced)] if gone else []
        self._store.remove(scope, [row.id for row in (*gone, *back)])
        if back:
            self._store.put(scope, back, self._encoder.encode([row.indexed for row in back]))
        self._clear_caches()
        return tuple(gone)

    def erasure(self, scope: Scope, *, dialogue: str = "") -> Erasure:
        """What erasing everything of a user would delete; `dialogue` is one that is about to be kept."""
        facts = self._store.passages(scope, self._source.name) if self._source is not None else ()
        chats = {name for name in (*self._store.dialogues(scope), dialogue) if name and not name.startswith(ASIDE)}
        files = self.count_files(scope) if self.count_files is not None else 0
        return Erasure(sum(1 for _ in facts), len(chats), files)

    def awaits_confirmation(self, scope: Scope, dialogue: str) -> bool:
        """Whether the last agent turn of a dialogue asked to confirm that everything is erased.

        The store knows, so that the answer may come to another server than the question.
        """
        return self._question(scope, dialogue) is not None

    def _question(self, scope: Scope, dialogue: str) -> str | None:
        trace = self._store.trace(scope, dialogue)
        if trace is None:
            return None
        reply = reply_from_json(trace)
        notes = reply.trace.of("memory")
        is_asked = any(isinstance(note.value, Learned) and note.value.pending is not None for note in notes)
        return reply.text if is_asked else None

    def _is_confirmed(self, context: Context) -> bool:
        """Whether the last turn says yes to the question of the turn right before it, as the store has it."""
        if not is_confirmation(context.last):
            return False
        question = self._question(context.scope, context.dialogue)
        if question is None:
            return False
        # Turns that a caller brought along from elsewhere stand between the question and the answer.
        return not context.history or context.history[-1].text == question

    def _erase(self, scope: Scope) -> Sequence[Passage]:
        """Erase everything of a user."""
        if self._source is None:
            return ()
        self.recent.drop(scope)
        gone = [
            passage
            for superseded in (False, True)
            for passage in self._store.passages(scope, self._source.name, superseded=superseded)
        ]
        if self.erase_scope(scope) and not gone:
            gone = [Passage("dialogues", self._source.name, "")]
        if gone:
            self._clear_caches()
        return gone

    def _delete(self, scope: Scope, what: str) -> Sequence[Passage]:
        """Delete the facts that fit, and hold them for a minute.

        With a fact goes what it replaced: nobody could see that, so nobody could ask to forget it.
        """
        if self._source is None:
            return ()
        live = list(self._store.passages(scope, self._source.name))
        hidden = list(self._store.passages(scope, self._source.name, superseded=True))
        gone = fitting([*live, *hidden], what, self._encoder, self._analyse)
        gone += [old for old in hidden if old not in gone and any(replaces(fact_of(new), fact_of(old)) for new in gone)]
        if not gone:
            return ()
        # Dialogues first: a call that was cut short finds the fact again, and does the rest. And once more afterwards:
        # a turn that another process runs may have read the fact, and stored its reply, until it was removed.
        kept = [row for row in (*live, *hidden) if row not in gone]
        self._store.redact(scope, telling(self._store, scope, gone, self._analyse, kept=kept))
        self._store.remove(scope, [passage.id for passage in gone])
        self._store.redact(scope, telling(self._store, scope, gone, self._analyse, kept=kept))
        self._zones.end(scope, [fact_of(row) for row in gone])
        self._clear_caches()
        replaced = tuple(
            (old, by.id)
            for old in gone
            if old in hidden
            and (by := next((new for new in live if replaces(fact_of(new), fact_of(old))), None)) is not None
        )
        left = mentioning(turn_texts(self._store, scope), rare_words(gone, kept))
        self.recent.hold(scope, Deletion(tuple(row for row in gone if row not in hidden), replaced, left))
        return gone

    def mentions(self, scope: Scope) -> tuple[str, ...]:
        """Turns that hold a rare word of the facts that were deleted last, for a minute: show them, and ask."""
        return self.recent.mentions(scope)

    def forget_mentions(self, scope: Scope) -> int:
        """Delete those turns from dialogues and traces; how many there were."""
        texts = self.recent.mentions(scope, take=True)
        if texts:
            self._store.redact(scope, sorted(texts))
            self._clear_caches()
        return len(texts)

    def _turn(self, context: Context) -> Learned:
        if self._source is None:
            return NOTHING_LEARNED
        self.refresh(context.scope)
        deletion = self._deletion(context)
        if deletion is not None:
            return deletion
        shape = form(context.last)
        if shape.act == "remember":
            return NOTHING_LEARNED if is_instruction(shape.core) else self.remember(context.scope, shape.core)
        if not self._learn:
            return NOTHING_LEARNED
        known: list[Passage] = []  # read when first needed: most turns state nothing
        read = False

        def everything_known() -> list[Passage]:
            nonlocal known, read
            if not read:
                known, read = self._known(context.scope), True
            return known

        def people() -> dict[str, str]:
            return people_in(context.history) | people_of(map(fact_of, everything_known()))

        at, zone = moment_of(context.said_at) or now(), self._zones.of(context.scope)
        new = facts(context.last, people=people) or untimed_facts(context.last, at, zone, people=people)
        if not new and shape.act != "question" and len(context.last) <= _SHORT:
            new = corrected(context.last, [fact_of(passage) for passage in everything_known()])
        if not new and shape.act == "statement" and shape.personal:
            new = self._judged(shape.core)
        new = self._dated(context.scope, new, at)
        if self._fleeting and not new:
            new = self._dated(context.scope, fleeting_facts(context.last, at, zone), at)
        return self._add(context.scope, new, everything_known()) if new else NOTHING_LEARNED

    def _deletion(self, context: Context) -> Learned | None:
        """What a turn that deletes, confirms or undoes changes; None for every other turn."""
        if self._is_confirmed(context):
            erasure = self.erasure(context.scope)
            forgotten = tuple(self.forget(context.scope))
            receipt = self.take_receipt(context.scope) if self.take_receipt is not None else ()
            return Learned(forgotten=forgotten, erased=replace(erasure, receipt=receipt))
        if is_undo(context.last):
            return Learned(restored=tuple(self.undo(context.scope)))
        if is_those_too(context.last) and (count := self.forget_mentions(context.scope)):
            return Learned(blanked=count)
        request = forget_request(context.last)
        if request is None:
            return None
        if request.everything:
            return Learned(pending=self.erasure(context.scope, dialogue=context.dialogue))
        forgotten = tuple(self._delete(context.scope, request.what))
        return Learned(forgotten=forgotten, mentions=self.mentions(context.scope) if forgotten else ())

    def _judged(self, statement: str) -> tuple[Fact, ...]:
        """A statement that no rule places is kept where the model holds it for a lasting fact."""
        if not self._ask_model or not _OF_ONESELF.match(statement) or not is_lasting(statement):
            return ()
        asked = prompts.get("lasting.v1", language_of(statement)).format(statement=" ".join(statement.split()))
        chance = self._model.choose([asked], ("yes", "no"))[0]["yes"]
        log.debug("lasting fact with probability %.2f", chance)
        return (
            (Fact(f"{statement.rstrip(' .!')}.", "about", statement, statement),) if chance >= self._certainty else ()
        )

    def _known(self, scope: Scope) -> list[Passage]:
        return list(self._store.passages(scope, self._source.name)) if self._source is not None else []

    def _add(self, scope: Scope, new: Sequence[Fact], known: Sequence[Passage]) -> Learned:
        """Keep new facts. The store is read once before and once after all of them, however many they are."""
        if self._source is None or not new:
            return NOTHING_LEARNED
        joined: list[Passage] = []
        added: list[tuple[Fact, Passage]] = []
        live = list(known)
        rows = len(known) + sum(1 for _ in self._store.passages(scope, self._source.name, superseded=True))
        people = people_of([*map(fact_of, known), *new])
        for stated in new:
            fact = with_known_names(stated, people)
            same = next((passage for passage in live if repeats(fact, fact_of(passage))), None)
            if same is not None:
                joined.append(same)
            elif self._is_full(fact, live, rows):
                log.info("a fact was not kept: there are %d already", len(live))
            else:
                passage = self._passage(scope, fact, rows)
                added.append((fact, passage))
                if not is_announced(fact):
                    live = [old for old in live if not replaces(fact, fact_of(old), people)] + [passage]
                rows += 1
        return Learned(tuple(passage for _, passage in added), self._put(scope, added, people), tuple(joined))

    def _put(
        self, scope: Scope, added: Sequence[tuple[Fact, Passage]], people: Mapping[str, str]
    ) -> tuple[Passage, ...]:
        """Write new facts, and mark those that they replace; what was replaced."""
        assert self._source is not None
        if not added:
            return ()
        passages = [passage for _, passage in added]
        self._zones.follow(scope, [fact for fact, _ in added])
        self._store.put(scope, passages, self._encoder.encode([passage.indexed for passage in passages]))
        live = list(self._store.passages(scope, self._source.name))
        superseded: dict[str, Passage] = {}
        for fact, passage in added:
            if is_announced(fact):  # the older fact holds until then
                self._store.supersede(scope, passage.id, PENDING, meta={PENDING: "yes"})
                continue
            for old in older_than(passage.id, live):
                if old.id not in superseded and replaces(fact, fact_of(old), people):
                    meta = ended(old, fact.valid_from or stamp(), fact.said_at or stamp())
                    self._store.supersede(scope, old.id, passage.id, meta=meta)
                    superseded[old.id] = old
        if any(fact.valid_until or is_announced(fact) or is_age(fact) or is_birthday(fact) for fact, _ in added):
            self._upkeep(scope).plan(scope)
        return tuple(superseded.values())

    def _is_full(self, fact: Fact, known: Sequence[Passage], rows: int) -> bool:
        """Whether there is no room for a fact: one that replaces another needs none, as long as not all are such."""
        if self.most_facts is None or len(known) < self.most_facts:
            return self.most_facts is not None and rows >= _HISTORY * self.most_facts
        return rows >= _HISTORY * self.most_facts or not any(replaces(fact, fact_of(old)) for old in known)

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
                **meta_of(fact, grain_of(fact, moment_of(fact.said_at) or now(), self._zones.of(scope))),
            },
        )

    def _clear_caches(self) -> None:
        """Texts and vectors that parts of this process remember; what a user said is in more of them than the fact."""
        forget_texts()
        clear_caches(self._encoder, self._model)
        forget = getattr(self._analyse, "forget", None)
        if callable(forget):
            forget()


def _reopened(row: Passage) -> Passage:
    """A replaced row as it was before it was replaced."""
    return replace(row, meta={k: v for k, v in row.meta.items() if k not in ("valid_until", "replaced_at")})


def _contradicts(new: Passage, old: Passage) -> bool:
    """Whether a live fact says the same as an older one, or makes it untrue."""
    return new.id == old.id or repeats(fact_of(new), fact_of(old)) or replaces(fact_of(new), fact_of(old))
