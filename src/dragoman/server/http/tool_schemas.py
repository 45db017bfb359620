"""Schemas of tools in requests of OpenAI's chat API."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

ToolName: TypeAlias = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_.:-]{1,128}$")]
CallId: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class ToolFunction(_Lenient):
    """A function of the caller's; `parameters` is the JSON schema of its arguments."""

    name: ToolName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ChatTool(_Lenient):
    """A tool; only functions are supported."""

    type: str = "function"
    function: ToolFunction | None = None


class CalledFunction(_Lenient):
    name: ToolName
    arguments: str = "{}"


class ChatToolCall(_Lenient):
    """A call that the agent asked for."""

    id: CallId
    type: str = "function"
    function: CalledFunction


class ChosenFunction(_Lenient):
    name: ToolName


class ChosenTool(_Lenient):
    """The tool that must be called."""

    type: Literal["function"]
    function: ChosenFunction


ToolChoiceField: TypeAlias = Literal["none", "auto", "required"] | ChosenTool
