"""Contexts without running turns of a user, for deletions: a running turn could write deleted data back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from dragoman.core.errors import BusyError
from dragoman.server.access.caller import Caller
from dragoman.server.hosted_agent import Hosted
from dragoman.server.turns.forget_requests import Wish
from dragoman.server.turns.turn_queue import TurnQueue

if TYPE_CHECKING:
    from dragoman.server.service_threads import KeyedLocks, ServiceThreads

Line: TypeAlias = tuple[str, ...]
"""The queue of a dialogue: agent, tenant, user and dialogue."""


class QuietTurns:
    """Stops the turns of a user here and on other servers while data of that user is deleted."""

    def __init__(
        self,
        turn_queue: TurnQueue,
        locks: KeyedLocks,
        threads: ServiceThreads,
        forget_ends: Callable[[str, str, str], Awaitable[object]],
    ) -> None:
        """`forget_ends` drops the noted ends of a user's dialogues, by agent, tenant and user."""
        self._turn_queue = turn_queue
        self._locks = locks
        self._threads = threads
        self._forget_ends = forget_ends

    def around(
        self, hosted: Hosted, caller: Caller, line: Line, wish: Wish, *, deletes: bool
    ) -> AbstractAsyncContextManager[None] | None:
        """The context of a turn that deletes data, in which the user's other turns are stopped; None for other turns.

        With `deletes` it stops them on all servers.
        """
        if wish in ("nothing", "everything") or hosted.assistant.memory is None:
            return None
        if wish == "confirmation":
            return self._if_confirmed(hosted, caller, line, deletes=deletes)
        return self.between(hosted, caller, apart=line)

    @asynccontextmanager
    async def _if_confirmed(self, hosted: Hosted, caller: Caller, line: Line, *, deletes: bool) -> AsyncIterator[None]:
        """Stop the user's other turns if this one confirms that everything is deleted.

        Entered when the turn is first in its queue: only then has the turn before it been answered.
        """
        if not await self.is_asked(hosted, caller, line):
            yield
        elif not deletes:  # the turn was sent before the question, so it cannot answer it
            raise BusyError("The question was not answered yet.", remedy="Confirm again.", seconds=1.0)
        else:
            async with self.between(hosted, caller, files=True, apart=line):
                yield

    async def is_asked(self, hosted: Hosted, caller: Caller, line: Line) -> bool:
        """Whether the last reply of a dialogue asked to confirm deleting everything."""
        return await self._threads.look_up(
            lambda: hosted.view(caller.tenant).awaits_confirmation(user=caller.user, dialogue=line[-1])
        )

    @asynccontextmanager
    async def between(
        self, hosted: Hosted, caller: Caller, *, files: bool = False, apart: Line | None = None
    ) -> AsyncIterator[None]:
        """Context without turns of the caller, but for the queue `apart`; with `files`, also without uploads."""
        mine = (hosted.name, caller.tenant, caller.user)
        async with AsyncExitStack() as stack:
            if files:  # first, since an upload may take long and need not stop turns
                await stack.enter_async_context(self._locks.holding("files", *mine))
            await stack.enter_async_context(self._turn_queue.hush(mine, apart=apart))
            await hosted.clear(caller, apart=None if apart is None else str(apart[-1]))
            await self._forget_ends(*mine)
            yield
