"""Schemas of Ollama's API: requests and responses."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from dragoman.server.http.reply_schemas import Extension
from dragoman.server.http.schemas import ChatExtension, Lenient, Name, Said, StopText
from dragoman.server.http.tool_schemas import CallId, ToolName


class OllamaFunction(Lenient):
    name: ToolName
    arguments: dict[str, Any] = Field(default_factory=dict)


class OllamaToolCall(Lenient):
    """A call of a tool; older clients send no id, and results come in the order of the calls."""

    id: CallId | None = None
    function: OllamaFunction


class OllamaMessage(Lenient):
    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    tool_calls: Annotated[list[OllamaToolCall], Field(max_length=128)] | None = None
    tool_call_id: CallId | None = None


class OllamaOptions(Lenient):
    """Options of a generation; those that are not listed have no meaning for an agent.

    `dragoman` controls the turn: clients that send no other fields than Ollama's put it here.
    """

    num_predict: int | None = None
    stop: StopText | Annotated[list[StopText], Field(max_length=4)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    dragoman: ChatExtension | None = None


class OllamaRequest(Lenient):
    """Fields that Ollama's chat and generate share; `model` is an agent's name, with or without `:latest`."""

    model: Name
    stream: bool | None = True
    format: Literal["", "json"] | dict[str, Any] | None = None
    options: OllamaOptions | None = None
    dragoman: ChatExtension | None = None


class OllamaChatRequest(OllamaRequest):
    """A request of Ollama's chat API. Without messages it only asks whether the model is there."""

    messages: list[OllamaMessage] = Field(default_factory=list, max_length=2000)


class OllamaGenerateRequest(OllamaRequest):
    """A request of Ollama's generate API: one message. Without a prompt it only asks whether the model is there."""

    prompt: Said | Literal[""] = ""
    system: str = ""


class OllamaEmbedRequest(Lenient):
    """A request of Ollama's embedding API; `model` is an agent's name, whose encoder is used."""

    model: Name
    input: Said | Annotated[list[Said], Field(min_length=1, max_length=256)]
    dimensions: Annotated[int, Field(ge=1)] | None = None


class OllamaShowRequest(Lenient):
    model: Annotated[str, Field(max_length=200)] = ""
    name: Annotated[str, Field(max_length=200)] = ""


class OllamaReply(BaseModel):
    """An answer of Ollama's chat API; streams send its text in pieces before it, one object a line.

    Durations are in nanoseconds: `prompt_eval_duration` is the time before the reply was written, `eval_duration` the
    time of writing and checking it.
    """

    model: str
    created_at: str
    message: dict[str, Any]
    done: bool
    done_reason: str | None = None
    total_duration: int | None = None
    load_duration: int | None = None
    prompt_eval_count: int | None = None
    prompt_eval_duration: int | None = None
    eval_count: int | None = None
    eval_duration: int | None = None
    dragoman: Extension | None = None


class OllamaGenerated(OllamaReply):
    """An answer of Ollama's generate API."""

    message: None = None  # type: ignore[assignment]  # the text is in `response`
    response: str


class OllamaEmbeddings(BaseModel):
    model: str
    embeddings: list[list[float]]
    total_duration: int
    load_duration: int
    prompt_eval_count: int


class OllamaModels(BaseModel):
    models: list[dict[str, Any]]


class OllamaModel(BaseModel):
    details: dict[str, Any]
    model_info: dict[str, Any]
    capabilities: list[str]
    modelfile: str
    parameters: str
    template: str
    modified_at: str


class OllamaVersion(BaseModel):
    version: str
