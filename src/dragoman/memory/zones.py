"""The time zone of each user: the one they stated ("my time zone is Asia/Tokyo"), or else the agent's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import cache

from dragoman.core.clock import zone_of
from dragoman.core.errors import InputError
from dragoman.core.protocols import Store
from dragoman.core.values import Fact, Scope
from dragoman.text import lazy_re as re

ZONE = "memory:zone"
_SLOTS = frozenset(("time zone", "timezone", "时区"))
_FULL_NAME = re.compile(r"[A-Za-z_]{2,20}/[A-Za-z_+-]{2,20}")
_NAME = re.compile(r"[A-Za-z]{2,20}(?:[/_+-][A-Za-z0-9]{1,20}){0,3}")


@dataclass(frozen=True, slots=True)
class UserZones:
    """Time zones by user, kept in the store; `default` is the agent's."""

    store: Store
    default: tzinfo

    def name(self, scope: Scope) -> str:
        """The name of a user's zone; "" where they have none of their own."""
        return self.store.kept(scope, ZONE) or ""

    def of(self, scope: Scope) -> tzinfo:
        """Return the time zone in which a user's days begin and end."""
        name = self.name(scope)
        if not name:
            return self.default
        try:
            return zone_of(name)
        except InputError:  # one that this machine no longer knows
            return self.default

    def set(self, scope: Scope, name: str) -> None:
        """Set a user's zone, or take it back with ""; a zone that does not exist is an error."""
        if name:
            zone_of(name)
        if name != self.name(scope):
            self.store.keep(scope, ZONE, name)

    def follow(self, scope: Scope, facts: Sequence[Fact]) -> None:
        """Set the zone that a fact tells."""
        for fact in facts:
            if fact.subject == "user" and fact.relation in _SLOTS and (name := zone_named(fact.value)):
                self.set(scope, name)

    def end(self, scope: Scope, facts: Sequence[Fact]) -> None:
        """Reset the zone if the fact that stated it is deleted."""
        if self.name(scope) and any(fact.relation in _SLOTS for fact in facts):
            self.store.keep(scope, ZONE, "")


def names_no_zone(fact: Fact) -> bool:
    """Whether a fact states a time zone that does not exist, such as Mars/Olympus; it is not stored."""
    is_zone = fact.subject == "user" and fact.relation in _SLOTS
    return is_zone and _FULL_NAME.search(fact.value) is not None and not zone_named(fact.value)


def zone_named(text: str) -> str:
    """The IANA zone that a text names, by its whole name or its city; "" where it names none."""
    for match in _NAME.finditer(text.replace(" ", "_")):
        if name := _zones().get(match[0].casefold()):
            return name
    return ""


@cache
def _zones() -> dict[str, str]:
    """Zones by their names and by their cities, in lower case."""
    from zoneinfo import available_timezones

    names = sorted(available_timezones())
    cities = {name.rpartition("/")[2].casefold(): name for name in reversed(names) if "/" in name}
    return cities | {name.casefold(): name for name in names}
