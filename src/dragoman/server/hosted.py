"""Agents that live in the house, and each as one caller may use it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from dragoman.core.values import Scope
from dragoman.server.caller import Caller
from dragoman.server.quota import Quota, Stock

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant


@dataclass(frozen=True, slots=True)
class Seat:
    """An agent as one caller may use it: everything that a chore is given."""

    agent: str
    assistant: Assistant
    user: str
    admin: bool
    state: Path
    quota: Quota
    stock: Stock

    @property
    def scope(self) -> Scope:
        return self.assistant.scope(self.user)


class Hosted:
    """An agent that lives here, with a view for each tenant."""

    def __init__(self, name: str, assistant: Assistant, state: Path, quota: Quota) -> None:
        self.name = name
        self.assistant = assistant
        self.state = state
        self.quota = quota
        self.stock = Stock()
        memory: Any = assistant.memory  # of some kind that may know no limit
        if hasattr(memory, "most_facts"):
            memory.most_facts = quota.facts
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
        view = self.view(caller.tenant)
        return Seat(self.name, view, caller.user, caller.admin, self.state, self.quota, self.stock)
