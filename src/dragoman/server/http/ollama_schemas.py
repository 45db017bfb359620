"""Schemas of Ollama's API: requests and responses."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from dragoman.server.http.reply_schemas import Extension
from dragoman.server.http.schemas import Lenient, Name, StopText


class OllamaMessage(Lenient):
    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""


class OllamaOptions(Lenient):
    """Options of a generation; those that are not listed have no meaning for an agent."""

    num_predict: int | None = None
    stop: StopText | Annotated[list[StopText], Field(max_length=4)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None


class OllamaChatRequest(Lenient):
    """A request of Ollama's chat API; `model` is an agent's name, with or without `:latest`."""

    model: Name
    messages: list[OllamaMessage] = Field(min_length=1, max_length=2000)
    stream: bool | None = True
    format: Literal["", "json"] | dict[str, Any] | None = None
    options: OllamaOptions | None = None


class OllamaShowRequest(Lenient):
    model: Annotated[str, Field(max_length=200)] = ""
    name: Annotated[str, Field(max_length=200)] = ""


class OllamaReply(BaseModel):
    """An answer of Ollama's chat API; streams send its text in pieces before it, one object a line."""

    model: str
    created_at: str
    message: dict[str, Any]
    done: bool
    done_reason: str | None = None
    total_duration: int | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    dragoman: Extension | None = None


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
