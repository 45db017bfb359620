"""LangChain: an agent's sources as a retriever, and the agent as a chat model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models.base import LangSmithParams
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.retrievers import BaseRetriever

from dragoman.core.trace import Reply
from dragoman.core.values import Turn
from dragoman.integrations import common
from dragoman.models.thoughts import VisibleText, until_stop


class DragomanRetriever(BaseRetriever):
    """The best passages of an agent's sources; documents carry source, title, origin and relevance."""

    assistant: Any
    """What `dragoman.load` returns."""
    user: str = common.DEFAULT_USER
    sources: tuple[str, ...] | None = None
    """Names of the sources to search; None for all."""
    k: int = 4

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        hits = common.search(self.assistant, query, user=self.user, sources=self.sources, k=self.k if k is None else k)
        return [Document(id=hit.id, page_content=hit.passage.text, metadata=common.metadata(hit)) for hit in hits]


class ChatDragoman(BaseChatModel):
    """An agent as a chat model: it looks things up, remembers the user, and answers the last human message.

    Messages before it are the dialogue. System messages are not read: the agent has a persona of its own. The reply's
    `response_metadata` holds the plan, the evidence and the confidence, its `usage_metadata` the tokens of all models.
    """

    assistant: Any
    user: str = common.DEFAULT_USER

    @property
    def _llm_type(self) -> str:
        return "dragoman"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"agent": self.assistant.name, "user": self.user}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = common.ask(self.assistant, _turns(messages), user=self.user)
        text = until_stop(reply.text, stop or ())
        message = AIMessage(text, response_metadata=self._metadata(reply), usage_metadata=_usage(reply))
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        visible = VisibleText(stop or (), inside=False)
        for piece in common.stream(self.assistant, _turns(messages), user=self.user):
            text = visible.feed(piece) if isinstance(piece, str) else visible.close()
            if text:
                chunk = ChatGenerationChunk(message=AIMessageChunk(content=text))
                if run_manager is not None:
                    run_manager.on_llm_new_token(text, chunk=chunk)
                yield chunk
            if not isinstance(piece, str):
                metadata, usage = self._metadata(piece), _usage(piece)
                end = AIMessageChunk(
                    content="", response_metadata=metadata, usage_metadata=usage, chunk_position="last"
                )
                yield ChatGenerationChunk(message=end)

    def _metadata(self, reply: Reply) -> dict[str, Any]:
        """Agent, plan, evidence and confidence of a reply."""
        return {
            "model_name": self.assistant.name,
            "plan": list(reply.plan.sources),
            "confidence": reply.confidence,
            "evidence": [{"id": hit.id, "text": hit.passage.text, **common.metadata(hit)} for hit in reply.evidence],
        }

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return LangSmithParams(ls_model_name=self.assistant.name) | super()._get_ls_params(stop=stop, **kwargs)


def _turns(messages: Sequence[BaseMessage]) -> list[Turn]:
    speakers = ((message, _speaker(message)) for message in messages)
    return [Turn(speaker, message.text) for message, speaker in speakers if speaker and message.text.strip()]


def _speaker(message: BaseMessage) -> Any:
    return "user" if isinstance(message, HumanMessage) else "agent" if isinstance(message, AIMessage) else None


def _usage(reply: Reply) -> UsageMetadata:
    usage = reply.trace.usage
    written = usage.completion_tokens + usage.reasoning_tokens
    return UsageMetadata(
        input_tokens=usage.prompt_tokens,
        output_tokens=written,
        total_tokens=usage.prompt_tokens + written,
        input_token_details=InputTokenDetails(cache_read=usage.cached_tokens),
        output_token_details=OutputTokenDetails(reasoning=usage.reasoning_tokens),
    )
