"""The service layer under the API and the page: agents by name, and operations of callers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Generator, Hashable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from dragoman.agent.assistant import UserTurn as Said
from dragoman.core.control import DEFAULT_CONTROL, TurnControl
from dragoman.core.errors import AbsentError, BusyError, DragomanError, InputError, StoreError
from dragoman.core.trace import Note, Reply
from dragoman.core.values import SHARED_USER, Receipt, Source, Turn, Usage
from dragoman.server.access.caller import LOCAL, NO_LIMITS, Caller, Limits, acting_for, caller_of
from dragoman.server.access.keys import invalid_key, recognise
from dragoman.server.access.ledger import DAY
from dragoman.server.access.quota import QUOTA, ChatUsage, Quota
from dragoman.server.data import chats, uploads, user_data
from dragoman.server.data.pending_uploads import sweep
from dragoman.server.hosted_agent import Hosted, Seat
from dragoman.server.http.problems import unconfirmed
from dragoman.server.turns.dialogue_match import DialogueMatch
from dragoman.server.turns.events import Event, Text, Toll, TurnDone, again, decided, usage_of
from dragoman.server.turns.fair_pool import FairPool
from dragoman.server.turns.fair_share import FairShare
from dragoman.server.turns.forget_requests import Wish, asks_to_forget
from dragoman.server.turns.turn_queue import RunningTurn, TurnQueue

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant
    from dragoman.server.access.ledger import UsageLedger

_log = logging.getLogger("dragoman.server")
P = ParamSpec("P")
T = TypeVar("T")
_CHORES, _WAITING_CHORES = 4, 64
_TRACE_BYTES = 4000
_RECEIVING = 32
"""Uploads that come in at once: each may lie on the disk whole before it is read."""
_LAST_SECONDS = 5.0
_LOOK_SECONDS = 1.0
_ASKERS, _WAITING_ASKERS = 4, 1024
_PARSERS = 2
"""Threads that read whether a turn asks to forget, before it stands in line."""
_READERS, _WAITING_READERS = 2, 512
"""Files are read by threads of their own: one that takes hours must not keep everybody from everything else."""


@dataclass(frozen=True, slots=True)
class CallerTurn:
    """One user turn. `before` holds the earlier turns of a dialogue held elsewhere.

    `request` is the caller's id of the request: a repeated request gets the same answer and is not executed twice.
    `instructions` concern the wording of the reply, where a model writes it. `control` says whether to search, how
    memory is used, and whether anything is kept; a private turn is not replayed. `model` is a language model that the
    server allows instead of the agent's.
    """

    text: str
    agent: str = ""
    dialogue: str = "main"
    before: tuple[Turn, ...] = ()
    request: str = ""
    instructions: str = ""
    control: TurnControl = DEFAULT_CONTROL
    model: str = ""

    @property
    def bytes(self) -> int:
        """About how many bytes the turn takes up when it is stored, with the turns before it."""
        return sum(len(text.encode("utf-8", "replace")) for text in (self.text, *(turn.text for turn in self.before)))


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Limits of concurrency and time."""

    workers: int = 8
    queue: int = 64
    turn_seconds: float = 120.0
    grace: float = 30.0
    limits: Limits = NO_LIMITS
    quota: Quota = QUOTA


class Observer(Protocol):
    """Hook for metrics: called for every finished turn, in the thread that ran it."""

    def turn_ended(self, agent: str, done: TurnDone | None, error: BaseException | None, seconds: float) -> None: ...


class Watch(Protocol):
    """Hook for spans: follows one turn in the thread that runs it."""

    def noted(self, note: Note) -> None:
        """Called after each note of a role."""
        ...

    def ended(self, done: TurnDone | None, error: BaseException | None) -> None: ...


