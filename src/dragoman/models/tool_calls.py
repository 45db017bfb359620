"""Tools of a calling program: their descriptions for a model, its calls, and their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from dragoman.core.values import Draft, Sampling

ToolChoice: TypeAlias = Literal["auto", "none", "required"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A function of the calling program; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asks for; `arguments` is JSON as the model wrote it."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """A message of a conversation with tools: the role `tool` holds the result of the call `call_id`."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolPrompt:
    """A conversation, and the tools that the model may call; `only` names the one that it must call."""

    messages: tuple[ToolMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    choice: ToolChoice = "auto"
    only: str = ""
    parallel: bool | None = None
    sampling: Sampling | None = None


@dataclass(frozen=True, slots=True)
class ToolReply:
    """Answer of a model that has tools: calls, or else a draft with text. The draft counts the tokens of both."""

    draft: Draft
    calls: tuple[ToolCall, ...] = ()


@runtime_checkable
class ToolModel(Protocol):
    """A language model that can be given tools; `takes_tools` says whether this one can, as far as is known."""

    @property
    def name(self) -> str: ...

    @property
    def takes_tools(self) -> bool: ...

    def call_tools(self, prompt: ToolPrompt, *, max_tokens: int) -> ToolReply:
        """Calls or a text; raises an EndpointError whose field `refuses` names what the model does not take."""
        ...
