"""LlamaIndex: an agent's sources as a retriever, and the agent as a chat engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.chat_engine.types import AgentChatResponse, BaseChatEngine, StreamingAgentChatResponse
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from dragoman.agent.assistant import Assistant
from dragoman.core.trace import Reply
from dragoman.core.values import Evidence, Turn
from dragoman.integrations import common


class DragomanRetriever(BaseRetriever):
    """The best passages of an agent's sources as nodes; the score is the relevance, from 0 to 1."""

    def __init__(
        self,
        assistant: Assistant,
        *,
        user: str = common.DEFAULT_USER,
        sources: Sequence[str] | None = None,
        k: int = 4,
        **options: Any,
    ) -> None:
        self._assistant = assistant
        self._user = user
        self._sources = sources
        self._k = k
        super().__init__(**options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = common.search(self._assistant, query_bundle.query_str, user=self._user, sources=self._sources, k=self._k)
        return _nodes(hits)


class DragomanChatEngine(BaseChatEngine):
    """An agent as a chat engine: it keeps the dialogue, and the reply's source nodes are its evidence."""

    def __init__(self, assistant: Assistant, *, user: str = common.DEFAULT_USER) -> None:
        self._assistant = assistant
        self._user = user
        self._turns: list[Turn] = []

    @property
    def chat_history(self) -> list[ChatMessage]:
        """The messages so far."""
        roles = {"user": MessageRole.USER, "agent": MessageRole.ASSISTANT}
        return [ChatMessage(role=roles[turn.speaker], content=turn.text) for turn in self._turns]

    def reset(self) -> None:
        """Begin a new dialogue; what is remembered about the user stays."""
        self._turns = []

    def chat(self, message: str, chat_history: list[ChatMessage] | None = None) -> AgentChatResponse:
        """The reply to a message, after `chat_history` where it is given, else after the dialogue so far."""
        self._continue(chat_history)
        turns = [*self._turns, Turn("user", message)]
        reply = common.ask(self._assistant, turns, user=self._user)
        self._turns = [*turns, Turn("agent", reply.text)]
        return AgentChatResponse(
            response=reply.text, source_nodes=_nodes(reply.evidence), metadata={"plan": list(reply.plan.sources)}
        )

    def stream_chat(self, message: str, chat_history: list[ChatMessage] | None = None) -> StreamingAgentChatResponse:
        """The reply in pieces; its source nodes are there when the last piece is."""
        self._continue(chat_history)
        response = StreamingAgentChatResponse(is_writing_to_memory=False)
        response.chat_stream = self._pieces(message, response)
        return response

    async def achat(self, message: str, chat_history: list[ChatMessage] | None = None) -> AgentChatResponse:
        """`chat` in a thread."""
        return await asyncio.to_thread(self.chat, message, chat_history)

    async def astream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """`stream_chat`, each piece made in a thread."""
        self._continue(chat_history)
        response = StreamingAgentChatResponse(is_writing_to_memory=False)
        response.achat_stream = _in_thread(self._pieces(message, response))
        return response

    def _continue(self, history: list[ChatMessage] | None) -> None:
        if history is not None:
            speakers: dict[Any, Any] = {MessageRole.USER: "user", MessageRole.ASSISTANT: "agent"}
            self._turns = [
                Turn(speakers[entry.role], entry.content or "") for entry in history if entry.role in speakers
            ]

    def _pieces(self, message: str, response: StreamingAgentChatResponse) -> Generator[ChatResponse, None, None]:
        turns = [*self._turns, Turn("user", message)]
        text = ""
        for piece in common.stream(self._assistant, turns, user=self._user):
            if isinstance(piece, Reply):
                self._turns = [*turns, Turn("agent", piece.text)]
                response.source_nodes = _nodes(piece.evidence)
            else:
                text += piece
                so_far = ChatMessage(role=MessageRole.ASSISTANT, content=text)
                yield ChatResponse(message=so_far, delta=piece)


async def _in_thread(pieces: Iterator[ChatResponse]) -> AsyncGenerator[ChatResponse, None]:
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece


def _nodes(hits: Sequence[Evidence]) -> list[NodeWithScore]:
    return [
        NodeWithScore(
            node=TextNode(id_=hit.id, text=hit.passage.text, metadata=common.metadata(hit)), score=hit.relevance
        )
        for hit in hits
    ]
