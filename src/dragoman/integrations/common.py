"""Shared by the adapters: open an agent, search its sources, ask it outside of its own dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from dragoman.core.errors import InputError
from dragoman.core.trace import Reply
from dragoman.core.values import Context, Evidence, Request, Turn

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant

    AgentOrName: TypeAlias = Assistant | str | Path
    """An assistant, or what `dragoman.load` opens."""

DEFAULT_USER = "me"


def opened(agent: AgentOrName) -> Assistant:
    """The assistant itself, or the one that `dragoman.load` gives for a name or folder."""
    if isinstance(agent, str | Path):
        from dragoman.agent.build import load

        return load(agent)
    return agent


def search(
    assistant: Assistant, query: str, *, user: str = DEFAULT_USER, sources: Iterable[str] | None = None, k: int = 4
) -> list[Evidence]:
    """The best k passages for a query, best first, from the named sources or from all.

    A user's own sources are searched for that user alone.
    """
    from dragoman.sources.graph import SourceGraph

    if not query.strip():
        raise InputError("A query is empty.", remedy="Give some words.")
    assistant.warm_up()
    graph = SourceGraph(assistant.sources)
    chosen = assistant.sources if sources is None else tuple(graph[name] for name in sources)
    context = Context((Turn("user", query),), assistant.scope(user))
    (hits,) = assistant.agent.retriever.retrieve([Request(context, chosen, k)])
    return sorted(hits, key=lambda hit: -hit.relevance)[:k]


def metadata(hit: Evidence) -> dict[str, Any]:
    """Return title and origin of a passage, for the metadata fields of other frameworks."""
    passage = hit.passage
    named = {
        "source": passage.source,
        "title": passage.title,
        "headings": " > ".join(passage.headings),
        "origin": passage.origin,
    }
    return {**passage.meta, **{key: value for key, value in named.items() if value}, "relevance": hit.relevance}


def stream(assistant: Assistant, turns: Sequence[Turn], *, user: str = DEFAULT_USER) -> Iterator[str | Reply]:
    """Pieces of the reply to the last turn, then the whole reply; the turns before are its dialogue.

    The caller keeps the dialogue: here it is deleted after the reply. What the user says of themselves is remembered.
    """
    if not turns or turns[-1].speaker != "user":
        raise InputError("The last message is not the user's.", remedy="End the messages with one of the user.")
    dialogue = f"integration-{uuid4().hex}"
    try:
        for piece in assistant.stream(turns[-1].text, user=user, dialogue=dialogue, before=turns[:-1]):
            if isinstance(piece, str | Reply):
                yield piece
    finally:
        assistant.forget_dialogue(dialogue, user=user)


def ask(assistant: Assistant, turns: Sequence[Turn], *, user: str = DEFAULT_USER) -> Reply:
    """The reply to the last of some turns."""
    *_, reply = stream(assistant, turns, user=user)
    assert isinstance(reply, Reply)
    return reply
