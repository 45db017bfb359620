"""An agent with a store and a memory: dialogues that go on, and users who are known and kept apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dragoman.agent.learning import TurnLearning, latest
from dragoman.agent.private_dialogues import PrivateDialogues
from dragoman.agent.turns import MOST_CHARACTERS, WITHHELD, clean, kept_turns, with_usage
from dragoman.agent.warm import WarmUp
from dragoman.core.caches import clear_caches
from dragoman.core.clock import stamp
from dragoman.core.control import DEFAULT_CONTROL, MemoryMode, RetrieveMode, TurnControl, sources_with_needs
from dragoman.core.errors import ConfigError, InputError, ServiceError, StoreError
from dragoman.core.trace import Note, Reply, Trace, reply_from_json, reply_to_json
from dragoman.core.values import (
    ASIDE,
    Context,
    Erased,
    Erasure,
    Learned,
    Passage,
    Receipt,
    Sampling,
    Scope,
    Source,
    Turn,
)
from dragoman.memory.wishes import StandingWishes
from dragoman.models.compute_slots import claim
from dragoman.models.metering import metered, metered_pieces, turn_meter
from dragoman.text.wishes import wishing
from dragoman.text.words import forget_texts

if TYPE_CHECKING:
    from typing import Self

    from dragoman.agent.agent import Agent
    from dragoman.agent.reencoding import Reencoding
    from dragoman.core.codec import Json
    from dragoman.core.protocols import Encoder, Memory, Store
    from dragoman.core.workers import Workers
    from dragoman.memory.transfer.formats import Format
    from dragoman.memory.transfer.importing import ImportPlan
    from dragoman.sources.files import Failure
    from dragoman.sources.ingest import IngestProgress, IngestReport
    from dragoman.sources.upload_folders import UploadFolders
    from dragoman.sources.web.site import WebLimits

DEFAULT_USER = "me"
DEFAULT_DIALOGUE = "main"
_MOST_RECEIPTS = 100
"""How many receipts of erasures wait to be taken, in memory alone."""


@dataclass(frozen=True, slots=True)
class UserTurn:
    """One user turn in one dialogue. `before` are turns that were held elsewhere; they are kept with this one.

    What is kept `under` a receipt is kept once. `instructions` and `sampling` concern the wording of this reply and are
    not kept.
    `control` says whether to search, how memory is used, and whether the turn is kept at all.
    """

    text: str
    user: str = DEFAULT_USER
    dialogue: str = DEFAULT_DIALOGUE
    before: tuple[Turn, ...] = ()
    under: Receipt | None = None
    instructions: str = ""
    sampling: Sampling | None = None
    control: TurnControl = DEFAULT_CONTROL


@dataclass(frozen=True, slots=True)
class Kept:
    """A reply in the store: `place` is its turn's in the dialogue, counted from zero."""

    reply: Reply
    place: int


