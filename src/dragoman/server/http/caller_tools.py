"""Tools of a chat request, checked and converted for the model that writes the reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.core.errors import InputError
from dragoman.models.tool_calls import ToolCall, ToolChoice, ToolMessage, ToolSpec
from dragoman.server.http.chat_parameters import refused
from dragoman.server.http.tool_schemas import ChosenTool
from dragoman.server.http.views import View, dumps
from dragoman.server.turns.tool_reader import CallerTools

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dragoman.server.http.schemas import ChatMessage, ChatRequest

_MOST_TOOLS, _MOST_BYTES = 128, 200_000
_INSTRUCTING = ("system", "developer")


def caller_tools(
    request: ChatRequest, text_of: Callable[[ChatMessage], str], *, why_not: str, is_whole: bool
) -> CallerTools | None:
    """The tools of a request; None if it has none to call, and no results of any.

    `why_not` says why the agent cannot use tools, and refuses a request that needs them. `is_whole` says that the
    messages are the whole conversation.
    """
    dialogue = [(place, message) for place, message in enumerate(request.messages) if message.role not in _INSTRUCTING]
    exchanged = next((place for place, message in dialogue if message.role == "tool" or message.tool_calls), None)
    choice, only = _choice(request)
    if exchanged is not None and why_not:
        where = "role" if request.messages[exchanged].role == "tool" else "tool_calls"
        raise refused(f"messages.{exchanged}.{where}", why_not)
    if choice == "required" and not request.tools:
        raise refused("tool_choice", "The request has no `tools` to choose from.")
    if exchanged is None and (not request.tools or choice == "none"):
        return None
    if why_not:
        raise refused("tools", why_not)
    tools = _tools(request)
    if only and only not in {tool.name for tool in tools}:
        raise refused("tool_choice", f"There is no tool '{only}' in `tools`.")
    return CallerTools(
        tools,
        _messages(dialogue, text_of),
        is_whole,
        choice,
        only,
        request.parallel_tool_calls,
        request.most_tokens,
    )


def _choice(request: ChatRequest) -> tuple[ToolChoice, str]:
    choice = request.tool_choice
    if isinstance(choice, ChosenTool):
        return "required", choice.function.name
    return choice or "auto", ""


def _tools(request: ChatRequest) -> tuple[ToolSpec, ...]:
    declared = request.tools or []
    if len(declared) > _MOST_TOOLS:
        raise refused("tools", f"There are {len(declared)}; at most {_MOST_TOOLS} are taken.")
    size = len(dumps([tool.model_dump(mode="json") for tool in declared]))
    if size > _MOST_BYTES:
        raise refused("tools", f"They have {size:,} bytes; at most {_MOST_BYTES:,} are taken.")
    tools: dict[str, ToolSpec] = {}
    for place, tool in enumerate(declared):
        function = tool.function
        if tool.type != "function" or function is None:
            raise refused(f"tools.{place}.type", f"Tools of the type '{tool.type[:40]}' are not supported.")
        if function.name in tools:
            raise refused(f"tools.{place}.function.name", f"Two tools are called '{function.name}'.")
        tools[function.name] = ToolSpec(
            function.name, function.description or "", function.parameters or {}, function.strict
        )
    return tuple(tools.values())


def _messages(
    dialogue: Sequence[tuple[int, ChatMessage]], text_of: Callable[[ChatMessage], str]
) -> tuple[ToolMessage, ...]:
    """The conversation; raises an error unless every call has its result, and every result its call."""
    messages: list[ToolMessage] = []
    waiting: dict[str, str] = {}
    for place, message in dialogue:
        if message.role == "tool":
            if waiting.pop(message.tool_call_id or "", None) is None:
                raise InputError(
                    f"messages.{place} is the result of no call.", remedy="Give `tool_call_id` of a call just before."
                )
            messages.append(ToolMessage("tool", text_of(message), call_id=message.tool_call_id or ""))
            continue
        _check_answered(waiting)
        tool_calls = (message.tool_calls or ()) if message.role == "assistant" else ()
        calls = tuple(ToolCall(call.id, call.function.name, call.function.arguments) for call in tool_calls)
        waiting = {call.id: call.name for call in calls}
        messages.append(ToolMessage("assistant" if message.role == "assistant" else "user", text_of(message), calls))
    _check_answered(waiting)
    return tuple(messages)


def _check_answered(waiting: dict[str, str]) -> None:
    if waiting:
        call_id, name = next(iter(waiting.items()))
        raise InputError(
            f"The call '{call_id[:80]}' of '{name}' has no result.",
            remedy="Send a message with the role 'tool' for it.",
        )


def call_views(calls: Sequence[ToolCall]) -> list[View]:
    """Calls as OpenAI's chat API shows them."""
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]
