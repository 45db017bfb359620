"""Tools of a calling program in the requests and replies of endpoints, by interface."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from dragoman.models.remote.answers import table
from dragoman.models.remote.profiles import Profile
from dragoman.models.remote.refusals import Refusal
from dragoman.models.tool_calls import ToolMessage, ToolPrompt, ToolSpec
from dragoman.prompts import neutral

Json = dict[str, Any]
_FIELDS = ("tools", "tool_choice", "parallel_tool_calls")
_NO_TOOLS = re.compile(r"not support\w* tool|support tool use|tool choice requires|--tool-call-parser", re.I)


def tool_fields(profile: Profile, prompt: ToolPrompt) -> Json:
    """The messages of a request, and the fields about tools."""
    messages = [replace(message, content=neutral(message.content)) for message in prompt.messages]
    if profile.interface == "messages":
        return _anthropic(messages, prompt)
    if not profile.system:
        messages = _without_system(messages)
    fields: Json = {"messages": [_chat_message(message) for message in messages]}
    if not prompt.tools:
        return fields
    fields["tools"] = [{"type": "function", "function": _described(tool)} for tool in prompt.tools]
    if prompt.only:
        fields["tool_choice"] = {"type": "function", "function": {"name": prompt.only}}
    elif prompt.choice != "auto":
        fields["tool_choice"] = prompt.choice
    if prompt.parallel is not None:
        fields["parallel_tool_calls"] = prompt.parallel
    return fields


def refused_field(refusal: object) -> str:
    """The field about tools that an endpoint refuses; "" where it refuses something else."""
    if not isinstance(refusal, Refusal) or refusal.status not in (400, 404, 405, 422, 501):
        return ""
    return "tools" if _NO_TOOLS.search(refusal.message) else refusal.field(_FIELDS)


def _described(tool: ToolSpec) -> Json:
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}}
    described: Json = {"name": tool.name, "parameters": parameters}
    if tool.description:
        described["description"] = tool.description
    return described if tool.strict is None else {**described, "strict": tool.strict}


def _without_system(messages: Sequence[ToolMessage]) -> list[ToolMessage]:
    """Messages for a model without a system role: the system's text goes before the first user message."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    turns = [message for message in messages if message.role != "system"]
    if system and turns and turns[0].role == "user":
        return [replace(turns[0], content=f"{system}\n\n{turns[0].content}"), *turns[1:]]
    return [ToolMessage("user", system), *turns] if system else turns


def _chat_message(message: ToolMessage) -> Json:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    row: Json = {"role": message.role, "content": message.content}
    if message.calls:
        row["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    return row


def _anthropic(messages: Sequence[ToolMessage], prompt: ToolPrompt) -> Json:
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    turns: list[Json] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if not turns or turns[-1]["role"] != role:
            turns.append({"role": role, "content": []})
        turns[-1]["content"].extend(_blocks(message))
    fields: Json = {"messages": turns, "system": [{"type": "text", "text": system}]} if system else {"messages": turns}
    if prompt.tools:
        fields["tools"] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": dict(tool.parameters) or {"type": "object"},
            }
            for tool in prompt.tools
        ]
        kind = {"auto": "auto", "none": "none", "required": "any"}[prompt.choice]
        choice: Json = {"type": "tool", "name": prompt.only} if prompt.only else {"type": kind}
        if prompt.parallel is False and choice["type"] != "none":
            choice["disable_parallel_tool_use"] = True
        fields["tool_choice"] = choice
    return fields


def _blocks(message: ToolMessage) -> Iterator[Json]:
    if message.role == "tool":
        yield {"type": "tool_result", "tool_use_id": message.call_id, "content": message.content}
        return
    if message.content.strip():
        yield {"type": "text", "text": message.content}
    for call in message.calls:
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": _object(call.arguments)}


def _object(arguments: str) -> Json:
    try:
        return table(json.loads(arguments))
    except (ValueError, RecursionError):
        return {}
