"""Memory with deletion: of one fact, with a minute to undo it, or of all data of a user, after a confirmation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from dragoman.core.clock import moment_of, now
from dragoman.core.trace import reply_from_json
from dragoman.core.values import ASIDE, Context, Erased, Erasure, Learned, Passage, Scope, Turn
from dragoman.memory.deletion.forgetting import fitting, sharing_sentence, telling, turn_texts
from dragoman.memory.deletion.mentions import mentioning, rare_words, told_sentences
from dragoman.memory.deletion.undo import UNDO_SECONDS, Deletion, RecentDeletions
from dragoman.memory.fact_rows import FactRows
from dragoman.memory.people import people_of
from dragoman.memory.reconcile import fact_of, repeats, replaces
from dragoman.memory.upkeep import PENDING
from dragoman.text import lazy_re as re
from dragoman.text.confirmations import is_confirmation, is_refusal, is_those_too, is_undo
from dragoman.text.forget.requests import forget_request

_BY_NAME = re.compile(r"(?:please )?(?:forget|delete)(?: about)? (?P<name>[A-ZÀ-Þ][\w'’-]+)[.!]?", re.IGNORECASE)
_REPLACED = "replaced"
"""What `superseded_by` says of a replaced row whose sentence was taken from it."""


class ForgettingMemory(FactRows):
    """Facts that can be deleted and restored."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.erase_scope: Callable[[Scope], int] = self._store.forget
        """Erases everything of a user; the assistant's also erases what is kept beside the store. How much."""
        self.count_files: Callable[[Scope], int] | None = None
        """Counts the uploaded files that `erase_scope` would erase."""
        self.count_chats: Callable[[Scope, Collection[str]], int] = lambda _, names: len(names)
        """Counts the chats of some dialogues: a server keeps several versions of a chat, each as a dialogue."""
        self.take_receipt: Callable[[Scope], tuple[Erased, ...]] | None = None
        """Gives the receipt of the last call of `erase_scope`, once."""
        self.recent = RecentDeletions()

    def forget(self, scope: Scope, what: str | None = None) -> Sequence[Passage]:
        """Delete a user's facts that match `what`, or without it all their data; return the rows without text.

        To delete everything, the caller must have asked the user first. Deleted facts can be restored for a minute
        (`undo`).
        """
        gone = self._erase(scope) if what is None else self._delete(scope, what)
        return tuple(Passage(passage.id, passage.source, "") for passage in gone)

    def undo(self, scope: Scope) -> Sequence[Passage]:
        """Restore the facts of the user's last deletion; none if it is over a minute old or already undone.

        Turns that the deletion blanked stay blank. A fact that a newer one contradicts is not restored.
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
        """Undo what memory learned from a turn: remove the facts it added, restore those that they replaced.

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
        """Return what erasing all data of a user would delete; `dialogue` is one that is about to be stored."""
        facts = self._store.passages(scope, self._source.name) if self._source is not None else ()
        chats = {name for name in (*self._store.dialogues(scope), dialogue) if name and not name.startswith(ASIDE)}
        files = self.count_files(scope) if self.count_files is not None else 0
        return Erasure(sum(1 for _ in facts), self.count_chats(scope, chats), files)

    def awaits_confirmation(self, scope: Scope, dialogue: str) -> bool:
        """Whether the last agent turn of a dialogue asked to confirm that everything is erased.

        The store is asked, since question and answer may reach different servers.
        """
        return self._question(scope, dialogue) is not None

    def mentions(self, scope: Scope) -> tuple[str, ...]:
        """Return, for a minute, turns with a rare word of the facts deleted last; show them to the user and ask."""
        return self.recent.mentions(scope)

    def forget_mentions(self, scope: Scope) -> int:
        """Delete those turns from dialogues and traces; return their number."""
        texts = self.recent.mentions(scope, take=True)
        if texts:
            self._store.redact(scope, sorted(texts))
            self._clear_caches()
        return len(texts)

    def _deletion(self, context: Context) -> Learned | None:  # noqa: PLR0911 - one return a kind
        """Carry out a turn that deletes, confirms or undoes, and return the change; None for other turns."""
        if self._is_confirmed(context):
            erasure = self.erasure(context.scope)
            forgotten = tuple(self.forget(context.scope))
            receipt = self.take_receipt(context.scope) if self.take_receipt is not None else ()
            return Learned(forgotten=forgotten, erased=replace(erasure, receipt=receipt))
        if is_refusal(context.last) and self._is_answer(context):
            return Learned(declined=True)
        if is_undo(context.last):
            # Undo a deletion first: its turn is not stored, so the last stored reply may be an older one.
            restored = tuple(self.undo(context.scope))
            return Learned(restored=restored) if restored else Learned(forgotten=self._take_back(context))
        if is_those_too(context.last) and (count := self.forget_mentions(context.scope)):
            return Learned(blanked=count)
        request = forget_request(context.last)
        what = self._somebody_to_forget(context) if request is None else request.what
        if request is not None and request.everything:
            return Learned(pending=self.erasure(context.scope, dialogue=context.dialogue))
        if not what:
            return None
        forgotten = tuple(self._delete(context.scope, what))
        return Learned(forgotten=forgotten, mentions=self.mentions(context.scope))

    def _somebody_to_forget(self, context: Context) -> str:
        """Return the name in "Forget Luna" if one of the user's people or animals has it; "" for other turns."""
        match = _BY_NAME.fullmatch(context.last.strip())
        if match is None or self._source is None:
            return ""
        people = people_of(fact_of(row) for row in self._store.passages(context.scope, self._source.name))
        return match["name"] if match["name"] in people else ""

    def _last_reply(self, scope: Scope, dialogue: str) -> tuple[str, list[Learned]]:
        """Return the last stored reply of a dialogue, and the memory changes of its turn."""
        trace = self._store.trace(scope, dialogue)
        if trace is None:
            return "", []
        reply = reply_from_json(trace)
        return reply.text, [note.value for note in reply.trace.of("memory") if isinstance(note.value, Learned)]

    def _question(self, scope: Scope, dialogue: str) -> str | None:
        text, notes = self._last_reply(scope, dialogue)
        return text if any(note.pending is not None for note in notes) else None

    def _take_back(self, context: Context) -> tuple[Passage, ...]:
        """Undo what the previous turn taught, within a minute: "undo" after "Got it: you are the owner."."""
        text, notes = self._last_reply(context.scope, context.dialogue)
        last = context.history[-1] if context.history else Turn("agent", "")
        told = moment_of(last.said_at)
        if last.text != text or told is None or (now() - told).total_seconds() > UNDO_SECONDS:
            return ()
        added = [row.id for note in notes for row in note.added]
        gone = self.retract(context.scope, added, [row.id for note in notes for row in note.superseded])
        if gone:
            self.recent.hold(context.scope, Deletion(tuple(gone)))
        return tuple(gone)

    def _is_confirmed(self, context: Context) -> bool:
        """Whether the last turn confirms the question whether to erase everything."""
        return is_confirmation(context.last) and self._is_answer(context)

    def _is_answer(self, context: Context) -> bool:
        """Whether the previous turn asked whether to erase everything, according to the store."""
        question = self._question(context.scope, context.dialogue)
        if question is None:
            return False
        # A caller may have inserted turns from elsewhere between question and answer.
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
        """Delete the matching facts, and hold them for a minute.

        Facts that a deleted fact replaced are deleted too, since the user cannot see them and so cannot ask for it.
        """
        if self._source is None:
            return ()
        live = list(self._store.passages(scope, self._source.name))
        hidden = list(self._store.passages(scope, self._source.name, superseded=True))
        gone = fitting([*live, *hidden], what, self._encoder, self._analyse)
        gone += [old for old in hidden if old not in gone and any(replaces(fact_of(new), fact_of(old)) for new in gone)]
        if not gone:
            self.recent.show(scope, self._telling_turns(scope, what))
            return ()
        # Dialogues first: after an interrupted call, a second one still finds the fact. And once more afterwards:
        # a turn in another process may have read the fact and stored its reply in between.
        kept = [row for row in (*live, *hidden) if row not in gone]
        self._store.redact(scope, telling(self._store, scope, gone, self._analyse, kept=kept))
        self._store.remove(scope, [passage.id for passage in gone])
        self._forget_sentences(
            scope, [row for row in live if row in kept], [row for row in hidden if row in kept], gone
        )
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

    def _telling_turns(self, scope: Scope, what: str) -> tuple[str, ...]:
        """Return user turns that match a request without a stored fact, and turns with a rare word of them."""
        turns = [text for text in turn_texts(self._store, scope) if forget_request(text) is None]
        telling = tuple(dict.fromkeys(text for text in turns if any(told_sentences(text, what, self._analyse))))
        telling_sentences = [sentence for text in telling for sentence in told_sentences(text, what, self._analyse)]
        rare = rare_words([Passage("", "", sentence) for sentence in telling_sentences], ())
        return tuple(dict.fromkeys((*telling, *mentioning(turns, rare))))

    def _forget_sentences(
        self, scope: Scope, live: Sequence[Passage], hidden: Sequence[Passage], gone: Sequence[Passage]
    ) -> None:
        """Remove the source sentence of a deleted fact from other facts that came from it."""
        changed = sharing_sentence(live, gone, self._analyse)
        if changed:
            self._store.put(scope, changed, self._encoder.encode([row.indexed for row in changed]))
        for row in sharing_sentence(hidden, gone, self._analyse):
            self._store.supersede(scope, row.id, PENDING if PENDING in row.meta else _REPLACED, meta=row.meta)


def _reopened(row: Passage) -> Passage:
    """Return a replaced row without the marks of its replacement."""
    return replace(row, meta={k: v for k, v in row.meta.items() if k not in ("valid_until", "replaced_at")})


def _contradicts(new: Passage, old: Passage) -> bool:
    """Whether a current fact repeats or replaces an older one."""
    return new.id == old.id or repeats(fact_of(new), fact_of(old)) or replaces(fact_of(new), fact_of(old))
