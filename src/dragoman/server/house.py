"""The service layer: the agents by name, and what callers may do with them. The API and the page stand on it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Generator, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from dragoman.agent.assistant import Ask as Said
from dragoman.core.errors import AbsentError, BusyError, InputError
from dragoman.core.trace import Note
from dragoman.core.values import Scope, Turn
from dragoman.server.caller import LOCAL, NO_LIMITS, Caller, Limits, acting_for, caller_of
from dragoman.server.desk import Desk, Run
from dragoman.server.events import Done, Event, Text, decided, usage_of
from dragoman.server.keys import recognise

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant
    from dragoman.server.ledger import Ledger

P = ParamSpec("P")
T = TypeVar("T")
_CHORES, _WAITING_CHORES = 4, 64
_READERS, _WAITING_READERS = 2, 512
"""Files are read by threads of their own: one that takes hours must not keep everybody from everything else."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One user turn. `before` begins a dialogue that the caller has held elsewhere."""

    text: str
    agent: str = ""
    dialogue: str = "main"
    before: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """How much the house takes on at once."""

    workers: int = 8
    queue: int = 64
    turn_seconds: float = 120.0
    grace: float = 30.0
    limits: Limits = NO_LIMITS


@dataclass(frozen=True, slots=True)
class Seat:
    """An agent as one caller may use it: everything that a chore is given."""

    agent: str
    assistant: Assistant
    user: str
    admin: bool
    state: Path

    @property
    def scope(self) -> Scope:
        return self.assistant.scope(self.user)


class Hosted:
    """An agent that lives here, with a view for each tenant."""

    def __init__(self, name: str, assistant: Assistant, state: Path) -> None:
        self.name = name
        self.assistant = assistant
        self.state = state
        self._views = {assistant.tenant: assistant}
        self._lock = Lock()

    def view(self, tenant: str) -> Assistant:
        """The assistant of a tenant; the first time, its declared files are read."""
        known = self._views.get(tenant or self.assistant.tenant)
        if known is not None:
            return known
        with self._lock:
            if tenant not in self._views:
                self._views[tenant] = self.assistant.for_tenant(tenant)
            return self._views[tenant]

    def seat(self, caller: Caller) -> Seat:
        return Seat(self.name, self.view(caller.tenant), caller.user, caller.admin, self.state)


class Observer(Protocol):
    """Told of every turn that ended, in the thread that ran it: metrics."""

    def turn_ended(self, agent: str, done: Done | None, error: BaseException | None, seconds: float) -> None: ...


class Watch(Protocol):
    """Follows one turn, in the thread that runs it: spans."""

    def noted(self, note: Note) -> None:
        """A role has just decided."""
        ...

    def ended(self, done: Done | None, error: BaseException | None) -> None: ...


