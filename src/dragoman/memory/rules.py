"""The default memory: learns by rules and the model, merges repetitions, replaces outdated facts, and deletes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

from dragoman import prompts
from dragoman.core.clock import moment_of, now, stamp
from dragoman.core.protocols import Encoder, LanguageModel, Store
from dragoman.core.registry import memories
from dragoman.core.trace import reply_from_json
from dragoman.core.values import (
    NOTHING_LEARNED,
    Context,
    Draft,
    Fact,
    Learned,
    Passage,
    Recollection,
    Scope,
    Source,
)
from dragoman.memory.correction import corrected, may_correct
from dragoman.memory.deletion.memory import ForgettingMemory
from dragoman.memory.facts import MOST_FACTS, facts, is_instruction, is_lasting
from dragoman.memory.fleeting import end_of_day, fleeting_facts
from dragoman.memory.passing import may_correct_in_passing, passing_correction, told_in
from dragoman.memory.people import people_in, people_of
from dragoman.memory.recall.asked import ASKS, MAY_ASK, SURE, AskedMemory, speaks_of_the_same
from dragoman.memory.recall.history import all_rows, believed
from dragoman.memory.recall.questions import answered
from dragoman.memory.recall.recollect import Asking, asks_for_history, recollection
from dragoman.memory.recall.whom import with_names
from dragoman.memory.reconcile import fact_of, settled
from dragoman.memory.selection import best_facts, best_hits
from dragoman.memory.spoken import PastChats, asks_for_chats
from dragoman.memory.untimed import untimed_facts
from dragoman.memory.write_gate import WriteGate
from dragoman.stores.dialogue_search import DialogueSearch
from dragoman.text import lazy_re as re
from dragoman.text.form import SOCIAL, asks_for_everything, form
from dragoman.text.language import language as language_of
from dragoman.text.parts import told_and_asked
from dragoman.text.spelling import spelt

log = logging.getLogger("dragoman.memory")
_SHORT = 80
"""The longest turn, in characters, that may only give a new value: "sorry, I meant Thursday"."""
_FITS = 0.65
"""How well a fact must fit a question to answer it (`selection.best_hits`)."""
_FITS_WELL = 0.85
"""The same where a question asks memory less probably."""
_FAR = 0.45
"""Below which score nothing was told of what a question asks for."""
_NEARLY = 0.1
"""By how much less a second fact may fit that is said with the best one."""
_MOST_RECALLED = 3
_OF_ONESELF = re.compile(r"(?:i|i['’](?:ve|m|d)|my|we|our)\b(?:\s+\S+){3,}", re.IGNORECASE)


_DUE = re.compile(
    r"\b(?:should|may|must|can|could|allowed|ought|(?:have|has|need|needs) to)\b(?! you\b)", re.IGNORECASE
)
"""Asks what is right or allowed, which documents say: "Which plots should I not take because of my allergy?"."""


@memories.register("rules.v1")
class RuleMemory(ForgettingMemory):
    """Facts about a user, kept in the private source about the user.

    The model is asked only about lasting statements about the user that no rule covers; `ask_model = false` switches
    that off, `learn = false` all learning from conversation. `time_zone` is the users' ("Europe/Zurich"; default: the
    machine's): it determines when "yesterday" was, and when a day ends. `fleeting` keeps facts of the hour ("I'm at the
    station") until the day ends. With `gate`, a trained classifier keeps statements that no rule covers in the user's
    own words (`memory.write_gate`). At most `limit` facts of a user are in use: a new one replaces the least useful,
    and the reply says so.
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
        gate: bool = True,
        limit: int = 1000,
    ) -> None:
        super().__init__(
            store=store,
            encoder=encoder,
            analyse=analyse,
            sources=sources,
            language_model=language_model,
            time_zone=time_zone,
            limit=limit,
        )
        self._learn = learn
        self._ask_model = ask_model
        self._certainty = certainty
        self._fleeting = fleeting
        self._gate = WriteGate(encoder) if gate else None
        self._asked = AskedMemory(encoder)
        self._chats = PastChats(DialogueSearch(store, encoder, analyse), analyse)

    def learn(self, turns: Sequence[Context]) -> Sequence[Learned]:
        return [self._turn(context) for context in turns]

    def remember(self, scope: Scope, text: str) -> Learned:
        """Store the facts of a text; the whole text as one fact if the rules find none."""
        self.refresh(scope)
        known = [(fact_of(row), row) for row in self._known(scope)]
        whole = Fact(text.strip(), "about", text.strip(), text.strip())
        new = facts(text, people=lambda: people_of(fact for fact, _ in known)) or (whole,)
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
        """Return a user's facts: all of them, oldest first, or those that match a query best.

        With `at`, all facts believed at that moment; with `since` and `until`, facts stated in between.
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
        return tuple(row for row in rows if row.is_within(start, end))

    def recollect(self, context: Context) -> Recollection | None:
        """Answer the last turn from the user's facts, their history and past chats; None for other questions."""
        if self._source is None or form(context.last).act in ("remember", "forget"):
            return None
        at = moment_of(context.said_at) or now()
        since, until = context.control.since, context.control.until
        live = [row for row in self._known(context.scope) if row.is_within(since, until)]
        live += self._told_here(context)
        meant = with_names(context.last, context.history, map(fact_of, live))
        if meant != context.last:
            context = replace(context, turns=(*context.history, replace(context.turns[-1], text=meant)))
        if asks_for_history(context.last) and not asks_for_chats(context.last):
            rows = all_rows(self._store, context.scope, self._source.name)
            zone = self._zones.of(context.scope)
            asking = Asking(context, at, zone, rows, live, self._encoder, self._analyse, self._shown_before)
            history = recollection(asking)
            if history is not None:
                return history
        if asks_for_chats(context.last):
            return self._chats.recollection(context, live, at=at, zone=self._zones.of(context.scope))
        if context.control.since or context.control.until:
            return None  # the caller limits which facts may be read
        found = answered(context.last, live, lambda: self._past(context.scope), self._analyse)
        if found is not None and found.kind != "untold":
            return found
        spoken = self._chats.recollection(context, live, at=at, zone=self._zones.of(context.scope))
        return spoken or found or self._recalled(context)

    def _recalled(self, context: Context) -> Recollection | None:
        """Return the facts that a question asks for, if the trained classifier sees a question to memory."""
        assert self._source is not None
        text = context.last
        chance = self._asked.chance(text)
        shape = form(text)
        least = SURE if shape.act == "statement" else MAY_ASK
        if chance < least or shape.about in ("bot", "you") or asks_for_everything(spelt(text)) or _DUE.search(text):
            return None
        named: dict[str, Any] = {"encoder": self._encoder, "analyse": self._analyse, "scope": context.scope}
        hits = best_hits(self._store, text, source=self._source.name, k=_MOST_RECALLED, **named)
        fitting = [hit for hit in hits if speaks_of_the_same(text, hit.passage.indexed, self._analyse)]
        least = _FITS if chance >= ASKS else _FITS_WELL
        if fitting and fitting[0].score >= least:
            near = max(fitting[0].score - _NEARLY, least)
            return Recollection("known", tuple(hit.passage for hit in fitting if hit.score >= near))
        # The gloss of a Chinese fact may be far from its question's although the fact answers it.
        is_far = language_of(text) != "zh" and (not hits or hits[0].score < _FAR)
        return Recollection("untold", value="that") if chance >= SURE and is_far else None

    def _told_here(self, context: Context) -> list[Passage]:
        """Return facts from earlier in a dialogue that memory does not store; they count only within the dialogue."""
        if context.control.writes_memory:
            return []
        said = [turn for turn in context.history if turn.speaker == "user"]
        told = [fact for turn in said for fact in facts(turn.text, people=lambda: people_in(context.history))]
        return [self._passage(context.scope, fact, nth) for nth, fact in enumerate(told)]

    def _past(self, scope: Scope) -> Sequence[Passage]:
        """Return facts that were replaced or have ended."""
        return tuple(self._store.passages(scope, self._source.name, superseded=True)) if self._source else ()

    def _shown_before(self, context: Context) -> Sequence[str]:
        """Return the ids of the user's facts that the last reply of a dialogue used."""
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

        @cache
        def known() -> list[tuple[Fact, Passage]]:  # read when first needed: most turns state nothing
            return [(fact_of(row), row) for row in self._known(context.scope)]

        def known_facts() -> list[Fact]:
            return [fact for fact, _ in known()]

        def people() -> dict[str, str]:
            """Return all known people, those named in this dialogue last, since "she" means one of them."""
            known_people, named = people_of(known_facts()), people_in(context.history)
            others = {name: role for name, role in known_people.items() if name not in named}
            return others | {name: known_people.get(name) or role for name, role in named.items()}

        at, zone = moment_of(context.said_at) or now(), self._zones.of(context.scope)
        parted = told_and_asked(spelt(context.last))  # "im 68 do i pay less" states a fact and asks
        said = context.last if parted is None else f"{parted[0].rstrip(' .!,')}. {parted[1]}"
        new = facts(said, people=people) or untimed_facts(context.last, at, zone, people=people)
        if not new and shape.act != "question" and context.history and may_correct_in_passing(context.last):
            just_told = told_in(_turn_before(context), known_facts())
            new = passing_correction(context.last, just_told, self._alike)
            if new:
                return self._add(context.scope, self._dated(context.scope, new, at), known())
        if self._gate is not None and len(new) < MOST_FACTS and shape.act not in SOCIAL:
            ends = stamp(end_of_day(at, zone))  # "I left my umbrella on the boat yesterday" matters today only
            verbatim = [
                fact
                for fact in self._gate.facts(context.last, new, people=people)[: MOST_FACTS - len(new)]
                if fact.slot != "about" or not fleeting_facts(fact.text, at, zone)  # "I am at the station"
            ]
            longer = {(fact.slot, fact.value) for fact in verbatim}  # the same facts in more of the user's words
            new = tuple(fact for fact in new if (fact.slot, fact.value) not in longer)
            new += tuple(
                replace(fact, valid_until=ends) if fact.slot == "about" and not is_lasting(fact.text) else fact
                for fact in verbatim
            )
        is_short = shape.act != "question" and len(context.last) <= _SHORT
        if not new and is_short and may_correct(context.last):
            new = corrected(context.last, known_facts())
        if not new and shape.act == "statement" and shape.personal and not self._is_gated(context.last):
            new = self._judged(shape.core)
        new = self._dated(context.scope, settled(new), at)
        if self._fleeting and not new:
            new = self._dated(context.scope, fleeting_facts(context.last, at, zone), at)
        return self._add(context.scope, new, known()) if new else NOTHING_LEARNED

    def _alike(self, one: str, other: str) -> float:
        """Return the cosine of two texts' vectors."""
        first, second = self._encoder.encode([one, other])
        return sum(float(x) * float(y) for x, y in zip(first, second, strict=True))

    def _is_gated(self, text: str) -> bool:
        """Whether the trained gate has judged a turn, so that the model is not asked."""
        return self._gate is not None and language_of(text) == "en" and self._gate.is_trained_for()

    def _judged(self, statement: str) -> tuple[Fact, ...]:
        """Keep a statement that no rule covers if the model considers it a lasting fact."""
        if not self._ask_model or not _OF_ONESELF.match(statement) or not is_lasting(statement):
            return ()
        asked = prompts.get("lasting.v1", language_of(statement)).format(statement=" ".join(statement.split()))
        chance = self._model.choose([asked], ("yes", "no"))[0]["yes"]
        log.debug("lasting fact with probability %.2f", chance)
        return (
            (Fact(f"{statement.rstrip(' .!')}.", "about", statement, statement),) if chance >= self._certainty else ()
        )


def _turn_before(context: Context) -> str:
    """What the user said before the last turn."""
    return next((turn.text for turn in reversed(context.history) if turn.speaker == "user"), "")
