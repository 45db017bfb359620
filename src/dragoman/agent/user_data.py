"""A user's stored data: facts, standing wishes, dialogues and ratings, and their deletion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.agent.private_dialogues import PrivateDialogues
from dragoman.agent.turns import MOST_CHARACTERS, clean, exchanges
from dragoman.core.errors import ConfigError, InputError, ServiceError, StoreError
from dragoman.core.trace import Reply, Trace, reply_from_json
from dragoman.core.values import ASIDE, Erased, Erasure, Learned, Passage, Scope, Source, Turn
from dragoman.memory.wishes import StandingWishes
from dragoman.text.wishes import wishing

if TYPE_CHECKING:
    from dragoman.core.codec import Json
    from dragoman.core.protocols import Memory, Store
    from dragoman.memory.transfer.formats import Format
    from dragoman.memory.transfer.importing import ImportPlan
    from dragoman.sources.upload_folders import UploadFolders

DEFAULT_USER = "me"
DEFAULT_DIALOGUE = "main"
_MOST_RECEIPTS = 100
"""How many receipts of erasures wait to be taken, in memory alone."""


class UserData:
    """The part of an assistant that reads, changes and deletes what is stored about a user."""

    def __init__(
        self,
        store: Store,
        memory: Memory | None,
        sources: Sequence[Source],
        *,
        tenant: str = "local",
        most_characters: int = MOST_CHARACTERS,
        learn: bool = True,
        files: UploadFolders | None = None,
    ) -> None:
        self.store = store
        self.memory = memory
        self.sources = tuple(sources)
        self.tenant = tenant
        self.files = files
        """The files that users uploaded to a server of this agent."""
        self._most = most_characters
        self._learns = learn
        self._private = PrivateDialogues()
        self._receipts: dict[Scope, tuple[Erased, ...]] = {}
        eraser: Any = memory  # a kind of memory that may erase by itself
        if hasattr(eraser, "erase_scope"):
            eraser.erase_scope = self._erase
        if hasattr(eraser, "count_files") and files is not None:
            eraser.count_files = files.count
        if hasattr(eraser, "take_receipt"):
            eraser.take_receipt = self._take_receipt

    def scope(self, user: str = DEFAULT_USER) -> Scope:
        """Return the scope whose rows a user's calls touch."""
        if not user.strip():
            raise InputError("A user needs an id.", remedy="Give a name, as in --user ana.")
        return Scope(self.tenant, user)

    def hold(self, scope: Scope) -> AbstractContextManager[object]:
        """Context for work based on the present data of a scope: its writes are refused after an erasure.

        So a running turn or upload, in any process, cannot write deleted data back.
        """
        hold = getattr(self.store, "hold", None)
        held: AbstractContextManager[object] = nullcontext() if hold is None else hold(scope)
        return held

    def remember(self, text: str, *, user: str = DEFAULT_USER) -> Learned:
        """Keep a fact about a user, or a standing wish about replies ("keep it short")."""
        plain = clean(text, most=self._most)
        wished = wishing(plain)
        if wished.wished and not wished.rest:
            added, _ = StandingWishes(self.store).change(self.scope(user), wished)
            return Learned(wishes=added)
        learned: Learned = self._memory_method("remember")(self.scope(user), plain)
        return learned

    def recall(
        self,
        query: str | None = None,
        *,
        user: str = DEFAULT_USER,
        at: datetime | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Passage, ...]:
        """Return the facts about a user, all or those that match a query, best first.

        With `at`, everything that was believed about the user at that moment; with `since` and `until`, what was told
        in between.
        """
        words = None if query is None else clean(query, most=self._most)
        times = {"at": at, "since": since, "until": until}
        then: dict[str, Any] = {name: moment for name, moment in times.items() if moment is not None}
        return tuple(self._memory_method("recall")(self.scope(user), words, **then))

    def import_memory(
        self,
        path: str | Path | None = None,
        *,
        text: str = "",
        user: str = DEFAULT_USER,
        format: Format | None = None,
        chats: bool = False,
        dry_run: bool = False,
    ) -> ImportPlan:
        """Import the facts of a file into a user's memory, each once and with its date; return what became of each.

        The file is an export of ChatGPT, Claude, mem0 or Dragoman, or a list in JSON or Markdown; it is read piece by
        piece. `text` is the content of such a file instead. With `chats`, its chats become dialogues of the user too.
        With `dry_run`, nothing is written.
        """
        from dragoman.memory.transfer.exporting import with_chats
        from dragoman.memory.transfer.formats import read_items, text_items

        scope, added = self.scope(user), list[str]()
        items = text_items(text, format) if path is None else read_items(Path(path), format)
        if chats:
            items = with_chats(items, self.store, scope, added, dry_run=dry_run)
        with self.hold(scope):
            plan: ImportPlan = self._memory_method("bring")(scope, items, dry_run=dry_run)
            for wish in () if dry_run else plan.wishes:
                StandingWishes(self.store).change(scope, wishing(wish))
        return replace(plan, chats=len(added))

    def export_memory(self, *, user: str = DEFAULT_USER) -> dict[str, Json]:
        """Export a user's current and earlier facts and standing wishes, in a format that `import_memory` reads."""
        from dragoman.memory.transfer.exporting import exported

        sources = [source.name for source in self.sources if source.about == "user" and source.private]
        past = [row for name in sources for row in self.store.passages(self.scope(user), name, superseded=True)]
        return exported(self.recall(user=user), past, self.wishes(user=user))

    def time_zone(self, *, user: str = DEFAULT_USER) -> str:
        """The name of a user's time zone; "" is the agent's."""
        return str(self._memory_method("time_zone")(self.scope(user)))

    def set_time_zone(self, name: str, *, user: str = DEFAULT_USER) -> None:
        """Set a user's time zone ("Europe/Zurich"); "" goes back to the agent's."""
        self._memory_method("set_time_zone")(self.scope(user), name)

    def wishes(self, *, user: str = DEFAULT_USER) -> tuple[Passage, ...]:
        """The user's standing wishes about the wording of replies ("keep it short"), oldest first."""
        return StandingWishes(self.store).all(self.scope(user))

    def end_wish(self, id: str, *, user: str = DEFAULT_USER) -> Passage | None:
        """Delete a standing wish; None if there is none with that id."""
        return StandingWishes(self.store).end(self.scope(user), id)

    def forget(self, what: str | None = None, *, user: str = DEFAULT_USER) -> int:
        """Delete a fact about a user, or without `what` all their data; return the number of rows and files.

        Every erasure of everything, by call, command, turn or server, ends here and deletes facts, dialogues, traces,
        thumbs, private passages and uploaded files. It does not ask for confirmation: show the user `erasure` first.
        One fact can be restored with `undo_forget`.
        """
        scope = self.scope(user)
        if what is not None:
            return _count(self._memory_method("forget")(scope, clean(what, most=self._most)))
        files = self.files.count(scope) if self.files is not None else 0
        erased = 0
        if hasattr(self.memory, "forget"):
            erased = _count(self._memory_method("forget")(scope, None))
        return erased + files + max(0, self._erase(scope) - files)

    def receipt(self, *, user: str = DEFAULT_USER) -> tuple[Erased, ...]:
        """Return the receipt of the last `forget` of everything: files, counts, hashes; given once and not stored."""
        return self._take_receipt(self.scope(user))

    def erasure(self, *, user: str = DEFAULT_USER) -> Erasure:
        """Return what `forget` without an argument would delete."""
        if hasattr(self.memory, "erasure"):
            erasure: Erasure = self._memory_method("erasure")(self.scope(user))
            return erasure
        files = self.files.count(self.scope(user)) if self.files is not None else 0
        return Erasure(chats=len(self.dialogues(user=user)), files=files)

    def awaits_confirmation(self, *, user: str = DEFAULT_USER, dialogue: str = DEFAULT_DIALOGUE) -> bool:
        """Whether the last reply of a dialogue asked the user to confirm that everything is deleted."""
        asked = getattr(self.memory, "awaits_confirmation", None)
        return bool(self._learns and asked is not None and asked(self.scope(user), dialogue))

    def undo_forget(self, *, user: str = DEFAULT_USER) -> tuple[Passage, ...]:
        """Restore the fact that was deleted last, within a minute and in the same process; the facts that are back.

        Words that the deletion blanked in dialogues stay blank.
        """
        return tuple(self._memory_method("undo")(self.scope(user)))

    def mentions(self, *, user: str = DEFAULT_USER) -> tuple[str, ...]:
        """Turns that hold a rare word of the fact that was deleted last, within a minute and in the same process."""
        mentions = getattr(self.memory, "mentions", None)
        return tuple(mentions(self.scope(user))) if mentions is not None else ()

    def forget_mentions(self, *, user: str = DEFAULT_USER) -> int:
        """Delete the turns that `mentions` shows; how many there were."""
        return int(self._memory_method("forget_mentions")(self.scope(user)))

    def history(self, *, user: str = DEFAULT_USER, dialogue: str = DEFAULT_DIALOGUE) -> tuple[Turn, ...]:
        """A dialogue so far."""
        return tuple(self.store.dialogue(self.scope(user), dialogue))

    def dialogues(self, *, user: str = DEFAULT_USER) -> tuple[str, ...]:
        """The names of a user's dialogues, oldest first."""
        return tuple(name for name in self.store.dialogues(self.scope(user)) if not name.startswith(ASIDE))

    def forget_dialogue(self, dialogue: str, *, user: str = DEFAULT_USER) -> int:
        """Erase a dialogue with its traces, thumbs and private turns; the number of turns. Facts from it stay."""
        from dragoman.agent.feedback import forget_ratings

        scope = self.scope(user)
        private = self._private.drop(scope, dialogue)
        forget_ratings(self.store, scope, dialogue)
        return self.store.erase_turns(scope, dialogue) + private

    def end_private(self, *, user: str = DEFAULT_USER, dialogue: str = DEFAULT_DIALOGUE) -> int:
        """Drop the private turns of a dialogue from memory; the number of turns. Kept turns stay."""
        return self._private.drop(self.scope(user), dialogue)

    def replies(self, *, user: str = DEFAULT_USER, dialogue: str = DEFAULT_DIALOGUE) -> tuple[Reply | None, ...]:
        """The reply behind each turn of `history`: None for the user's turns, and where its trace was forgotten."""
        traces = self.store.traces(self.scope(user), dialogue)
        return tuple(None if trace is None else reply_from_json(trace) for trace in traces)

    def exchanges(
        self, *, user: str = DEFAULT_USER, dialogue: str = DEFAULT_DIALOGUE
    ) -> Iterator[tuple[Turn, Reply | None]]:
        """The turns of `history` with the replies behind them, one after the other: for dialogues of any length."""
        for turn, trace in exchanges(self.store, self.scope(user), dialogue):
            yield turn, None if trace is None else reply_from_json(trace)

    def last_reply(self, *, user: str = DEFAULT_USER, dialogue: str = DEFAULT_DIALOGUE) -> Reply | None:
        """The last reply of a dialogue as the store kept it."""
        trace = self.store.trace(self.scope(user), dialogue)
        return None if trace is None else reply_from_json(trace)

    def trace(self, *, user: str = DEFAULT_USER, dialogue: str = DEFAULT_DIALOGUE) -> Trace | None:
        """Return the trace of the last reply of a dialogue."""
        reply = self.last_reply(user=user, dialogue=dialogue)
        return None if reply is None else reply.trace

    def rate(
        self,
        good: bool,
        *,
        user: str = DEFAULT_USER,
        dialogue: str = DEFAULT_DIALOGUE,
        turn: int | None = None,
        better: str | None = None,
    ) -> None:
        """A thumb for a dialogue's reply: whether it was right to look something up there, or not to.

        `turn` is the reply's place in `history`, the last one where it is not given; `better` what should have been
        said instead.
        """
        from dragoman.agent.feedback import rate_reply

        better = None if better is None else clean(better, most=self._most)
        rate_reply(self.store, self.scope(user), dialogue, turn=turn, good=good, better=better)

    def label_search(
        self,
        needed: bool,
        *,
        user: str = DEFAULT_USER,
        dialogue: str = DEFAULT_DIALOGUE,
        turn: int | None = None,
    ) -> None:
        """Keep whether a dialogue's reply needed a search, as the user says: a label to train a gate with.

        `turn` is the reply's place in `history`, the last one where it is not given.
        """
        from dragoman.agent.feedback import rate_reply

        rate_reply(self.store, self.scope(user), dialogue, turn=turn, needed=needed)

    def _erase(self, scope: Scope) -> int:
        """Erase a scope: rows first, since that may fail on a full disk, then files, whose deletion needs no space."""
        from dragoman.agent.erasure_receipt import receipt_of

        self._private.drop(scope)
        if receipt := receipt_of(self.store, self.sources, self.files, scope):
            while len(self._receipts) >= _MOST_RECEIPTS:
                self._receipts.pop(next(iter(self._receipts)))
            self._receipts[scope] = receipt
        if self.files is None:
            return self.store.forget(scope)
        self.files.check(scope)
        rows = self.store.forget(scope)
        try:
            return rows + self.files.erase(scope)
        except StoreError as error:
            raise ServiceError(
                f"Facts, chats and passages are deleted. {error.message}",
                remedy=f"{error.remedy} Then delete everything again.",
                code="store",
            ) from error

    def _take_receipt(self, scope: Scope) -> tuple[Erased, ...]:
        return self._receipts.pop(scope, ())

    def _memory_method(self, name: str) -> Any:
        method = getattr(self.memory, name, None)
        if method is None:
            kind = "no memory" if self.memory is None else f"the memory {type(self.memory).__name__}"
            raise ConfigError(f"This agent has {kind}, which cannot {name}.", remedy="Set memory.kind to rules.")
        return method


def _count(answer: object) -> int:
    """The number of rows that a memory erased; it answers with a number, the rows, or what it learned."""
    if isinstance(answer, Learned):
        return len(answer.forgotten)
    if isinstance(answer, int):
        return answer
    return len(answer) if isinstance(answer, Sequence) else 0
