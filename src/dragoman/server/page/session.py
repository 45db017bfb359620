"""State of one open page: its user, agent and dialogue, and functions shared by the panels."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Concatenate, Literal, ParamSpec, TypeVar

from dragoman.agent.feedback import search_labels, thumbs
from dragoman.agent.turns import WITHHELD
from dragoman.core.control import DEFAULT_CONTROL, TurnControl
from dragoman.core.trace import Reply
from dragoman.core.values import Evidence, Source, Turn
from dragoman.server.data.chats import new_chat
from dragoman.server.data.user_data import check_dialogue, rate
from dragoman.server.http.views import View
from dragoman.server.page.chat.live_turns import LiveTurn, LiveTurns
from dragoman.server.routes.common import admin_only

if TYPE_CHECKING:
    from dragoman.server.access.caller import Caller
    from dragoman.server.hosted_agent import Seat
    from dragoman.server.page.texts import Language
    from dragoman.server.routes.runs import Runs
    from dragoman.server.service import Service
    from dragoman.server.turns.turn_runner import CallerTurn

P = ParamSpec("P")
T = TypeVar("T")
_MOST_SESSIONS = 10_000
_MOST_OF_A_KEY = 200
"""Browsers signed in with one key; a further one signs out the one that was least recently signed in."""


class Keys:
    """Keys of signed-in browsers by the token in their cookie, in memory only."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, str] = OrderedDict()
        self._tokens: dict[str, deque[str]] = {}

    def of(self, token: str) -> str | None:
        return self._of.get(token)

    def put(self, token: str, key: str) -> None:
        self.drop(token)
        self._of[token] = key
        tokens = self._tokens.setdefault(key, deque())
        tokens.append(token)
        if len(tokens) > _MOST_OF_A_KEY:  # so that repeated sign-ins cannot sign others out
            self.drop(tokens[0])
        while len(self._of) > _MOST_SESSIONS:
            self.drop(next(iter(self._of)))

    def drop(self, token: str) -> None:
        key = self._of.pop(token, None)
        if key is not None:
            self._tokens[key].remove(token)
            if not self._tokens[key]:
                del self._tokens[key]

    def admit(self, key: str) -> str:
        """A new token for a browser that has signed in with a key."""
        token = token_urlsafe(24)
        self.put(token, key)
        return token


@dataclass(frozen=True, slots=True)
class PageTurn:
    """A stored turn; `reply` is None for the user's turns and deleted ones.

    `liked` is the thumb, and `needed` whether the user said that the reply needed a search.
    """

    turn: Turn
    reply: Reply | None
    liked: bool | None = None
    needed: bool | None = None

    @property
    def is_withheld(self) -> bool:
        """Whether the text was deleted, at once or together with a fact."""
        return self.turn.text in (WITHHELD, "")


