"""The service layer under the API and the page: agents by name, and operations of callers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from dragoman.core.errors import AbsentError, DragomanError, InputError
from dragoman.core.values import SHARED_USER, Source
from dragoman.server.access.caller import LOCAL, NO_LIMITS, Caller, Limits, acting_for, caller_of
from dragoman.server.access.keys import invalid_key, recognise
from dragoman.server.access.ledger import DAY
from dragoman.server.access.quota import QUOTA, Quota
from dragoman.server.data import chats, uploads, user_data
from dragoman.server.data.pending_uploads import sweep
from dragoman.server.hosted_agent import Hosted, Seat
from dragoman.server.http.problems import unconfirmed
from dragoman.server.observe.hooks import Observer, Watch
from dragoman.server.service_threads import KeyedLocks, ServiceThreads
from dragoman.server.turns.dialogue_match import DialogueMatch
from dragoman.server.turns.events import TurnDone
from dragoman.server.turns.fair_share import FairShare
from dragoman.server.turns.forget_requests import asks_to_forget
from dragoman.server.turns.pending_responses import PendingResponses
from dragoman.server.turns.quiet_turns import QuietTurns
from dragoman.server.turns.turn_queue import RunningTurn, TurnQueue
from dragoman.server.turns.turn_runner import CallerTurn, TurnRunner

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant
    from dragoman.server.access.ledger import UsageLedger

_log = logging.getLogger("dragoman.server")
P = ParamSpec("P")
T = TypeVar("T")
_RECEIVING = 32
"""Uploads that come in at once: each may lie on the disk whole before it is read."""
_LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Limits of concurrency and time."""

    workers: int = 8
    queue: int = 64
    turn_seconds: float = 120.0
    grace: float = 30.0
    limits: Limits = NO_LIMITS
    quota: Quota = QUOTA


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
        fair = ledger is not None  # without keys there is a single user, who may use all threads
        self.threads = ServiceThreads(fair=fair)
        self.agents = {
            name: Hosted(name, *parts, self.settings.quota, self.threads.query) for name, parts in agents.items()
        }
        far = {name: hosted.assistant.store for name, hosted in self.agents.items()}
        self.ends = DialogueMatch({name: store.ends for name, store in far.items() if hasattr(store, "ends")})
        self.ledger = ledger
        self.observers = list(observers)
        self.watchers: list[Callable[[Hosted, CallerTurn], Watch]] = []
        s = self.settings
        self.turn_queue = TurnQueue(
            workers=s.workers, queue=s.queue, turn_seconds=s.turn_seconds, fair=fair, slots=self.threads.slots
        )
        self.receiving = FairShare(_RECEIVING)
        self._locks = KeyedLocks()
        self._quiet = QuietTurns(self.turn_queue, self._locks, self.threads, self._forget_ends)
        self._runner = TurnRunner(ledger, self.observers, most_bytes=self.settings.quota.user_chat_bytes)
        self.pending_responses = PendingResponses()
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
        work = partial(self._runner.events, hosted, caller, ask, began, watches=watches, after=after)
        submit = partial(self.turn_queue.submit, line, eager=eager, whose=caller.whose)
        async with self.alone("line", *line):  # turns have the same order here and across servers
            if not ask.control.keep:  # it deletes nothing, and other servers do not know its dialogue
                return submit(partial(work, is_counted=False))
            # In a thread even for short texts, since users' text is never parsed on the event loop.
            wish = await self.threads.parse(asks_to_forget, ask.text, caller.whose)
            if not ask.control.writes_memory:
                wish = "nothing"
            deletes = wish == "something" or (
                wish == "confirmation" and await self._quiet.is_asked(hosted, caller, line)
            )
            around = self._quiet.around(hosted, caller, line, wish, deletes=deletes)
            # A caller without storage left can still delete.
            work = partial(work, is_counted=wish == "nothing")
            if hosted.usher is None:
                return submit(work, around=around)
            standing = await hosted.stand(caller, ask.dialogue, forgets=deletes)
            try:
                return submit(partial(work, place=standing.place), standing=standing, around=around)
            except BaseException:
                standing.leave(kept=False)
                raise

    async def admit(self, caller: Caller) -> None:
        """Count a turn, or an operation of similar cost, against the caller's limits."""
        if self.ledger is not None and caller.limits != NO_LIMITS:
            # In a thread even with a local ledger, since it writes and may wait for other writers.
            await self.threads.query(partial(self.ledger.admit, caller.key, caller.limits, time.time()))

    # Everything else

    async def do(
        self, caller: Caller, agent: str, chore: Callable[Concatenate[Seat, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function for a caller in a thread; raises an error if too many run already."""
        hosted = self.hosted(agent)
        # In the thread too, since creating a new tenant's seat takes long.
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
        with self.threads.reading.holding(caller.whose, seconds=10.0):
            async with self.alone("files", hosted.name, caller.tenant, owner):
                return await self.threads.ingest(
                    lambda: chore(hosted.seat(caller), declared, *args, **kwargs), caller.whose
                )

    async def forgetting(
        self, caller: Caller, agent: str, chore: Callable[Concatenate[Seat, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function that deletes data between the caller's turns: a running one could write back what it has read.

        Running turns are cancelled, and none starts until the function is done.
        """
        async with self._quiet.between(self.hosted(agent), caller):
            return await self.do(caller, agent, chore, *args, **kwargs)

    async def forget_everything(self, caller: Caller, agent: str, *, confirmed: bool) -> user_data.EverythingErased:
        """Delete everything of the caller, while no turn runs and no file is ingested; returns how much and a receipt.

        Raises an error that says what would be deleted unless `confirmed`.
        """
        if not confirmed:
            raise unconfirmed(await self.do(caller, agent, user_data.erasure))
        async with self._quiet.between(self.hosted(agent), caller, files=True):
            return await self.do(caller, agent, user_data.forget_everything)

    async def forget_dialogue(self, caller: Caller, agent: str, dialogue: str) -> int:
        """Delete a dialogue and cancel its running turns on all servers; returns the number of turns."""
        hosted = self.hosted(agent)
        mine = (hosted.name, caller.tenant, caller.user)
        async with self.alone(*mine), self.turn_queue.hush((*mine, dialogue)):
            await hosted.clear(caller, dialogue)
            removed = await self.do(caller, agent, chats.forget_chat, dialogue)
        self.later(lambda: self.ends.drop(mine, dialogue))  # the dialogue cannot be continued any more
        self.pending_responses.clear(mine)
        return removed

    def alone(self, *what: Hashable) -> AbstractAsyncContextManager[None]:
        """Lock by key for a block, so that read-modify-write operations do not overlap."""
        return self._locks.holding(*what)

    async def call(self, function: Callable[[], T], *, whose: str | None = None) -> T:
        """Run a slow function in a thread; it counts against the share of `whose`."""
        return await self.threads.chore(function, whose=whose)

    async def _counted(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the ledger: directly if it is near, else in a thread."""
        if self.ledger is None or self.ledger.is_near:
            return function(*args, **kwargs)
        return await self.threads.query(lambda: function(*args, **kwargs))

    async def near_or_far(self, agent: str, function: Callable[[], T]) -> T:
        """Call the shared state of an agent's dialogues: directly, or in a thread if it is remote."""
        return function() if self.ends.is_near(self.hosted(agent).name) else await self.threads.query(function)

    async def _forget_ends(self, agent: str, tenant: str, user: str) -> None:
        self.pending_responses.clear((agent, tenant, user))
        await self.near_or_far(agent, lambda: self.ends.clear(agent, tenant, user))

    def later(self, function: Callable[[], object]) -> None:
        """Run a small function without waiting for it: now, or in a thread if it may use the network."""
        if all(self.ends.is_near(name) for name in self.agents):
            function()
        else:
            self.threads.submit(function)

    async def mind_keys(self) -> None:
        """Cancel running turns of revoked keys, as long as the server runs."""
        while self.ledger is not None:
            await asyncio.sleep(_LOOK_SECONDS)
            for key in self.turn_queue.callers():
                try:
                    entry = await self._counted(self.ledger.find, str(key))
                except DragomanError:
                    continue  # the next caller gets the ledger's error
                if entry is None or entry[0].revoked is not None:
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
            # Other servers may share the folder, so spare files that are less than a day old.
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
        """Whether something still runs after `close`: a slow ingestion, or a model in a turn that was given up."""
        return self.threads.is_busy or self.turn_queue.is_busy

    async def close(self) -> None:
        """Finish the turns, then close the agents. A running ingestion gets a moment, then is abandoned."""
        self.ready = False
        await self.turn_queue.close(self.settings.grace)
        for hosted in self.agents.values():
            if hosted.usher is not None:
                await hosted.usher.close()
        self.threads.close()
        for hosted in self.agents.values():
            for assistant in (*hosted.models.values(), hosted.assistant):
                assistant.close()
        if self.ledger is not None:
            self.ledger.close()


def _recover(hosted: Hosted) -> None:
    """Finish or undo the uploads that a killed server left."""
    settled = uploads.recover(hosted.seat_of, hosted.state)
    if settled:
        _log.info("%d unfinished uploads were settled", settled)


def _warm(assistant: Assistant) -> None:
    """Load the encoder now, so that the first turn does not wait; the rest in the background."""
    assistant.encoder.encode(["ready"])
    assistant.warm_up(everything=True)
