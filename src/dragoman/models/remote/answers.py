"""Replies of endpoints as values, whole ones and the events of streams alike, however wrong their numbers are."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from dragoman.core.values import Draft, Usage
from dragoman.models.tool_calls import ToolCall

Json = dict[str, Any]
_MOST = 1_000_000_000
"""No reply has more tokens: larger numbers are mistakes."""
_UNKNOWN = 0.5
"""The confidence of a text whose tokens came without probabilities."""
_THINKING = frozenset({"thinking", "redacted_thinking"})
_UNSEEN = " "
"""Stands for thoughts that the vendor does not show."""
_MOST_CALLS = 64
_CUT = frozenset({"length", "max_tokens", "model_context_window_exceeded"})


@dataclass(frozen=True, slots=True)
class AnswerToken:
    """A token of a reply, its log-probability, and the likeliest tokens at its place."""

    text: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Delta:
    """Content of one response or stream event; `exists` is False if it holds no choice."""

    text: str = ""
    thoughts: str = ""
    finish: str = ""
    tokens: tuple[AnswerToken, ...] = ()
    usage: Usage | None = None
    exists: bool = True
    price: float | None = None
    """What the endpoint charged in US dollars, where it says so (OpenRouter)."""
    calls: tuple[ToolCall, ...] = ()
    """Calls of tools; only whole replies have them."""
    refused: bool = False
    """Whether the model declined in a field of its own, in place of a text (OpenAI)."""

    @property
    def was_cut(self) -> bool:
        return self.finish in _CUT


NO_DELTA = Delta(exists=False)


def chat_delta(event: Json) -> Delta:
    """A response or an event of chat completions."""
    usage = chat_usage(table(event.get("usage"))) if event.get("usage") else None
    price = _price(table(event.get("usage")).get("cost"))
    choices = rows(event.get("choices"))
    if not choices or not isinstance(choices[0], dict):
        return replace(NO_DELTA, usage=usage, price=price)
    choice: Json = choices[0]
    message = table(choice.get("message")) or table(choice.get("delta"))
    thoughts = text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))
    finish = text_of(choice.get("finish_reason"))
    calls = _chat_calls(message) if "message" in choice else ()
    refused = bool(text_of(message.get("refusal")))
    content = text_of(message.get("content"))
    return Delta(content, thoughts, finish, _tokens(choice), usage, price=price, calls=calls, refused=refused)


def _price(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        return None
    return float(value)


def chat_usage(usage: Json) -> Usage:
    """Usage of chat completions; thoughts, which `completion_tokens` includes, are counted apart."""
    thoughts = count(table(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    written = count(usage.get("completion_tokens"))
    cached = count(table(usage.get("prompt_tokens_details")).get("cached_tokens"))
    return Usage(count(usage.get("prompt_tokens")), max(written - thoughts, 0), 1, cached, thoughts)


def messages_delta(event: Json) -> Delta:  # noqa: PLR0911 - one for each kind of event
    """A response or an event of Anthropic's messages."""
    kind = event.get("type")
    if kind == "message_start":
        return replace(NO_DELTA, usage=_messages_usage(table(table(event.get("message")).get("usage"))))
    if kind == "content_block_start" and table(event.get("content_block")).get("type") in _THINKING:
        return replace(NO_DELTA, thoughts=_UNSEEN)
    if kind == "content_block_delta":
        delta = table(event.get("delta"))
        return Delta(text_of(delta.get("text")), text_of(delta.get("thinking")))
    if kind == "message_delta":
        finish = text_of(table(event.get("delta")).get("stop_reason"))
        return Delta(finish=finish, usage=_messages_usage(table(event.get("usage"))))
    if kind == "message_stop":
        return Delta(finish="end_turn")
    blocks = [table(block) for block in rows(event.get("content"))]
    if not blocks and not event.get("stop_reason"):
        return NO_DELTA
    text = "".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text")
    thoughts = "".join(text_of(block.get("thinking")) or _UNSEEN for block in blocks if block.get("type") in _THINKING)
    usage = _messages_usage(table(event.get("usage")))
    return Delta(text, thoughts, text_of(event.get("stop_reason")), usage=usage, calls=_messages_calls(blocks))


def _messages_usage(usage: Json) -> Usage:
    cached = count(usage.get("cache_read_input_tokens"))
    read = count(usage.get("input_tokens")) + cached + count(usage.get("cache_creation_input_tokens"))
    return Usage(read, count(usage.get("output_tokens")), 1, cached)


