"""Schemas of request bodies."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from dragoman.core.values import Sampling
from dragoman.server.http.control_schemas import ControlFields
from dragoman.server.http.tool_schemas import CallId, ChatTool, ChatToolCall, ToolChoiceField

Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
Said: TypeAlias = Annotated[str, Field(min_length=1, max_length=100_000)]


class Strict(BaseModel):
    """A request body of our own API: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Lenient(BaseModel):
    """A request body of OpenAI's API: unknown fields are ignored."""

    model_config = ConfigDict(extra="allow", frozen=True)


# OpenAI's


class ContentPart(Lenient):
    """A part of a message; only text is supported."""

    type: str
    text: str | None = None


class ChatMessage(Lenient):
    """One message of the history."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None
    tool_calls: Annotated[list[ChatToolCall], Field(max_length=128)] | None = None
    tool_call_id: CallId | None = None


class StreamOptions(Lenient):
    include_usage: bool = False


class ChatExtension(ControlFields):
    """Dragoman's extension of a chat request: the dialogue, and control of the turn."""

    dialogue: Name | None = None


StopText: TypeAlias = Annotated[str, Field(max_length=500)]
Metadata: TypeAlias = Annotated[
    dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)]], Field(max_length=16)
]


class JsonSchema(Lenient):
    """A JSON schema for the reply; OpenAI's clients put it under `schema`."""

    name: Annotated[str, Field(max_length=200)] = "reply"
    schema_: Annotated[dict[str, Any], Field(alias="schema")] = {}
    strict: bool | None = None


class ResponseFormat(Lenient):
    """The form of a reply: text, or JSON by a schema."""

    type: Literal["text", "json_object", "json_schema"] = "text"
    json_schema: JsonSchema | None = None


class ChatRequest(Lenient):
    """A request of OpenAI's chat API; `model` is an agent's name."""

    model: Name
    messages: list[ChatMessage] = Field(min_length=1, max_length=2000)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=128)] | None = 1
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    stop: StopText | Annotated[list[StopText], Field(max_length=4)] | None = None
    response_format: ResponseFormat | None = None
    user: Annotated[str, Field(max_length=512)] | None = None
    metadata: Metadata | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    tools: list[ChatTool] | None = None
    tool_choice: ToolChoiceField | None = None
    parallel_tool_calls: bool | None = None
    dragoman: ChatExtension | None = None

    @property
    def sampling(self) -> Sampling | None:
        """Temperature and seed; None where neither is given."""
        sampling = Sampling(self.temperature, self.seed)
        return None if sampling == Sampling() else sampling

    @property
    def most_tokens(self) -> int | None:
        """The smaller one of the two limits of a reply."""
        limits = [limit for limit in (self.max_tokens, self.max_completion_tokens) if limit is not None]
        return min(limits, default=None)

    @property
    def stops(self) -> tuple[str, ...]:
        return () if self.stop is None else (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)


class InputItem(Lenient):
    """One item of the input of a response: a message, a call of a function, or its result."""

    type: str = "message"


class TextConfig(Lenient):
    """The form of a response's text: `format` is `{"type": "text"}`, or `json_schema` with `name` and `schema`."""

    format: dict[str, Any] | None = None


class ResponsesRequest(Lenient):
    """A request of OpenAI's Responses API; `model` is an agent's name."""

    model: Name
    input: Said | Annotated[list[InputItem], Field(min_length=1, max_length=2000)]
    instructions: Annotated[str, Field(max_length=100_000)] | None = None
    previous_response_id: Annotated[str, Field(max_length=1000)] | None = None
    stream: bool | None = False
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    text: TextConfig | None = None
    user: Annotated[str, Field(max_length=512)] | None = None
    metadata: Metadata | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None


class EmbeddingsRequest(Lenient):
    """A request of OpenAI's embeddings API; `model` is an agent's name, whose encoder is used."""

    model: Name
    input: Said | Annotated[list[Said], Field(min_length=1, max_length=256)]
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: Annotated[int, Field(ge=1)] | None = None


# Ours


class TurnRequest(ControlFields):
    """A user turn. Without a dialogue, a new one is started."""

    text: Said
    agent: Annotated[str, Field(max_length=200)] = ""
    dialogue: Name | None = None


class SearchRequest(Strict):
    query: Said
    k: Annotated[int, Field(ge=1, le=50)] = 5


class FactRequest(Strict):
    """A fact, as the user would say it."""

    text: Said


class ImportRequest(Strict):
    """The content of a file: an export of ChatGPT, Claude, mem0 or Dragoman, or a list in JSON or Markdown."""

    content: str = Field(min_length=1)
    chats: bool = Field(default=False, description="Keep its chats too, as past chats of the user.")
    dry_run: bool = Field(default=False, description="Only say what would be kept.")


class DialogueChange(Strict):
    """Changes to a dialogue; fields that are left out stay."""

    title: Annotated[str, Field(max_length=500)] | None = None
    pinned: bool | None = None


class FeedbackRequest(Strict):
    """A thumb for a reply, or whether it needed a search: the last one of a dialogue, or the one at `turn`."""

    dialogue: Name
    thumb: Literal["up", "down"] | None = None
    needed: bool | None = None
    turn: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    better: Said | None = None
