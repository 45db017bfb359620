"""Haystack: an agent's sources as a retriever component, and the agent as a component that answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, ChatRole

from dragoman.core.errors import ConfigError
from dragoman.core.values import Evidence, Turn
from dragoman.integrations import common

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant
    from dragoman.integrations.common import AgentOrName


class _WithAgent:
    """Opens an agent on first use; a pipeline with the agent's name can be saved."""

    def __init__(self, agent: AgentOrName, user: str) -> None:
        self.agent = agent
        self.user = user
        self._assistant: Assistant | None = None

    def warm_up(self) -> None:
        """Open the agent, and load its encoder."""
        self._opened().warm_up()

    def _opened(self) -> Assistant:
        if self._assistant is None:
            self._assistant = common.opened(self.agent)
        return self._assistant

    def _saved(self) -> dict[str, Any]:
        if not isinstance(self.agent, str):
            raise ConfigError(
                "A component that was given an assistant cannot be saved.", remedy="Give the agent's name or folder."
            )
        return {"agent": self.agent, "user": self.user}


@component
class DragomanRetriever(_WithAgent):
    """The best passages of an agent's sources as documents; the score is the relevance, from 0 to 1."""

    def __init__(
        self,
        agent: AgentOrName,
        user: str = common.DEFAULT_USER,
        sources: Sequence[str] | None = None,
        top_k: int = 4,
    ) -> None:
        _WithAgent.__init__(self, agent, user)  # the decorator makes a class of its own, which `super()` does not know
        self.sources = sources
        self.top_k = top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None, user: str | None = None) -> dict[str, list[Document]]:
        """Search for a query, for another user than the component's where one is given."""
        hits = common.search(self._opened(), query, user=user or self.user, sources=self.sources, k=top_k or self.top_k)
        return {"documents": _documents(hits)}

    def to_dict(self) -> dict[str, Any]:
        """The component for a saved pipeline."""
        saved: dict[str, Any] = default_to_dict(self, **self._saved(), sources=self.sources, top_k=self.top_k)
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> DragomanRetriever:
        """The component of a saved pipeline."""
        return default_from_dict(cls, data)  # type: ignore[no-any-return]  # the framework is not typed here


@component
class DragomanAgent(_WithAgent):
    """An agent that answers the last of some messages; its evidence comes as documents."""

    def __init__(self, agent: AgentOrName, user: str = common.DEFAULT_USER) -> None:
        _WithAgent.__init__(self, agent, user)  # the decorator makes a class of its own, which `super()` does not know

    @component.output_types(replies=list[ChatMessage], documents=list[Document])
    def run(self, messages: list[ChatMessage], user: str | None = None) -> dict[str, Any]:
        """Answer the last message; system and tool messages are not read."""
        speakers: dict[Any, Any] = {ChatRole.USER: "user", ChatRole.ASSISTANT: "agent"}
        turns = [
            Turn(speakers[message.role], message.text)
            for message in messages
            if message.role in speakers and message.text
        ]
        reply = common.ask(self._opened(), turns, user=user or self.user)
        meta = {"plan": list(reply.plan.sources), "confidence": reply.confidence}
        return {
            "replies": [ChatMessage.from_assistant(reply.text, meta=meta)],
            "documents": _documents(reply.evidence),
        }

    def to_dict(self) -> dict[str, Any]:
        """The component for a saved pipeline."""
        saved: dict[str, Any] = default_to_dict(self, **self._saved())
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> DragomanAgent:
        """The component of a saved pipeline."""
        return default_from_dict(cls, data)  # type: ignore[no-any-return]  # the framework is not typed here


def _documents(hits: Sequence[Evidence]) -> list[Document]:
    return [
        Document(id=hit.id, content=hit.passage.text, meta=common.metadata(hit), score=hit.relevance) for hit in hits
    ]