class PageSession:
    """Access of an open page to the service, as the caller of the browser's key."""

    def __init__(
        self,
        service: Service,
        runs: Runs | None,
        key: Callable[[], str | None],
        language: Language,
        agent: str,
        *,
        live_turns: LiveTurns | None = None,
    ) -> None:
        self.service = service
        self.runs = runs
        self.language = language
        self.agent = agent
        self.dialogue = new_chat()
        self.control: TurnControl = DEFAULT_CONTROL
        self.model = ""
        self.used = time.time()
        self._key = key
        self._live_turns = live_turns or LiveTurns()

    @property
    def private_sources(self) -> frozenset[str]:
        """Names of the sources of facts about the user."""
        return frozenset(one.name for one in self.sources if one.private and one.about == "user")

    @property
    def sources(self) -> tuple[Source, ...]:
        """The declared sources of the agent."""
        return self.service.hosted(self.agent).assistant.sources

    @property
    def models(self) -> tuple[str, ...]:
        """The language models that the server allows instead of the agent's own."""
        return tuple(self.service.hosted(self.agent).models)

    @property
    def is_private(self) -> bool:
        """Whether the open chat is private."""
        return not self.control.keep

    async def caller(self) -> Caller:
        """The caller; checked on every call, so that revoking a key or signing out takes effect at once."""
        self.used = time.time()
        return await self.service.caller(self._key())

    async def do(self, chore: Callable[Concatenate[Seat, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function for the caller (`Service.do`)."""
        return await self.service.do(await self.caller(), self.agent, chore, *args, **kwargs)

    async def read_in(
        self, source: str, chore: Callable[Concatenate[Seat, Source, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function that changes files of a source for the caller (`Service.read_in`)."""
        return await self.service.read_in(await self.caller(), self.agent, source, chore, *args, **kwargs)

    async def forgetting(self, chore: Callable[Concatenate[Seat, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function that deletes data for the caller (`Service.forgetting`)."""
        return await self.service.forgetting(await self.caller(), self.agent, chore, *args, **kwargs)

    async def forget_dialogue(self, dialogue: str) -> None:
        """Delete a dialogue of the caller."""
        await self.service.forget_dialogue(await self.caller(), self.agent, dialogue)

    async def forget_everything(self) -> None:
        """Delete everything of the caller, who has confirmed it."""
        await self.service.forget_everything(await self.caller(), self.agent, confirmed=True)

    async def rate(
        self,
        turn: int,
        thumb: Literal["up", "down"] | None = None,
        *,
        better: str | None = None,
        needed: bool | None = None,
    ) -> None:
        """Store a thumb for a reply of the open chat and a better answer, or whether the reply needed a search."""
        caller = await self.caller()
        async with self.service.alone(self.service.hosted(self.agent).name, caller.tenant, caller.user):
            await self.do(rate, self.dialogue, thumb, turn=turn, better=better, needed=needed)

    async def start(self, ask: CallerTurn) -> LiveTurn:
        """Start a turn, which goes on where this page is closed."""
        return self._live_turns.start(self.service, await self.caller(), ask)

    async def running(self, dialogue: str) -> LiveTurn | None:
        """The turn that runs in a chat of the caller."""
        return self._live_turns.find(await self.caller(), self.agent, dialogue)

    async def listed_runs(self) -> Sequence[View]:
        """The stored experiments."""
        admin_only(await self.caller(), "Reading runs")
        return [] if self.runs is None else await self.service.call(self.runs.listed)

    async def run_result(self, id: str) -> View | None:
        """One stored experiment."""
        admin_only(await self.caller(), "Reading runs")
        runs = self.runs
        return None if runs is None else await self.service.call(lambda: runs.result(id))


def transcript(seat: Seat, dialogue: str) -> list[PageTurn]:
    """The turns of a dialogue with their replies; empty if it does not exist."""
    return list(page_turns(seat, dialogue))


def page_turns(seat: Seat, dialogue: str) -> Iterator[PageTurn]:
    """The turns of a dialogue with their replies, one after the other."""
    check_dialogue(dialogue)
    ratings = thumbs(seat.assistant.store, seat.scope, dialogue)
    needed = search_labels(seat.assistant.store, seat.scope, dialogue)
    for place, (turn, reply) in enumerate(seat.assistant.exchanges(user=seat.user, dialogue=dialogue)):
        yield PageTurn(turn, reply, ratings.get(place), needed.get(place))


def end_private(seat: Seat, dialogue: str) -> int:
    """Drop a private dialogue from memory."""
    return seat.assistant.end_private(user=seat.user, dialogue=dialogue)


@dataclass(frozen=True, slots=True)
class Makeup:
    """Parts of an agent that the Why panel needs to know."""

    sources: tuple[Source, ...] = ()
    refines: bool = False
    has_critic: bool = False


def makeup(seat: Seat) -> Makeup:
    agent = seat.assistant.agent
    return Makeup(seat.assistant.sources, agent.refiner is not None, agent.critic is not None)


def consistency(seat: Seat, pieces: Sequence[Evidence], text: str) -> dict[str, float]:
    """Consistency of a text with each piece of evidence, by id; empty without a critic."""
    critic = seat.assistant.agent.critic
    if critic is None or not pieces:
        return {}
    scores = critic.consistency([(piece, text) for piece in pieces])
    return {piece.id: score for piece, score in zip(pieces, scores, strict=True)}