class Service:
    """Agents, keys and turns. Create it on any thread, use it on one event loop."""

    def __init__(
        self,
        agents: Mapping[str, tuple[Assistant, Path]],
        *,
        ledger: UsageLedger | None = None,
        settings: ServiceSettings | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        if not agents:
            raise InputError("There is no agent to serve.", remedy="Name at least one.")
        self.settings = settings or ServiceSettings()
        self.agents = {name: Hosted(name, *given, self.settings.quota, self._far) for name, given in agents.items()}
        far = {name: hosted.assistant.store for name, hosted in self.agents.items()}
        self.ends = DialogueMatch({name: store.ends for name, store in far.items() if hasattr(store, "ends")})
        self.ledger = ledger
        self.observers = list(observers)
        self.watchers: list[Callable[[Hosted, CallerTurn], Watch]] = []
        s = self.settings
        fair = ledger is not None  # without keys there is one user, who may have all threads
        self.turn_queue = TurnQueue(workers=s.workers, queue=s.queue, turn_seconds=s.turn_seconds, fair=fair)
        self._chores = FairPool(_CHORES, "dragoman-chore", fair=fair)
        self._waiting = FairShare(_WAITING_CHORES)
        self.receiving = FairShare(_RECEIVING)
        self._askers = FairPool(_ASKERS, "dragoman-asker", fair=False)
        self._asking = FairShare(_WAITING_ASKERS)
        self._parsers = FairPool(_PARSERS, "dragoman-parser", fair=fair)
        self._readers = FairPool(_READERS, "dragoman-reader", fair=fair)
        self._reading = FairShare(_WAITING_READERS)
        self._running: set[Future[Any]] = set()
        self._held: dict[tuple[Hashable, ...], tuple[asyncio.Lock, int]] = {}
        self._chats = ChatUsage()
        self._made = time.time()
        self.ready = False

    # Who

    async def caller(self, credential: str | None, acting: str | None = None) -> Caller:
        """The caller of a credential; without a ledger, the local user."""
        if self.ledger is None:
            caller = LOCAL if self.settings.limits is NO_LIMITS else replace(LOCAL, limits=self.settings.limits)
        else:
            key = await self._counted(recognise, self.ledger, credential or "")
            caller = caller_of(key, limits=self.settings.limits)
        return caller if acting is None else acting_for(caller, acting)

    def hosted(self, agent: str) -> Hosted:
        """An agent by name; the first one by default."""
        if not agent:
            return next(iter(self.agents.values()))
        if agent not in self.agents:
            raise AbsentError(
                f"There is no model '{agent[:80]}' here.",
                remedy=f"Available: {', '.join(self.agents)}.",
                code="unknown-model",
            )
        return self.agents[agent]

    # Turns

    async def begin(
        self, caller: Caller, ask: CallerTurn, *, eager: bool = True, after: Callable[[TurnDone], None] | None = None
    ) -> RunningTurn:
        """Start a turn; iterate over it for its events. Raises an error at once if a limit or the queue is exceeded.

        Without `eager` the events come together at the end, which is cheaper. `after` is called in the thread that ran
        the turn once it is stored, before its end is announced.
        """
        hosted = self.hosted(ask.agent)
        hosted.check_model(ask.model)
        self.turn_queue.check(caller.whose)
        await self.admit(caller)
        line = (hosted.name, caller.tenant, caller.user, ask.dialogue)
        began = perf_counter()
        watches = [watch(hosted, ask) for watch in self.watchers]
        work = partial(self._turn, hosted, caller, ask, began, watches=watches, after=after)
        submit = partial(self.turn_queue.submit, line, eager=eager, whose=caller.whose)
        async with self.alone("line", *line):  # here and over all servers turns stand in the same order
            if not ask.control.keep:  # it deletes nothing, and other servers do not know its dialogue
                return submit(partial(work, is_counted=False))
            # In a thread, however short the text is: nothing that a user wrote is parsed on the event loop.
            wish = await self._in(self._parsers, partial(asks_to_forget, ask.text), caller.whose)
            if not ask.control.writes_memory:
                wish = "nothing"
            deletes = wish == "something" or (wish == "confirmation" and await self._is_asked(hosted, caller, line))
            around = self._silence(hosted, caller, line, wish, deletes=deletes)
            # Who has no room left can still ask to forget.
            work = partial(work, is_counted=wish == "nothing")
            if hosted.usher is None:
                return submit(work, around=around)
            standing = await hosted.stand(caller, ask.dialogue, forgets=deletes)
            try:
                return submit(partial(work, place=standing.place), standing=standing, around=around)
            except BaseException:
                standing.leave(kept=False)
                raise

    def _silence(
        self, hosted: Hosted, caller: Caller, line: tuple[str, ...], wish: Wish, *, deletes: bool
    ) -> AbstractAsyncContextManager[None] | None:
        """The context of a turn that deletes data, in which the user's other turns are stopped; None for other turns.

        With `deletes` it stops them on all servers.
        """
        if wish in ("nothing", "everything") or hosted.assistant.memory is None:
            return None
        if wish == "confirmation":
            return self._if_confirmed(hosted, caller, line, deletes=deletes)
        return self._between_turns(hosted, caller, apart=line)

    @asynccontextmanager
    async def _if_confirmed(
        self, hosted: Hosted, caller: Caller, line: tuple[str, ...], *, deletes: bool
    ) -> AsyncIterator[None]:
        """Stop the user's other turns if this one confirms that everything is deleted.

        Entered when the turn is first in its queue: only then has the turn before it been answered.
        """
        if not await self._is_asked(hosted, caller, line):
            yield
        elif not deletes:  # sent before the question was there, so it cannot answer it
            raise BusyError("The question was not answered yet.", remedy="Confirm again.", seconds=1.0)
        else:
            async with self._between_turns(hosted, caller, files=True, apart=line):
                yield

    async def _is_asked(self, hosted: Hosted, caller: Caller, line: tuple[str, ...]) -> bool:
        """Whether the last reply of a dialogue asked to confirm deleting everything."""
        return await self._in(
            self._askers,
            lambda: hosted.view(caller.tenant).awaits_confirmation(user=caller.user, dialogue=line[-1]),
        )

    async def admit(self, caller: Caller) -> None:
        """Count a turn, or an operation of similar cost, against the caller's limits."""
        if self.ledger is not None and caller.limits != NO_LIMITS:
            await self._counted(self.ledger.admit, caller.key, caller.limits, time.time())

    def _turn(
        self,
        hosted: Hosted,
        caller: Caller,
        ask: CallerTurn,
        began: float,
        *,
        watches: Sequence[Watch] = (),
        after: Callable[[TurnDone], None] | None = None,
        place: Receipt | None = None,
        is_counted: bool = True,
    ) -> Generator[Event]:
        """The events of a turn, in a worker thread."""
        assistant = hosted.answering(caller.tenant, ask.model)
        done: TurnDone | None = None
        failure: BaseException | None = None
        toll = Toll(ask.text, ask.before)
        under = replace(place or Receipt(), request=ask.request) if ask.request or place else None
        said = Said(ask.text, caller.user, ask.dialogue, ask.before, under, ask.instructions, ask.control)
        try:
            if ask.request and ask.control.keep and (found := assistant.answered(said)) is not None:
                dialogue, kept = found
                usage, seconds = usage_of(kept.reply), perf_counter() - began
                done = TurnDone(kept.reply, hosted.name, dialogue, kept.place, usage, seconds, replayed=True)
                yield from again(done)
                return
            scope, most = assistant.scope(caller.user), self.settings.quota.user_chat_bytes
            self._chats.check(assistant.store, scope, ask.bytes, most if is_counted else None)
            for piece in assistant.exchange(said):
                toll.take(piece)
                if isinstance(piece, str):
                    yield Text(piece)
                elif isinstance(piece, Note):
                    for watch in watches:
                        watch.noted(piece)
                    event = decided(piece)
                    if event is not None:
                        yield event
                else:
                    seconds, usage = perf_counter() - began, usage_of(piece.reply)
                    done = TurnDone(piece.reply, hosted.name, ask.dialogue, piece.place, usage, seconds)
                    self._spend(caller, usage)
                    self._chats.add(scope, _trace_bytes(piece.reply) if ask.control.keep else 0)
                    if after is not None:
                        after(done)
                    yield done
        except BaseException as error:
            failure = error
            raise
        finally:
            self._spend_rest(caller, done, toll)
            for observer in self.observers:
                observer.turn_ended(hosted.name, done, failure, perf_counter() - began)
            for watch in watches:
                watch.ended(done, failure)

    def _spend(self, caller: Caller, usage: Usage) -> None:
        """Count the tokens of a stored turn; a ledger that fails does not fail the turn."""
        if self.ledger is not None:
            try:
                self.ledger.spend(caller.key, usage.total_tokens, time.time())
            except StoreError as error:
                _log.warning("the tokens of a turn were not counted: %s", type(error).__name__)

    def _spend_rest(self, caller: Caller, done: TurnDone | None, toll: Toll) -> None:
        """Count the tokens of a cancelled turn: its client may have read most of the reply."""
        if done is None and toll.usage.calls:
            self._spend(caller, toll.usage)

    # Everything else

    async def do(
        self, caller: Caller, agent: str, chore: Callable[Concatenate[Seat, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function for a caller in a thread; raises an error if too many run already."""
        hosted = self.hosted(agent)
        # In the thread too: a new tenant's seat takes long.
        return await self.call(lambda: chore(hosted.seat(caller), *args, **kwargs), whose=caller.whose)

    async def read_in(
        self,
        caller: Caller,
        agent: str,
        source: str,
        chore: Callable[Concatenate[Seat, Source, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run a function that ingests or deletes files of a source.

        Such functions run one at a time per user, and per tenant for shared sources.
        """
        hosted = self.hosted(agent)
        declared = hosted.source(source)
        owner = caller.user if declared.private else SHARED_USER
        with self._reading.holding(caller.whose, seconds=10.0):
            async with self.alone("files", hosted.name, caller.tenant, owner):
                return await self._in(
                    self._readers, lambda: chore(hosted.seat(caller), declared, *args, **kwargs), caller.whose
                )

    async def forgetting(
        self, caller: Caller, agent: str, chore: Callable[Concatenate[Seat, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function that deletes data between the caller's turns: a running one could write back what it has read.

        Running turns are cancelled, and none starts until the function is done.
        """
        async with self._between_turns(self.hosted(agent), caller):
            return await self.do(caller, agent, chore, *args, **kwargs)

    async def forget_everything(self, caller: Caller, agent: str, *, confirmed: bool) -> int:
        """Delete everything of the caller, while no turn runs and no file is ingested; returns how much.

        Raises an error that says what would be deleted unless `confirmed`.
        """
        if not confirmed:
            raise unconfirmed(await self.do(caller, agent, user_data.erasure))
        async with self._between_turns(self.hosted(agent), caller, files=True):
            return await self.do(caller, agent, user_data.forget_everything)

    async def forget_dialogue(self, caller: Caller, agent: str, dialogue: str) -> int:
        """Delete a dialogue and cancel its running turns on all servers; returns the number of turns."""
        hosted = self.hosted(agent)
        mine = (hosted.name, caller.tenant, caller.user)
        async with self.alone(*mine), self.turn_queue.hush((*mine, dialogue)):
            await hosted.clear(caller, dialogue)
            removed = await self.do(caller, agent, chats.forget_chat, dialogue)
        self.later(lambda: self.ends.drop(mine, dialogue))  # nobody goes on with it
        return removed

    @asynccontextmanager
    async def _between_turns(
        self, hosted: Hosted, caller: Caller, *, files: bool = False, apart: tuple[str, ...] | None = None
    ) -> AsyncIterator[None]:
        """Context without turns of the caller, but for the queue `apart`; with `files`, also without uploads."""
        mine = (hosted.name, caller.tenant, caller.user)
        async with AsyncExitStack() as held:
            if files:  # first: an upload may take long, and nobody need be silent for it
                await held.enter_async_context(self.alone("files", *mine))
            await held.enter_async_context(self.turn_queue.hush(mine, apart=apart))
            await hosted.clear(caller, apart=None if apart is None else str(apart[-1]))
            await self.near_or_far(hosted.name, lambda: self.ends.clear(*mine))
            yield

    @asynccontextmanager
    async def alone(self, *what: Hashable) -> AsyncIterator[None]:
        """Lock by key for a block, so that read-modify-write operations do not overlap."""
        lock, waiting = self._held.get(what, (None, 0))
        lock = lock or asyncio.Lock()
        self._held[what] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._held[what]
            if waiting > 1:
                self._held[what] = (lock, waiting - 1)
            else:
                del self._held[what]

    async def call(self, function: Callable[[], T], *, whose: str | None = None) -> T:
        """Run a slow function in a thread; it counts against the share of `whose`."""
        with self._waiting.holding(whose, seconds=2.0):
            return await self._in(self._chores, function, whose)

    async def _in(self, pool: FairPool, function: Callable[[], T], whose: str | None = None) -> T:
        """Run a function in a thread, tracked even if its caller stops waiting."""
        running = pool.submit(function, whose=whose)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return await asyncio.wrap_future(running)

    async def _counted(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the ledger: directly if it is near, else in a thread."""
        if self.ledger is None or self.ledger.is_near:
            return function(*args, **kwargs)
        return await self._far(lambda: function(*args, **kwargs))

    async def near_or_far(self, agent: str, function: Callable[[], T]) -> T:
        """Call the shared state of an agent's dialogues: directly, or in a thread if it is remote."""
        return function() if self.ends.is_near(self.hosted(agent).name) else await self._far(function)

    def later(self, function: Callable[[], object]) -> None:
        """Run a small function without waiting for it: now, or in a thread if it may use the network."""
        if all(self.ends.is_near(name) for name in self.agents):
            function()
        else:
            running = self._askers.submit(function)
            self._running.add(running)
            running.add_done_callback(self._running.discard)

    async def _far(self, function: Callable[[], T]) -> T:
        """Run a statement on the shared database in a separate thread pool, so that other work does not delay it."""
        with self._asking.holding(None, seconds=2.0):
            return await self._in(self._askers, function)

    async def mind_keys(self) -> None:
        """Cancel running turns of revoked keys, as long as the server runs."""
        while self.ledger is not None:
            await asyncio.sleep(_LOOK_SECONDS)
            for key in self.turn_queue.callers():
                try:
                    found = await self._counted(self.ledger.find, str(key))
                except DragomanError:
                    continue  # whoever calls next is told what is wrong with the ledger
                if found is None or found[0].revoked is not None:
                    self.turn_queue.end(key, invalid_key())

    async def warm_up(self) -> None:
        """Load the models before the first turn; then `ready` is true."""
        for hosted in self.agents.values():
            await self.call(lambda hosted=hosted: _warm(hosted.assistant))  # type: ignore[misc]  # early binding
            if hosted.lines is not None:
                await self.call(hosted.lines.open)
            await self.call(lambda hosted=hosted: _recover(hosted))  # type: ignore[misc]  # early binding
        self.ready = True
        for hosted in self.agents.values():
            # Other servers may share the folder: what they are about to read is not a day old.
            since = self._made if hosted.lines is None else self._made - DAY
            await self.call(lambda hosted=hosted, since=since: sweep(hosted.state, since))  # type: ignore[misc]  # early

    @property
    def is_seen(self) -> bool:
        """Whether this server is registered in the shared databases."""
        return not any(hosted.lines is not None and hosted.lines.is_lost for hosted in self.agents.values())

    def step_back(self) -> None:
        """Report not ready on /readyz; turns are still accepted."""
        self.ready = False

    @property
    def is_left_undone(self) -> bool:
        """Whether something still runs after `close`, such as a slow ingestion."""
        return any(not running.done() for running in tuple(self._running))

    async def close(self) -> None:
        """Finish the turns, then close the agents. A running ingestion gets a moment, then is abandoned."""
        self.ready = False
        await self.turn_queue.close(self.settings.grace)
        for hosted in self.agents.values():
            if hosted.usher is not None:
                await hosted.usher.close()
        for pool in (self._chores, self._readers, self._askers, self._parsers):
            pool.shutdown(wait=False, cancel_futures=True)
        wait(tuple(self._running), timeout=_LAST_SECONDS)
        for hosted in self.agents.values():
            for assistant in (*hosted.models.values(), hosted.assistant):
                assistant.close()
        if self.ledger is not None:
            self.ledger.close()


def _trace_bytes(reply: Reply) -> int:
    """About how many bytes a reply takes up in the store: its trace repeats the evidence in the notes."""
    return len(reply.text) + 3 * sum(len(piece.passage.text) for piece in reply.evidence) + _TRACE_BYTES


def _recover(hosted: Hosted) -> None:
    """Finish or undo the uploads that a killed server left."""
    settled = uploads.recover(hosted.seat_of, hosted.state)
    if settled:
        _log.info("%d unfinished uploads were settled", settled)


def _warm(assistant: Assistant) -> None:
    """Load the encoder now, so that the first turn does not wait; the rest in the background."""
    assistant.encoder.encode(["ready"])
    assistant.warm_up(everything=True)