class House:
    """Agents, keys and turns. Made on any thread, used on one event loop."""

    def __init__(
        self,
        agents: Mapping[str, tuple[Assistant, Path]],
        *,
        ledger: Ledger | None = None,
        settings: Settings | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        if not agents:
            raise InputError("There is no agent to serve.", remedy="Name at least one.")
        self.agents = {name: Hosted(name, *given) for name, given in agents.items()}
        self.settings = settings or Settings()
        self.ledger = ledger
        self.observers = list(observers)
        self.watchers: list[Callable[[Hosted, Ask], Watch]] = []
        s = self.settings
        self.desk = Desk(workers=s.workers, queue=s.queue, turn_seconds=s.turn_seconds)
        self._chores = ThreadPoolExecutor(_CHORES, "dragoman-chore")
        self._waiting = 0
        self._readers = ThreadPoolExecutor(_READERS, "dragoman-reader")
        self._reading = 0
        self._held: dict[tuple[Hashable, ...], tuple[asyncio.Lock, int]] = {}
        self.ready = False

    # Who

    async def caller(self, credential: str | None, acting: str | None = None) -> Caller:
        """Whom a credential stands for; without a ledger everybody is the local user."""
        if self.ledger is None:
            caller = LOCAL if self.settings.limits is NO_LIMITS else replace(LOCAL, limits=self.settings.limits)
        else:
            key = await self._counted(recognise, self.ledger, credential or "")
            caller = caller_of(key, limits=self.settings.limits)
        return caller if acting is None else acting_for(caller, acting)

    def hosted(self, agent: str) -> Hosted:
        """An agent by name; the first one where none is named."""
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

    async def begin(self, caller: Caller, ask: Ask, *, eager: bool = True) -> Run:
        """Take a turn in: iterate over what it gives. Refused at once where limits or the queue say so.

        Without `eager` the events come together at the end, which costs less where nobody reads them before.
        """
        hosted = self.hosted(ask.agent)
        self.desk.check()
        await self.admit(caller)
        line = (hosted.name, caller.tenant, caller.user, ask.dialogue)
        began = perf_counter()
        watches = [watch(hosted, ask) for watch in self.watchers]
        return self.desk.submit(line, lambda: self._turn(hosted, caller, ask, began, watches), eager=eager)

    async def admit(self, caller: Caller) -> None:
        """Count a turn, or what costs as much as one, against the caller's limits."""
        if self.ledger is not None and caller.limits != NO_LIMITS:
            await self._counted(self.ledger.admit, caller.key, caller.limits, time.time())

    def _turn(
        self, hosted: Hosted, caller: Caller, ask: Ask, began: float, watches: Sequence[Watch] = ()
    ) -> Generator[Event]:
        """The events of a turn, in a worker thread."""
        assistant = hosted.view(caller.tenant)
        done: Done | None = None
        failure: BaseException | None = None
        try:
            for piece in assistant.exchange(Said(ask.text, caller.user, ask.dialogue, ask.before)):
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
                    done = Done(piece.reply, hosted.name, ask.dialogue, piece.place, usage, seconds)
                    if self.ledger is not None:
                        tokens = done.usage.prompt_tokens + done.usage.completion_tokens
                        self.ledger.spend(caller.key, tokens, time.time())
                    yield done
        except BaseException as error:
            failure = error
            raise
        finally:
            for observer in self.observers:
                observer.turn_ended(hosted.name, done, failure, perf_counter() - began)
            for watch in watches:
                watch.ended(done, failure)

    # Everything else

    async def do(
        self, caller: Caller, agent: str, chore: Callable[Concatenate[Seat, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Let a chore run for a caller in a thread; too many at once are refused."""
        hosted = self.hosted(agent)
        return await self.call(lambda: chore(hosted.seat(caller), *args, **kwargs))  # a new tenant's seat takes long

    async def read_in(
        self, caller: Caller, agent: str, chore: Callable[Concatenate[Seat, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Let a chore that reads files run: those of one user one after the other, so that none holds up all."""
        hosted = self.hosted(agent)
        if self._reading >= _WAITING_READERS:
            raise BusyError("Too many files are being read already.", remedy="Try again in a moment.", seconds=10.0)
        self._reading += 1
        try:
            async with self.alone("files", hosted.name, caller.tenant, caller.user):
                return await asyncio.get_running_loop().run_in_executor(
                    self._readers, lambda: chore(hosted.seat(caller), *args, **kwargs)
                )
        finally:
            self._reading -= 1

    async def forgetting(
        self, caller: Caller, agent: str, chore: Callable[Concatenate[Seat, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Let a chore that erases run between the caller's turns: one that runs would keep what it has read before.

        Turns that run are ended, and until the chore is done none begins.
        """
        hosted = self.hosted(agent)
        async with self.desk.hush((hosted.name, caller.tenant, caller.user)):
            return await self.do(caller, agent, chore, *args, **kwargs)

    @asynccontextmanager
    async def alone(self, *what: Hashable) -> AsyncIterator[None]:
        """Hold something for the length of a block: a change that reads first must not meet another one."""
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

    async def call(self, function: Callable[[], T]) -> T:
        """Run something that takes a while in a thread."""
        if self._waiting >= _WAITING_CHORES:
            raise BusyError("Too much is being done already.", remedy="Try again in a moment.", seconds=2.0)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._chores, function)
        finally:
            self._waiting -= 1

    async def _counted(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Ask the ledger: here where it is near, in a thread where it is not."""
        if self.ledger is None or self.ledger.is_near:
            return function(*args, **kwargs)
        return await self.call(lambda: function(*args, **kwargs))

    async def warm_up(self) -> None:
        """Load what every turn needs, before the first one; `ready` says that it is there."""
        for hosted in self.agents.values():
            await self.call(lambda hosted=hosted: _warm(hosted.assistant))  # type: ignore[misc]  # early binding
        self.ready = True

    async def close(self) -> None:
        """Finish the turns, then let go of the agents."""
        self.ready = False
        await self.desk.close(self.settings.grace)
        for pool in (self._chores, self._readers):
            pool.shutdown(wait=True, cancel_futures=True)
        for hosted in self.agents.values():
            hosted.assistant.close()
        if self.ledger is not None:
            self.ledger.close()


def _warm(assistant: Assistant) -> None:
    """The encoder now, so that the first turn does not wait; the rest in the background."""
    assistant.encoder.encode(["ready"])
    assistant.warm_up(everything=True)
