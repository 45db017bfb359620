"""The assistant: an agent with a store and a memory, which continues dialogues and keeps users apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dragoman.agent.learning import TurnLearning, latest
from dragoman.agent.turns import MOST_CHARACTERS, WITHHELD, clean, kept_turns, last_turns, with_usage
from dragoman.agent.user_data import DEFAULT_DIALOGUE, DEFAULT_USER, UserData
from dragoman.agent.warm import WarmUp
from dragoman.core.caches import clear_caches
from dragoman.core.clock import stamp
from dragoman.core.control import (
    DEFAULT_CONTROL,
    MemoryMode,
    RetrieveMode,
    TurnControl,
    checked_date,
    sources_with_needs,
)
from dragoman.core.errors import InputError, ServiceError
from dragoman.core.trace import Note, Reply, Trace, reply_from_json, reply_to_json
from dragoman.core.values import (
    Context,
    Receipt,
    Sampling,
    Scope,
    Source,
    Turn,
)
from dragoman.models.compute_slots import claim
from dragoman.models.metering import metered, metered_pieces, turn_meter
from dragoman.text.analyse import forget_texts

if TYPE_CHECKING:
    from typing import Self

    from dragoman.agent.agent import Agent
    from dragoman.agent.reencoding import Reencoding
    from dragoman.core.protocols import Encoder, Memory, Store
    from dragoman.core.workers import Workers
    from dragoman.sources.files import Failure
    from dragoman.sources.ingest import IngestProgress, IngestReport
    from dragoman.sources.upload_folders import UploadFolders
    from dragoman.sources.web.site import WebLimits


@dataclass(frozen=True, slots=True)
class UserTurn:
    """One user turn in one dialogue. `before` are earlier turns from elsewhere; they are stored with this one.

    A turn is stored once per receipt (`under`). `instructions` and `sampling` concern the wording of this reply and are
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


class Assistant(UserData):
    """Agent with a store and a memory, as `dragoman.load` returns it: ask, remember, ingest, close."""

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
        super().__init__(
            store, memory, sources, tenant=tenant, most_characters=most_characters, learn=learn, files=files
        )
        self.agent = agent
        self.model = model
        """The language model; readers may do without it."""
        self.encoder = encoder
        self.name = name
        self.greeting = greeting
        self.examples = tuple(examples)
        self.config = dict(config or {})
        self.unread: tuple[Failure, ...] = ()
        self.reencoding: Reencoding | None = None
        """Replaces stored vectors of another encoder; None where the store does not record whose they are."""
        self._history = history
        self._heavy = tuple(heavy)
        self._folder = folder
        self._warming = warming or WarmUp()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def for_tenant(self, tenant: str) -> Assistant:
        """The same assistant for another tenant, with separate rows and shared models. Closing the first closes both.

        The files that agent.toml declares are ingested for the tenant if they were not yet.
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
        since: str = "",
        until: str = "",
    ) -> Reply:
        """The reply to a turn; both are added to the dialogue.

        `retrieve` is `auto`, `always` or `never` and overrides the gate; `memory` is `on`, `read` or `off`; `sources`
        are the names of those that may be searched; `since` and `until` are the dates ("2026-05-03") between which a
        document is dated and a fact was told. With `keep` false nothing is written to any file, neither turns nor
        facts; later private turns of the same dialogue, in this process, still know them.
        """
        period = checked_date("since", since), checked_date("until", until)
        control = TurnControl(retrieve, memory, keep, None if sources is None else tuple(sources), *period)
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
        if len(asks) == 1:  # with several turns, a call of memory or gate cannot be attributed to one of them
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
        since: str = "",
        until: str = "",
    ) -> Iterator[Note | str | Reply]:
        """Yield notes as they are decided, pieces of text, and last the reply, which is stored before it is yielded.

        The options are those of `ask`.
        """
        period = checked_date("since", since), checked_date("until", until)
        control = TurnControl(retrieve, memory, keep, None if sources is None else tuple(sources), *period)
        for piece in self.exchange(UserTurn(text, user, dialogue, tuple(before), control=control)):
            yield piece.reply if isinstance(piece, Kept) else piece

    def exchange(self, ask: UserTurn) -> Iterator[Note | str | Kept]:
        """Like `stream`, with the position of the reply; turns of one dialogue must not overlap."""
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
            if context.learned.forgotten or context.learned.blanked:  # the dialogue changed meanwhile
                yield Kept(reply, last_turns(self.store, context.scope, ask.dialogue, 0)[1] - 1)
            else:
                yield Kept(reply, length + len(ask.before) + 1)

    def _hold_for(self, ask: UserTurn) -> AbstractContextManager[object]:
        """The context of a turn's writes; a private turn has none."""
        return self.hold(self.scope(ask.user)) if ask.control.keep else nullcontext()

    def _context(self, ask: UserTurn) -> tuple[Context, int]:
        """Return the context of a dialogue for the agent, and the number of its turns so far.

        Only private turns see earlier private turns, since the trace of a stored turn may repeat earlier text.
        """
        scope, control = self.scope(ask.user), ask.control
        if self.reencoding is not None and control.keep:
            self.reencoding.check(scope)
        text = clean(ask.text, most=self._most)
        kept, length = last_turns(self.store, scope, ask.dialogue, self._history)
        if not control.keep:
            private = self._private.turns(scope, ask.dialogue)
            kept, length = (*kept, *private), length + len(private)
        if control.sources is not None:
            control = replace(control, sources=sources_with_needs(control.sources, self.sources))
        earlier = latest((*latest(kept, self._history), *ask.before), self._history)
        turns = (*earlier, Turn("user", text, stamp()))
        context = Context(turns, scope, ask.dialogue, instructions=ask.instructions, control=control)
        return replace(context, sampling=ask.sampling), length

    def _learning(self) -> TurnLearning:
        return TurnLearning(self.agent, self.store, self.memory, self._history, self._learns)

    def answered(self, ask: UserTurn) -> tuple[str, Kept] | None:
        """Return the dialogue and the stored reply of a request that was answered before."""
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

    def _keep(self, context: Context, text: str, reply: Reply, note: Note | None, ask: UserTurn) -> Reply:
        if note is not None:
            reply = replace(reply, trace=Trace((note, *reply.trace.notes)))
        turns = kept_turns(replace(context.turns[-1], text=text), reply)
        if not ask.control.keep:
            self._private.add(context.scope, ask.dialogue, (*ask.before, Turn("user", text), Turn("agent", reply.text)))
            return reply
        once: dict[str, Any] = {} if ask.under is None else {"under": ask.under}
        if turns is None:
            withheld = (Turn("user", WITHHELD), Turn("agent", WITHHELD))
            # The turns before may mention it as well.
            self.store.append(context.scope, context.dialogue, withheld, **once)
            # The caches hold the request itself, which names the deleted fact.
            forget_texts()
            clear_caches(self.encoder, *self._heavy)
        else:
            kept = (*ask.before, *turns)
            self.store.append(context.scope, context.dialogue, kept, reply_to_json(reply), **once)
        return reply

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
        retry: bool = True,
    ) -> IngestReport:
        """Read files, folders, web pages and Git repositories into a source; a private source's rows become the user's.

        With `sync`, what came from files that are gone from the folders is removed. Links that lead out of a folder are
        skipped unless `follow_links` is set. `workers` read and encode. `web` limits what is fetched from addresses.
        Without `retry`, files that were refused before and did not change are not read again.
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
                retry=retry,
            )

    def _source(self, name: str) -> Source:
        from dragoman.sources.graph import SourceGraph

        return SourceGraph(self.sources)[name]

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
