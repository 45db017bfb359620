"""Parameters of OpenAI's chat and responses: which are honoured, which are refused, and which have no meaning here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import ValidationError

from dragoman.core.errors import ServiceError
from dragoman.server.http.schemas import ChatMessage, ChatRequest

Treatment: TypeAlias = Literal["honoured", "refused", "no meaning"]


class Parameter(NamedTuple):
    """How a parameter is treated, and a sentence that says so; `docs/server.md` has the table."""

    treatment: Treatment
    note: str


_SAMPLED = "Where a model writes the reply and its endpoint takes it; else under `dragoman.ignored`."
_UNSAMPLED = "A model gets `temperature` and `seed` alone."
_TOOLS = (
    "Lent to the model that writes the replies, where there is one that calls tools; else refused, with the reason."
)
_FUNCTIONS = "Use `tools`."
_NO_SAMPLES = "Replies are checked texts, not samples; `dragoman.confidence` is a probability."

CHAT_PARAMETERS: dict[str, Parameter] = {
    "model": Parameter("honoured", "The name of an agent."),
    "messages": Parameter(
        "honoured", "Text, and tool calls with their results. Pictures, audio and files are refused."
    ),
    "stream": Parameter("honoured", "A chunk with the role comes first, then text as it is checked."),
    "stream_options": Parameter("honoured", "`include_usage`."),
    "n": Parameter("honoured", "Only 1; more is refused."),
    "max_tokens": Parameter("honoured", "The reply is cut, with `finish_reason` `length`; the chat keeps all of it."),
    "max_completion_tokens": Parameter("honoured", "As `max_tokens`; the smaller one holds."),
    "stop": Parameter("honoured", "Up to four texts; the reply ends before the first one in it."),
    "response_format": Parameter("honoured", "`text`, and `json_schema` where the turn can fill it; else a refusal."),
    "temperature": Parameter("honoured", _SAMPLED),
    "seed": Parameter("honoured", _SAMPLED),
    "user": Parameter("honoured", "Kept with the chat. It does not say who calls: the key does."),
    "metadata": Parameter("honoured", "Kept with the chat: up to 16 texts by name."),
    "dragoman": Parameter(
        "honoured",
        "Ours: `dialogue` names the chat to continue; `retrieve`, `memory`, `sources`, `keep`, `since`, `until`, "
        "`model` control it.",
    ),
    "tools": Parameter("honoured", _TOOLS),
    "tool_choice": Parameter("honoured", "`none`, `auto`, `required` or a function of `tools`."),
    "parallel_tool_calls": Parameter("honoured", "Passed on to the model with `tools`."),
    "functions": Parameter("refused", _FUNCTIONS),
    "function_call": Parameter("refused", "Unless `none` or `auto`. Use `tool_choice`."),
    "logprobs": Parameter("refused", _NO_SAMPLES),
    "top_logprobs": Parameter("refused", _NO_SAMPLES),
    "logit_bias": Parameter("refused", "Tokens are not sampled."),
    "modalities": Parameter("refused", 'Unless `["text"]`: replies are text.'),
    "audio": Parameter("refused", "Replies are text."),
    "web_search_options": Parameter("refused", "An agent searches the sources of its configuration."),
    "top_p": Parameter("no meaning", _UNSAMPLED),
    "frequency_penalty": Parameter("no meaning", _UNSAMPLED),
    "presence_penalty": Parameter("no meaning", _UNSAMPLED),
    "reasoning_effort": Parameter("no meaning", "The agent's configuration decides how much is checked."),
    "verbosity": Parameter("no meaning", "A system message may ask for short replies."),
    "prediction": Parameter("no meaning", "It could only make a reply quicker."),
    "store": Parameter("honoured", "`false` keeps nothing of the turn, as `keep` of `dragoman` does."),
    "service_tier": Parameter("no meaning", "There is one."),
    "prompt_cache_key": Parameter("no meaning", "Caches need no help."),
    "prompt_cache_options": Parameter("no meaning", "Caches need no help."),
    "prompt_cache_retention": Parameter("no meaning", "Caches need no help."),
    "moderation": Parameter("no meaning", "Replies come from the agent's own sources."),
    "safety_identifier": Parameter("no meaning", "The key says who calls."),
}
"""Every parameter that OpenAI documents for chat completions, and ours."""

RESPONSE_PARAMETERS: dict[str, Parameter] = {
    "model": Parameter("honoured", "The name of an agent."),
    "input": Parameter("honoured", "Messages, calls of functions and their results."),
    "instructions": Parameter("honoured", "As a system message."),
    "previous_response_id": Parameter("honoured", "Continues the chat of that response."),
    "stream": Parameter("honoured", "Events, whose text comes as it is checked."),
    "max_output_tokens": Parameter("honoured", "The response is cut, and `incomplete`."),
    "text.format": Parameter("honoured", "As `response_format` of chat completions."),
    "temperature": Parameter("honoured", _SAMPLED),
    "user": Parameter("honoured", "Kept with the chat."),
    "metadata": Parameter("honoured", "Kept with the chat."),
    "tools": Parameter("honoured", "Functions, and `file_search`."),
    "tool_choice": Parameter("honoured", "Of functions, and of `file_search`."),
    "parallel_tool_calls": Parameter("honoured", "Passed on to the model with `tools`."),
    "include": Parameter("honoured", "`file_search_call.results`; more is refused."),
    "store": Parameter("honoured", "`false` keeps nothing of the turn."),
    "dragoman": Parameter("honoured", "Ours, as of chat completions."),
    "background": Parameter("refused", "Turns run while the request is open."),
    "conversation": Parameter("refused", "Use `previous_response_id`."),
    "prompt": Parameter("refused", "There are no stored prompts."),
    "top_logprobs": Parameter("refused", _NO_SAMPLES),
    "top_p": Parameter("no meaning", _UNSAMPLED),
    "reasoning": Parameter("no meaning", "The agent's configuration decides how much is checked."),
    "truncation": Parameter("no meaning", "The agent chooses the messages that fit."),
    "context_management": Parameter("no meaning", "The agent chooses the messages that fit."),
    "max_tool_calls": Parameter("no meaning", "A turn searches as its plan says."),
    "text.verbosity": Parameter("no meaning", "`instructions` may ask for short replies."),
    "stream_options": Parameter("no meaning", "There is nothing to choose."),
    "moderation": Parameter("no meaning", "Replies come from the agent's own sources."),
    "image": Parameter("no meaning", "Replies are text."),
    "access_programs": Parameter("no meaning", "The key says who calls."),
    "service_tier": Parameter("no meaning", "There is one."),
    "prompt_cache_key": Parameter("no meaning", "Caches need no help."),
    "prompt_cache_options": Parameter("no meaning", "Caches need no help."),
    "prompt_cache_retention": Parameter("no meaning", "Caches need no help."),
    "safety_identifier": Parameter("no meaning", "The key says who calls."),
}
"""Every parameter that OpenAI documents for responses, and ours."""

_SAMPLING = ("temperature", "seed")
_UNUSED = ("top_p", "frequency_penalty", "presence_penalty")
_UNTOLD = frozenset(
    {"store", "service_tier", "safety_identifier", "keep_alive"}
    | {"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"}
)
"""Parameters whose absence changes nothing in a reply."""
_UNCHOSEN: tuple[object, ...] = (None, "none", "auto")
_REFUSED: Mapping[str, Callable[[Any], bool]] = {
    "functions": bool,
    "function_call": lambda value: value not in _UNCHOSEN,
    "logprobs": bool,
    "top_logprobs": bool,
    "logit_bias": bool,
    "modalities": lambda value: value not in (None, [], ["text"]),
    "audio": bool,
    "web_search_options": lambda value: value is not None,
}
"""When the value of a refused parameter asks for something; `tools: []` does not."""


class RefusedParameterError(ServiceError):
    """A parameter asks for what an agent cannot do."""

    code = "unsupported-parameter"

    def __init__(self, parameter: str, note: str, *, remedy: str = "") -> None:
        super().__init__(
            f"'{parameter}' cannot be honoured here. {note}",
            remedy=remedy or f"Leave '{parameter}' out; docs/server.md lists every parameter.",
            param=parameter,
        )
        self.parameter, self.note, self.own_remedy = parameter, note, remedy


def refused(parameter: str, note: str, *, remedy: str = "") -> RefusedParameterError:
    """The error for a parameter that an agent cannot honour."""
    return RefusedParameterError(parameter, note, remedy=remedy)


@contextmanager
def named_as(names: Mapping[str, str]) -> Iterator[None]:
    """Give refused parameters of a chat request the names that they have in another API."""
    try:
        yield
    except RefusedParameterError as error:
        name, dot, rest = error.parameter.partition(".")
        if name not in names:
            raise
        raise refused(f"{names[name]}{dot}{rest}", error.note, remedy=error.own_remedy) from None


def checked_request(fields: Mapping[str, Any]) -> ChatRequest:
    """A chat request from the fields of another API; a value that does not fit is refused by its name."""
    try:
        return ChatRequest.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise refused(".".join(str(part) for part in first["loc"]), f"{first['msg']}.") from None


def check_parameters(request: ChatRequest) -> None:
    """Raise an error for the first parameter or message that asks for what an agent does not do."""
    if request.n not in (None, 1):
        raise refused("n", "A turn has one reply.")
    extra = request.model_extra or {}
    for name, asks in _REFUSED.items():
        if asks(extra.get(name)):
            raise refused(name, CHAT_PARAMETERS[name].note)
    for place, message in enumerate(request.messages):
        _check_message(place, message)


def _check_message(place: int, message: ChatMessage) -> None:
    where = f"messages.{place}"
    if message.role == "function":
        raise refused(f"{where}.role", "Results of tools have the role `tool`.")
    if (message.model_extra or {}).get("function_call"):
        raise refused(f"{where}.function_call", "Use `tool_calls`.")


def ignored(request: ChatRequest, *, samples: bool = False) -> list[str]:
    """Names of given parameters without meaning for an agent, and of unknown ones.

    With `samples`, the agent's reader obeys `temperature` and `seed`.
    """
    names = {name for name, value in (request.model_extra or {}).items() if value not in (None, [], {})}
    names |= {name for name in (_UNUSED if samples else (*_UNUSED, *_SAMPLING)) if getattr(request, name) is not None}
    return sorted(names - _UNTOLD - _REFUSED.keys())[:50]