def join_deltas(deltas: Iterable[Delta]) -> Delta:
    """Join deltas into one, in linear time: a stream may have a hundred thousand of them."""
    texts: list[str] = []
    thoughts: list[str] = []
    tokens: list[AnswerToken] = []
    finish, usage, price, exists, refused = "", None, None, False, False
    for delta in deltas:
        exists, refused = exists or delta.exists, refused or delta.refused
        texts.append(delta.text)
        thoughts.append(delta.thoughts)
        tokens += delta.tokens
        if delta.exists and not (finish and delta.finish in ("", "end_turn")):
            finish = delta.finish
        usage = _later(usage, delta.usage)
        price = delta.price if price is None else price
    return Delta("".join(texts), "".join(thoughts), finish, tuple(tokens), usage, exists, price, refused=refused)


def _later(first: Usage | None, second: Usage | None) -> Usage | None:
    """Merge the usage of two events of a stream: counts grow, and each event may report only some of them."""
    if first is None or second is None:
        return second or first
    pairs = zip(_numbers(first), _numbers(second), strict=True)
    return Usage(*(max(pair) for pair in pairs))


def _numbers(usage: Usage) -> tuple[int, ...]:
    return usage.prompt_tokens, usage.completion_tokens, usage.calls, usage.cached_tokens, usage.reasoning_tokens


def usage_of(delta: Delta, *, pieces: int, thoughts: int) -> Usage:
    """The usage of a reply; estimated from its characters where the endpoint does not say."""
    usage = delta.usage or Usage(calls=1)
    unseen = max(thoughts, len(delta.thoughts))
    if unseen and not usage.reasoning_tokens:
        share = unseen / max(unseen + len(delta.text), 1)
        hidden = round(usage.completion_tokens * share) or unseen // 4 + 1
        usage = replace(usage, reasoning_tokens=hidden, completion_tokens=max(usage.completion_tokens - hidden, 0))
    return usage if usage.completion_tokens or not delta.text else replace(usage, completion_tokens=pieces)


def draft_of(text: str, tokens: Iterable[AnswerToken], usage: Usage, notes: dict[str, str | float]) -> Draft:
    """The draft of a reply, with the geometric mean of its tokens' probabilities as confidence where they came.

    An empty text, which says nothing, has confidence 0.
    """
    if not text:
        return Draft(text, 0.0, usage=usage, notes=notes)
    logprobs = [token.logprob for token in tokens]
    if not logprobs:
        return Draft(text, _UNKNOWN, usage=usage, notes={"confidence": "not given by the endpoint", **notes})
    return Draft(text, math.exp(math.fsum(logprobs) / len(logprobs)), usage=usage, notes=notes)


def _chat_calls(message: Json) -> tuple[ToolCall, ...]:
    """The calls in a message of chat completions."""
    calls = []
    for place, entry in enumerate(rows(message.get("tool_calls"))[:_MOST_CALLS]):
        function = table(table(entry).get("function"))
        if name := text_of(function.get("name")):
            call_id = text_of(table(entry).get("id")) or f"call_{place}"
            calls.append(ToolCall(call_id, name, _arguments(function.get("arguments"))))
    return tuple(calls)


def _messages_calls(blocks: Iterable[Json]) -> tuple[ToolCall, ...]:
    """The calls among the blocks of a message of Anthropic's."""
    used = [block for block in blocks if block.get("type") == "tool_use" and text_of(block.get("name"))]
    return tuple(
        ToolCall(text_of(block.get("id")) or f"call_{place}", text_of(block["name"]), _arguments(block.get("input")))
        for place, block in enumerate(used[:_MOST_CALLS])
    )


def _arguments(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else text_of(value) or "{}"


def _tokens(choice: Json) -> tuple[AnswerToken, ...]:
    tokens = []
    for entry in map(table, rows(table(choice.get("logprobs")).get("content"))):
        logprob = number(entry.get("logprob"))
        alternatives = [
            (text_of(other.get("token")), value)
            for other in map(table, rows(entry.get("top_logprobs")))
            if (value := number(other.get("logprob"))) is not None
        ]
        if logprob is not None or alternatives:
            tokens.append(AnswerToken(text_of(entry.get("token")), logprob or 0.0, tuple(alternatives)))
    return tuple(tokens)


def number(value: object) -> float | None:
    """A log-probability within what a probability can be; None for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - not a number
        return None
    return float(max(min(value, 0.0), -1e4))


def count(value: object) -> int:
    """A number of tokens, kept within reason."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - not a number
        return 0
    return int(max(0, min(value, _MOST)))


def text_of(value: object) -> str:
    """A text, also where it comes as a list of parts; halves of surrogate pairs have no UTF-8 form and are replaced."""
    if isinstance(value, list):
        value = "".join(text_of(table(part).get("text")) for part in value)
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def table(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
