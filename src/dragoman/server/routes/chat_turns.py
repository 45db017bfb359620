"""Begin a chat turn for the APIs that share it: OpenAI's chat and responses, and Ollama's chat."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dragoman.server.data import chats
from dragoman.server.turns.events import TurnDone

if TYPE_CHECKING:
    from dragoman.server.access.caller import Caller
    from dragoman.server.http.openai_chat import ChatTurn
    from dragoman.server.http.schemas import ChatRequest
    from dragoman.server.service import Service
    from dragoman.server.turns.turn_queue import RunningTurn


def follows_instructions(service: Service, agent: str) -> bool:
    """Whether the reader of an agent reads system messages."""
    reader = service.hosted(agent).assistant.agent.reader
    return bool(getattr(reader, "follows_instructions", False))


async def begin_chat(
    service: Service, caller: Caller, request: ChatRequest, talk: ChatTurn
) -> tuple[RunningTurn, Callable[[], None]]:
    """Find the dialogue of a turn and start it; returns it with the function to call where it fails."""

    def failed() -> None:
        service.later(talk.failed)

    def ended(done: TurnDone) -> None:
        talk.ended(done)
        if (request.user or request.metadata) and not done.replayed and talk.ask.control.keep:
            seat = service.hosted(request.model).seat(caller)
            chats.keep_metadata(seat, done.dialogue, user=request.user or "", metadata=request.metadata or {})

    if talk.repeats:
        await service.near_or_far(request.model, lambda: talk.find(service.ends))
    else:
        talk.find(service.ends)
    try:
        return await service.begin(caller, talk.ask, eager=bool(request.stream), after=ended), failed
    except BaseException:
        failed()
        raise
