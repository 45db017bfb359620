"""One open page: who looks at it, which agent and dialogue, and what its panels share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from dragoman.agent.turns import WITHHELD
from dragoman.core.values import Reply, Source, Turn
from dragoman.server.person import check_dialogue
from dragoman.server.views import View

if TYPE_CHECKING:
    from dragoman.server.caller import Caller
    from dragoman.server.desk import Run
    from dragoman.server.house import Ask, House, Seat
    from dragoman.server.page.words import Language
    from dragoman.server.routes.runs import Runs

P = ParamSpec("P")
T = TypeVar("T")
_MOST_SESSIONS = 10_000


class Keys:
    """The keys of browsers that entered one, in memory alone: they are gone when the server stops."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, str] = OrderedDict()

    def of(self, session: str) -> str | None:
        return self._of.get(session)

    def put(self, session: str, key: str) -> None:
        self._of[session] = key
        self._of.move_to_end(session)
        while len(self._of) > _MOST_SESSIONS:
            self._of.popitem(last=False)

    def drop(self, session: str) -> None:
        self._of.pop(session, None)


@dataclass(frozen=True, slots=True)
class Said:
    """A turn of a kept dialogue; `reply` is None for the user's, and where it was forgotten."""

    turn: Turn
    reply: Reply | None

    @property
    def is_withheld(self) -> bool:
        return self.turn.text == WITHHELD


class Visit:
    """What an open page may do: everything goes through the house as the caller of the browser's key."""

    def __init__(self, house: House, runs: Runs | None, key: str | None, language: Language, agent: str) -> None:
        self.house = house
        self.runs = runs
        self.language = language
        self.agent = agent
        self.dialogue = new_dialogue()
        self._key = key

    async def caller(self) -> Caller:
        """Who looks: asked anew each time, so that a revoked key ends at once."""
        return await self.house.caller(self._key)

    async def do(self, chore: Callable[Concatenate[Seat, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Let a chore run for whoever looks."""
        return await self.house.do(await self.caller(), self.agent, chore, *args, **kwargs)

    async def begin(self, ask: Ask) -> Run:
        """Take a turn in."""
        return await self.house.begin(await self.caller(), ask)

    async def listed_runs(self) -> Sequence[View]:
        """The stored experiments."""
        return [] if self.runs is None else await self.house.call(self.runs.listed)

    async def run_result(self, id: str) -> View | None:
        """One stored experiment."""
        runs = self.runs
        return None if runs is None else await self.house.call(lambda: runs.result(id))


def new_dialogue() -> str:
    """A name for a dialogue that begins now: sortable by time, and never one of before."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(3)}"


def transcript(seat: Seat, dialogue: str) -> list[Said]:
    """The turns of a dialogue with their replies; none where there is no such dialogue."""
    check_dialogue(dialogue)
    turns = seat.assistant.history(user=seat.user, dialogue=dialogue)
    replies = seat.assistant.replies(user=seat.user, dialogue=dialogue)
    return [Said(turn, reply) for turn, reply in zip(turns, replies, strict=True)]


def declared_sources(seat: Seat) -> tuple[Source, ...]:
    return seat.assistant.sources
