"""Bodies of requests, by interface and profile."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from dragoman.core.values import Message, Prompt
from dragoman.models.chat_pieces import merged, without_system
from dragoman.models.context_window import characters, fit, shortened
from dragoman.models.remote.profiles import Profile
from dragoman.models.tool_calls import ToolPrompt
from dragoman.prompts import neutral

log = logging.getLogger(__name__)
Json = dict[str, Any]
Reasoning: TypeAlias = Literal["off", "default", "low", "medium", "high"]
TOP = 20
"""The most alternatives that the interfaces return for a token."""
ANTHROPIC_VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request before a profile gives it its form."""

    prompt: Prompt
    limit: int
    stop: tuple[str, ...] = ()
    temperature: float = 0.0
    logprobs: bool = True
    top: int = 0
    schema: Mapping[str, Any] | None = None
    seed: int | None = None
    stream: bool = False
    tools: ToolPrompt | None = None


def path_of(profile: Profile, *, models: bool = False) -> str:
    if models:
        return "/models"
    return "/messages" if profile.interface == "messages" else "/chat/completions"


def body_of(
    profile: Profile,
    messages: Sequence[Message],
    *,
    model: str,
    limit: int,
    temperature: float,
    stop: Sequence[str] = (),
    reasoning: Reasoning = "off",
    logprobs: bool = False,
    top: int = 0,
    schema: Mapping[str, Any] | None = None,
    seed: int | None = None,
    stream: bool = False,
    extra: Mapping[str, Any] | None = None,
) -> Json:
    """The body of a request: what the profile takes, then `extra`, which replaces whatever it names."""
    body: Json = {"model": model, **_messages(profile, messages), profile.limit: limit}
    if profile.temperature:
        body["temperature"] = min(temperature, 1.0) if profile.interface == "messages" else temperature
    stops = [mark for mark in stop if mark and (profile.blank_stop or mark.strip())]
    if stops and profile.stop:
        body["stop_sequences" if profile.interface == "messages" else "stop"] = stops
    if logprobs and profile.logprobs:
        body["logprobs"] = True
        if top:
            body["top_logprobs"] = top
    if schema is not None:
        body |= _schema(profile, schema)
    if seed is not None and profile.seed:
        body["seed"] = seed
    if stream and profile.stream_usage and profile.interface == "chat":
        body["stream_options"] = {"include_usage": True}
    for name, value in _reasoning(profile, reasoning, limit).items():
        both = isinstance(value, dict) and isinstance(body.get(name), dict)
        body[name] = body[name] | value if both else value  # an effort beside a schema
    if "temperature" in body and not profile.temperature:
        del body["temperature"]
    return body | dict(extra or {})


def fitted_messages(profile: Profile, prompt: Prompt, limit: int) -> tuple[Sequence[Message], dict[str, str | float]]:
    """The messages that fit into the window beside the reply, with everything like a control token made inert."""
    inert = [replace(message, content=neutral(message.content)) for message in prompt.messages]
    room = max(profile.window - limit, profile.window // 2) if profile.window else 0
    if not room:
        return inert, {}
    messages, cuts = fit(inert, room, characters, shortened)
    if not cuts:
        return messages, {}
    log.warning("prompt %r did not fit into %d tokens: %d cuts", prompt.name, profile.window, cuts)
    return messages, {"cut": f"{cuts} messages dropped or shortened to fit {profile.window} tokens"}


def _messages(profile: Profile, messages: Sequence[Message]) -> Json:
    rows = [{"role": message.role, "content": _utf8(message.content)} for message in messages]
    if profile.interface == "messages":
        system = "\n\n".join(row["content"] for row in rows if row["role"] == "system")
        turns = merged([row for row in rows if row["role"] != "system"])
        # The stable beginning of every prompt: the vendor keeps it, and reads it at a tenth of the price.
        mark = {"cache_control": {"type": "ephemeral"}}
        return {"messages": turns} | ({"system": [{"type": "text", "text": system, **mark}]} if system else {})
    if not profile.system:
        rows = without_system(rows)
    return {"messages": rows}


def _schema(profile: Profile, schema: Mapping[str, Any]) -> Json:
    if profile.schema == "response_format":
        described = {"name": "choice", "strict": True, "schema": dict(schema)}
        return {"response_format": {"type": "json_schema", "json_schema": described}}
    if profile.schema == "structured_outputs":
        return {"structured_outputs": {"json": dict(schema)}}
    if profile.schema == "output_config":
        return {"output_config": {"format": {"type": "json_schema", "schema": dict(schema)}}}
    return {}


def _reasoning(profile: Profile, reasoning: Reasoning, limit: int) -> Json:
    if reasoning == "default":
        return {}
    if reasoning == "off":
        return dict(profile.quiet)
    if profile.interface == "messages":
        return _anthropic_thinking(profile, reasoning, limit)
    if profile.efforts == "reasoning":
        return {"reasoning": {"effort": reasoning, "exclude": True}}
    if "chat_template_kwargs" in profile.quiet:
        return {"chat_template_kwargs": {"enable_thinking": True, "thinking": True}}
    return {profile.efforts: reasoning} if profile.efforts else {}


def _anthropic_thinking(profile: Profile, reasoning: Reasoning, limit: int) -> Json:
    """Anthropic takes no temperature beside thinking, and a budget of at least 1024 below the limit."""
    if profile.efforts == "adaptive":
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": reasoning}, "temperature": 1}
    budget = {"low": 1024, "medium": 4096, "high": 16384}[reasoning]
    return {"thinking": {"type": "enabled", "budget_tokens": max(min(budget, limit - 1), 1024)}, "temperature": 1}


def _utf8(text: str) -> str:
    """The text without halves of surrogate pairs, which have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")