class Assistant:
    """What `dragoman.load` gives: ask it, tell it, feed it, and close it."""

    def __init__(
        self,
        agent: Agent,
        store: Store,
        memory: Memory | None,
        sources: Sequence[Source],
        encoder: Encoder,
        *,
        name: str = "Dragoman",
        greeting: str = "",
        examples: Sequence[str] = (),
        tenant: str = "local",
        history: int = 12,
        most_characters: int = MOST_CHARACTERS,
        learn: bool = True,
        heavy: Sequence[object] = (),
        folder: Path | None = None,
        warming: WarmUp | None = None,
        config: Mapping[str, Any] | None = None,
        files: UploadFolders | None = None,
        model: object | None = None,
    ) -> None:
        self.agent = agent
        self.model = model
        """The language model; readers may do without it."""
        self.store = store
        self.memory = memory
        self.sources = tuple(sources)
        self.encoder = encoder
        self.name = name
        self.greeting = greeting
        self.examples = tuple(examples)
        self.tenant = tenant
        self.config = dict(config or {})
        self.unread: tuple[Failure, ...] = ()
        self.reencoding: Reencoding | None = None
        """Replaces stored vectors of another encoder; None where the store does not record whose they are."""
        self._history = history
        self._most = most_characters
        self._learns = learn
        self._heavy = tuple(heavy)
        self._folder = folder
        self._warming = warming or WarmUp()
        self._private = PrivateDialogues()
        self._receipts: dict[Scope, tuple[Erased, ...]] = {}
        self.files = files
        """The files that users uploaded to a server of this agent."""
        eraser: Any = memory  # of some kind that may erase by itself
        if hasattr(eraser, "erase_scope"):
            eraser.erase_scope = self._erase
        if hasattr(eraser, "count_files") and files is not None:
            eraser.count_files = files.count
        if hasattr(eraser, "take_receipt"):
            eraser.take_receipt = self._take_receipt

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def for_tenant(self, tenant: str) -> Assistant:
        """The same assistant for another tenant: its own rows, the same models. Closing the first closes both.

        What agent.toml declares of files is read for the tenant where it has not been.
        """
        from dragoman.agent.declared import read_declared
        from dragoman.config import AgentConfig

        if tenant == self.tenant:
            return self
        other = copy(self)
        other.tenant = tenant
        if other.reencoding is not None:
            other.reencoding.check(Scope(tenant).shared)
        if self._folder is not None and self.config:
            config = AgentConfig.model_validate({**self.config, "tenant": tenant})
            other.unread = read_declared(config, self._folder, other)
        return other

    def with_agent(self, agent: Agent, *, model: object) -> Assistant:
        """The same assistant with another agent, whose `model` it closes; store, memory and dialogues are shared."""
        other = copy(self)
        other.agent = agent
        other.model = model
        other._heavy = (model,)
        return other

    @property
    def folder(self) -> Path | None:
        """The folder of agent.toml."""
        return self._folder

    def scope(self, user: str = DEFAULT_USER) -> Scope:
        """Whose rows a user's calls touch."""
        if not user.strip():
            raise InputError("A user needs an id.", remedy="Give a name, as in --user ana.")
        return Scope(self.tenant, user)

    def ask(
        self,
        text: str,
        *,
        user: str = DEFAULT_USER,
        dialogue: str = DEFAULT_DIALOGUE,
        retrieve: RetrieveMode = "auto",
        memory: MemoryMode = "on",
        keep: bool = True,
        sources: Sequence[str] | None = None,
    ) -> Reply:
        """The reply to a turn; both are added to the dialogue.

        `retrieve` is `auto`, `always` or `never` and overrides the gate; `memory` is `on`, `read` or `off`; `sources`
        are the names of those that may be searched. With `keep` false nothing is written to any file, neither turns nor
        facts; later private turns of the same dialogue, in this process, still know them.
        """
        control = TurnControl(retrieve, memory, keep, None if sources is None else tuple(sources))
        return self.ask_many([UserTurn(text, user, dialogue, control=control)])[0]

    def ask_many(self, asks: Sequence[UserTurn]) -> list[Reply]:
        """The replies to turns of different dialogues, answered together."""
        if len({(ask.user, ask.dialogue) for ask in asks}) < len(asks):
            raise InputError("Two turns of one dialogue cannot be answered at once.", remedy="Ask one after the other.")
        self.warm_up()
        holds = [self._hold_for(ask) for ask in asks]
        contexts = [self._context(ask)[0] for ask in asks]
        learning = self._learning()
        with metered(turns=len(asks)) as meter:
            learned, notes = learning.learn(contexts, holds)
            learned = [learning.recollected(context) for context in learned]
            replies = self.agent.run(learned)
        if len(asks) == 1:  # of several turns nobody knows which one a call of memory or gate was for
            replies = [with_usage(reply, meter) for reply in replies]
        texts = [context.last for context in contexts]
        kept = zip(learned, texts, replies, notes, asks, strict=True)
        finished: list[Reply] = []
        for (context, text, reply, note, ask), hold in zip(kept, holds, strict=True):
            with hold:
                finished.append(self._keep(context, text, reply, note, ask))
        return finished

    def stream(
        self,
        text: str,
        *,
        user: str = DEFAULT_USER,
        dialogue: str = DEFAULT_DIALOGUE,
        before: Sequence[Turn] = (),
        retrieve: RetrieveMode = "auto",
        memory: MemoryMode = "on",
        keep: bool = True,
        sources: Sequence[str] | None = None,
    ) -> Iterator[Note | str | Reply]:
        """Notes as they are decided, pieces of text, and the reply last; it is kept before it is given.

        The options are those of `ask`.
        """
        control = TurnControl(retrieve, memory, keep, None if sources is None else tuple(sources))
        for piece in self.exchange(UserTurn(text, user, dialogue, tuple(before), control=control)):
            yield piece.reply if isinstance(piece, Kept) else piece

    def exchange(self, ask: UserTurn) -> Iterator[Note | str | Kept]:
        """What `stream` gives, with the place of the reply: turns of one dialogue must come one after the other."""
        return metered_pieces(self._exchange(ask))

    def _exchange(self, ask: UserTurn) -> Iterator[Note | str | Kept]:
        self.warm_up()
        hold = self._hold_for(ask)
        context, length = self._context(ask)
        claim(sum(len(turn.text) for turn in context.turns))
        text = context.last
        learning = self._learning()
        (context,), (note,) = learning.learn([context], [hold])
        context = learning.recollected(context)
        if note is not None:
            yield note
        for piece in self.agent.stream(context):
            if not isinstance(piece, Reply):
                yield piece
                continue
            meter = turn_meter()
            whole = piece if meter is None else with_usage(piece, meter)
            with hold:
                reply = self._keep(context, text, whole, note, ask)
            if context.learned.forgotten or context.learned.blanked:  # the dialogue is not what it was
                yield Kept(reply, len(self.store.dialogue(context.scope, ask.dialogue)) - 1)
            else:
                yield Kept(reply, length + len(ask.before) + 1)

    def hold(self, scope: Scope) -> AbstractContextManager[object]:
        """A context for work that rests on what a scope holds now: its writes are refused once data of it was erased.

        So a turn or an upload that is under way, in whichever process, writes nothing back that was forgotten.
        """
        hold = getattr(self.store, "hold", None)
        held: AbstractContextManager[object] = nullcontext() if hold is None else hold(scope)
        return held

    def _hold_for(self, ask: UserTurn) -> AbstractContextManager[object]:
        """The context of a turn's writes; a private turn has none."""
        return self.hold(self.scope(ask.user)) if ask.control.keep else nullcontext()

    def _context(self, ask: UserTurn) -> tuple[Context, int]:
        """What the agent is told of a dialogue, and how many turns it has so far.

        Private turns are known to private ones alone: the trace of a kept turn may repeat what was said before it.
        """
        scope, control = self.scope(ask.user), ask.control
        if self.reencoding is not None and control.keep:
            self.reencoding.check(scope)
        text = clean(ask.text, most=self._most)
        kept = self.store.dialogue(scope, ask.dialogue)
        if not control.keep:
            kept = (*kept, *self._private.turns(scope, ask.dialogue))
        if control.sources is not None:
            control = replace(control, sources=sources_with_needs(control.sources, self.sources))
        earlier = latest((*latest(kept, self._history), *ask.before), self._history)
        turns = (*earlier, Turn("user", text, stamp()))
        context = Context(turns, scope, ask.dialogue, instructions=ask.instructions, control=control)
        return replace(context, sampling=ask.sampling), len(kept)

    def _learning(self) -> TurnLearning:
        return TurnLearning(self.agent, self.store, self.memory, self._history, self._learns)

    def answered(self, ask: UserTurn) -> tuple[str, Kept] | None:
        """The dialogue and the stored reply of a request that was answered before."""
        turn = self.store.answered(self.scope(ask.user), ask.under.request) if ask.under and ask.control.keep else None
        if turn is None:
            return None
        if turn.asked not in ("", WITHHELD, clean(ask.text, most=self._most)):
            raise ServiceError(
                "This request's id was used before, for a turn that said something else.",
                remedy="Give every turn an id of its own, and the same one only to send it again.",
                code="request-reused",
            )
        if turn.trace is None:
            raise ServiceError(
                "This request was answered, and the answer has been forgotten.",
                remedy="Ask anew, under another id.",
                code="forgotten",
            )
        return turn.dialogue, Kept(reply_from_json(turn.trace), turn.place)

    def _keep(self, context: Context, said: str, reply: Reply, note: Note | None, ask: UserTurn) -> Reply:
        if note is not None:
            reply = replace(reply, trace=Trace((note, *reply.trace.notes)))
        turns = kept_turns(replace(context.turns[-1], text=said), reply)
        if not ask.control.keep:
            self._private.add(context.scope, ask.dialogue, (*ask.before, Turn("user", said), Turn("agent", reply.text)))
            return reply
        once: dict[str, Any] = {} if ask.under is None else {"under": ask.under}
        if turns is None:
            withheld = (Turn("user", WITHHELD), Turn("agent", WITHHELD))
            # What came before may tell of it as well.
            self.store.append(context.scope, context.dialogue, withheld, **once)
            # Answering has read the request itself, which names what was to be forgotten.
            forget_texts()
            clear_caches(self.encoder, *self._heavy)
        else:
            kept = (*ask.before, *turns)
            self.store.append(context.scope, context.dialogue, kept, reply_to_json(reply), **once)
        return reply

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
        """What is remembered about a user, or what of it fits a query, best first.

        With `at`, everything that was believed about the user at that moment; with `since` and `until`, what was told
        in between.
        """
        wanted = None if query is None else clean(query, most=self._most)
        times = {"at": at, "since": since, "until": until}
        then: dict[str, Any] = {name: moment for name, moment in times.items() if moment is not None}
        return tuple(self._memory_method("recall")(self.scope(user), wanted, **then))

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
        """Take the facts of a file into a user's memory, each once and with its date; what became of them.

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
        """A user's facts, earlier facts and standing wishes, as `import_memory` reads them."""
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
        """Delete a standing wish; None where there is none of that id."""
        return StandingWishes(self.store).end(self.scope(user), id)

    def forget(self, what: str | None = None, *, user: str = DEFAULT_USER) -> int:
        """Delete a fact about a user, or, without `what`, everything of theirs; the number of rows and files.

        Every way to erase everything ends here, be it a call, a command, a turn or the server: facts, dialogues,
        traces, thumbs, private passages and uploaded files go. It asks nobody: show the user `erasure` first. One fact
        can be restored with `undo_forget`.
        """
        scope = self.scope(user)
        if what is not None:
            return _count(self._memory_method("forget")(scope, clean(what, most=self._most)))
        files = self.files.count(scope) if self.files is not None else 0
        erased = 0
        if hasattr(self.memory, "forget"):
            erased = _count(self._memory_method("forget")(scope, None))
        return erased + files + max(0, self._erase(scope) - files)

    def _erase(self, scope: Scope) -> int:
        """Erase a scope: rows first, since a full disk may refuse that, then the files, which need no space to go."""
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

    def receipt(self, *, user: str = DEFAULT_USER) -> tuple[Erased, ...]:
        """What the last `forget` of everything erased from which files, with hashes; given once, and not stored."""
        return self._take_receipt(self.scope(user))

    def erasure(self, *, user: str = DEFAULT_USER) -> Erasure:
        """What `forget` without an argument would delete."""
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

    def ingest(
        self,
        paths: Sequence[str | Path],
        *,
        source: str,
        user: str = DEFAULT_USER,
        sync: bool = False,
        follow_links: bool = False,
        progress: IngestProgress | None = None,
        workers: Workers | None = None,
        web: WebLimits | None = None,
    ) -> IngestReport:
        """Read files, folders, web pages and Git repositories into a source; a private source's rows become the user's.

        With `sync`, what came from files that are gone from the folders is removed. Links that lead out of a folder are
        skipped unless `follow_links` is set. `workers` read and encode. `web` limits what is fetched from addresses.
        """
        from dragoman.agent.encoding import encoder_of
        from dragoman.sources.ingest import ingest

        scope, declared = self.scope(user), self._source(source)
        # Named from the agent's own folder, as its declared files are: what lies outside goes by its whole path, so
        # that no two files are taken for one another, wherever the command is given.
        with self.hold(declared.scope(scope)):
            return ingest(
                self.store,
                self.encoder,
                declared,
                paths,
                scope=scope,
                sync=sync,
                follow_links=follow_links,
                progress=progress,
                base=self._folder,
                workers=workers,
                made=partial(encoder_of, self.config, self._folder),
                web=web,
            )

    def _source(self, name: str) -> Source:
        from dragoman.sources.graph import SourceGraph

        return SourceGraph(self.sources)[name]

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
        kept = self.store.traces(self.scope(user), dialogue)
        return tuple(None if trace is None else reply_from_json(trace) for trace in kept)

    def last_reply(self, *, user: str = DEFAULT_USER, dialogue: str = DEFAULT_DIALOGUE) -> Reply | None:
        """The last reply of a dialogue as the store kept it."""
        kept = self.store.trace(self.scope(user), dialogue)
        return None if kept is None else reply_from_json(kept)

    def trace(self, *, user: str = DEFAULT_USER, dialogue: str = DEFAULT_DIALOGUE) -> Trace | None:
        """Why the last reply of a dialogue was given."""
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

    def warm_up(self, *, everything: bool = False) -> None:
        """Begin loading the encoder, which every turn needs, in the background; with `everything`, all models."""
        for part in self._heavy:
            if everything or part is self.encoder:
                self._warming.begin(part)

    def close(self) -> None:
        """Close the store and the models; calling it twice does no harm."""
        self._warming.wait()
        if self.reencoding is not None:
            self.reencoding.stop()
        self.store.close()
        for part in self._heavy:
            close = getattr(part, "close", None)
            if close is not None:
                close()

    def _memory_method(self, name: str) -> Any:
        method = getattr(self.memory, name, None)
        if method is None:
            kind = "no memory" if self.memory is None else f"the memory {type(self.memory).__name__}"
            raise ConfigError(f"This agent has {kind}, which cannot {name}.", remedy="Set memory.kind to rules.")
        return method


def _count(answer: object) -> int:
    """How many rows a memory says it erased: a number, the rows, or what it learned."""
    if isinstance(answer, Learned):
        return len(answer.forgotten)
    if isinstance(answer, int):
        return answer
    return len(answer) if isinstance(answer, Sequence) else 0
