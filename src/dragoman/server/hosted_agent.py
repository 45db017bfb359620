"""Agents hosted by the service, and their views for callers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from dragoman.core.errors import AbsentError
from dragoman.core.values import Scope, Source
from dragoman.server.access.caller import Caller
from dragoman.server.access.quota import Quota, SharedStock, Stock
from dragoman.server.data.chat_settings import count_chats
from dragoman.server.http.problems import absent
from dragoman.server.turns.dialogue_order import DialogueOrder, Standing, Usher
from dragoman.sources.upload_folders import StorageUsage

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant

_FORGETS = "forgets"


@dataclass(frozen=True, slots=True)
class Seat:
    """An agent as one caller may use it; the first argument of functions for `Service.do`."""

    agent: str
    assistant: Assistant
    user: str
    admin: bool
    state: Path
    quota: Quota
    stock: Stock
    models: tuple[str, ...] = ()
    """Language models that the caller may choose."""

    @property
    def scope(self) -> Scope:
        return self.assistant.scope(self.user)

    def source(self, name: str) -> Source:
        """A declared source by name."""
        return _declared(self.assistant, name)


class Hosted:
    """A hosted agent, with a view for each tenant."""

    def __init__(
        self,
        name: str,
        assistant: Assistant,
        state: Path,
        quota: Quota,
        call: Callable[[Callable[[], Any]], Awaitable[Any]],
    ) -> None:
        self.name = name
        self.assistant = assistant
        self.state = state
        self.quota = quota
        usage: StorageUsage | None = getattr(assistant.store, "usage", None)
        self.stock = Stock() if usage is None else SharedStock(usage)
        memory: Any = assistant.memory  # a kind of memory that may have no limit
        if hasattr(memory, "most_facts"):
            memory.most_facts = quota.facts
        if hasattr(memory, "count_chats"):
            memory.count_chats = partial(count_chats, assistant.store)
        if assistant.files is not None:  # erasing all data of a user, here or by a command, finds these
            assistant.files.use(state)
            assistant.files.recount = self.stock.recount
        self._call = call
        self.lines: DialogueOrder | None = getattr(assistant.store, "lines", None)
        self.usher = None if self.lines is None else Usher(self.lines, call)
        self.models: dict[str, Assistant] = {}
        """The same agent with other language models that callers may choose, by name."""
        self._views = {assistant.tenant: assistant}
        self._lock = Lock()

    def view(self, tenant: str) -> Assistant:
        """The assistant of a tenant; the first call ingests the declared files."""
        view = self._views.get(tenant or self.assistant.tenant)
        if view is not None:
            return view
        with self._lock:
            if tenant not in self._views:
                self._views[tenant] = self.assistant.for_tenant(tenant)
            return self._views[tenant]

    def answering(self, tenant: str, model: str = "") -> Assistant:
        """The assistant that answers turns of a tenant, with a language model that the caller chose."""
        view = self.view(tenant)
        if not model:
            return view
        self.check_model(model)
        variant = copy(self.models[model])
        variant.tenant = view.tenant
        return variant

    def check_model(self, model: str) -> None:
        """Raise an error for a language model that this server does not allow."""
        if model and model not in self.models:
            allowed = f"Available: {', '.join(self.models)}." if self.models else "Leave `model` out."
            raise AbsentError(
                f"The language model '{model[:80]}' is not allowed here.", remedy=allowed, code="unknown-model"
            )

    async def stand(self, caller: Caller, dialogue: str, *, forgets: bool = False) -> Standing:
        """Queue a turn of a dialogue across all servers; released if nobody waits for it any more.

        With `forgets` the turn cancels the user's other turns, and keeps its own place.
        """
        assert self.lines is not None and self.usher is not None
        lines, usher, whose = self.lines, self.usher, self._whose(caller)
        under = (*whose, _FORGETS) if forgets else whose
        taking = asyncio.ensure_future(self._call(lambda: lines.take((*whose, dialogue), under)))
        try:
            place, first = await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(lambda taken: _unwanted(usher, taken))
            raise
        return Standing(usher, place, first=first)

    async def clear(self, caller: Caller, dialogue: str | None = None, *, apart: str | None = None) -> None:
        """Cancel the turns of a user, or of one dialogue, on other servers, so that they store nothing.

        With `apart`, the dialogue of a turn that deletes data, turns that delete data themselves continue, and so do
        those that wait behind it in its dialogue: they have read nothing yet.
        """
        if self.lines is not None:
            lines, whose = self.lines, self._whose(caller)
            line = None if dialogue is None else (*whose, dialogue)
            beside = None if apart is None else (*whose, apart)
            for under in (whose, (*whose, _FORGETS)) if apart is None else (whose,):
                await self._call(lambda under=under: lines.clear(under, line, apart=beside))  # type: ignore[misc]

    def _whose(self, caller: Caller) -> tuple[str, str]:
        """Return the owner as the store knows it, since other servers may use another name for the agent."""
        return caller.tenant or self.assistant.tenant, caller.user

    def source(self, name: str) -> Source:
        """A declared source by name."""
        return _declared(self.assistant, name)

    def seat(self, caller: Caller) -> Seat:
        view = self.view(caller.tenant)
        models = tuple(self.models)
        return Seat(self.name, view, caller.user, caller.admin, self.state, self.quota, self.stock, models)

    def seat_of(self, tenant: str, user: str) -> Seat:
        """The seat of a user without a caller, for work of the server itself."""
        return Seat(self.name, self.view(tenant), user, True, self.state, self.quota, self.stock)


def _declared(assistant: Assistant, name: str) -> Source:
    declared = next((source for source in assistant.sources if source.name == name), None)
    if declared is None:
        raise absent("source")
    return declared


def _unwanted(usher: Usher, taken: asyncio.Future[Any]) -> None:
    if not taken.cancelled() and taken.exception() is None:
        usher.leave(taken.result()[0], kept=False)
