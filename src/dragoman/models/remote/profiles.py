"""Profiles: what each kind of endpoint takes and gives, as small tables, and how a refusal changes one.

Each table follows the vendor's documentation. Whatever an endpoint refuses all the same is left out from then on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from dragoman.models.remote.refusals import Refusal

ProfileName: TypeAlias = Literal[
    "auto",
    "openai",
    "openai-reasoning",
    "anthropic",
    "gemini",
    "ollama",
    "lmstudio",
    "llamacpp",
    "vllm",
    "openrouter",
    "plain",
]
Schema: TypeAlias = Literal["", "response_format", "structured_outputs", "output_config"]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Profile:
    """Capabilities of an endpoint.

    `interface` is OpenAI's chat completions or Anthropic's messages; `limit` the field of the token limit; `schema` the
    field that restricts a reply to a JSON schema; `quiet` the fields that switch reasoning off, and `efforts` the field
    that sets it otherwise (`adaptive` or `budget`: Anthropic's two ways); `thinks` says that the model reasons all the
    same, so that a token limit leaves room for it; `window` is the context window in tokens, 0 where it is not known.
    """

    name: str
    interface: Literal["chat", "messages"] = "chat"
    url: str = ""
    key_env: str = ""
    limit: str = "max_tokens"
    temperature: bool = True
    logprobs: bool = True
    schema: Schema = "response_format"
    stop: bool = True
    blank_stop: bool = True
    seed: bool = True
    system: bool = True
    stream_usage: bool = True
    quiet: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    efforts: str = "reasoning_effort"
    thinks: bool = False
    unopened: bool = False
    window: int = 0


_NO_THINKING = MappingProxyType({"chat_template_kwargs": {"enable_thinking": False, "thinking": False}})
_NO_EFFORT = MappingProxyType({"reasoning_effort": "none"})

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            Profile("auto"),
            Profile("openai", url="https://api.openai.com/v1", key_env="OPENAI_API_KEY", limit="max_completion_tokens"),
            Profile(
                "openai-reasoning",
                url="https://api.openai.com/v1",
                key_env="OPENAI_API_KEY",
                limit="max_completion_tokens",
                temperature=False,
                logprobs=False,
                stop=False,
                seed=False,
                quiet=MappingProxyType({"reasoning_effort": "low"}),  # the least that all of them take
                thinks=True,
            ),
            Profile(
                "anthropic",
                interface="messages",
                url="https://api.anthropic.com/v1",
                key_env="ANTHROPIC_API_KEY",
                logprobs=False,
                schema="output_config",
                blank_stop=False,
                seed=False,
                quiet=MappingProxyType({"thinking": {"type": "disabled"}}),
                efforts="adaptive",
                window=200_000,
            ),
            Profile(
                "gemini",
                url="https://generativelanguage.googleapis.com/v1beta/openai",
                key_env="GEMINI_API_KEY",
                logprobs=False,
                seed=False,
                quiet=_NO_EFFORT,
                window=1_000_000,
            ),
            # Ollama cuts prompts silently at its own num_ctx, whatever the model could read.
            Profile("ollama", url="http://localhost:11434/v1", quiet=_NO_EFFORT, window=4096),
            Profile("lmstudio", url="http://localhost:1234/v1", logprobs=False, quiet=_NO_EFFORT, window=4096),
            Profile("llamacpp", url="http://localhost:8080/v1", quiet=_NO_THINKING),
            Profile("vllm", url="http://localhost:8000/v1", schema="structured_outputs", quiet=_NO_THINKING),
            Profile(
                "openrouter",
                url="https://openrouter.ai/api/v1",
                key_env="OPENROUTER_API_KEY",
                quiet=MappingProxyType({"reasoning": {"enabled": False, "exclude": True}}),
                efforts="reasoning",
            ),
            Profile(
                "plain",
                temperature=False,
                logprobs=False,
                schema="",
                stop=False,
                seed=False,
                stream_usage=False,
                efforts="",
            ),
        )
    }
)

_OPENAI_REASONING = re.compile(r"^(?:o\d|gpt-5(?!.*chat)|gpt-[6-9])", re.I)
UNOPENED = re.compile(r"deepseek-?r1|qwq|-thinking\b|r1-distill", re.I)
"""Names of models whose chat template opens their thoughts, so that no opening mark is in the reply."""
_HOSTS = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gemini",
    "openrouter.ai": "openrouter",
}
_OWNERS = {"library": "ollama", "vllm": "vllm", "llamacpp": "llamacpp", "organization_owner": "lmstudio"}
"""`owned_by` in the list of models, by server."""
_PORTS = {11434: "ollama", 1234: "lmstudio"}


def by_address(url: str, model: str) -> str:
    """The profile of a vendor's host, or of a server's usual port on this machine; "" for any other."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    name = _HOSTS.get(parts.hostname or "", "")
    if name == "openai" and _OPENAI_REASONING.match(model):
        return "openai-reasoning"
    try:
        port = parts.port
    except ValueError:
        port = None
    local = (parts.hostname or "") in ("localhost", "127.0.0.1", "::1")
    return name or (_PORTS.get(port or 0, "") if local else "")


def by_owner(models: Collection[Mapping[str, Any]]) -> str:
    """The profile of the server that a list of models comes from; "" where it does not say."""
    owners = {str(entry.get("owned_by", "")) for entry in models}
    return next((_OWNERS[owner] for owner in sorted(owners) if owner in _OWNERS), "")


def adapted(profile: Profile, refusal: Refusal, sent: Collection[str]) -> Profile | None:
    """The profile without what an endpoint has just refused; None where nothing about it can be changed."""
    name = refusal.field(sent)
    changed = _without(profile, name, refusal)
    if changed is None and refusal.no_system and profile.system:
        changed = replace(profile, system=False)
    if changed is None and not name and not _is_about_something_else(refusal):
        # A refusal without a reason: once more with nothing but what every endpoint takes.
        bare = PROFILES["plain"]
        changed = replace(
            bare,
            name=profile.name,
            interface=profile.interface,
            limit=profile.limit,
            system=profile.system,
            thinks=profile.thinks,
            unopened=profile.unopened,
            window=profile.window,
        )
    return changed if changed != profile else None


def _without(profile: Profile, name: str, refusal: Refusal) -> Profile | None:  # noqa: PLR0911 - one line a field
    if name in ("max_tokens", "max_completion_tokens"):
        other = "max_completion_tokens" if name == "max_tokens" else "max_tokens"
        return replace(profile, limit=other) if profile.limit == name else None
    if name in ("logprobs", "top_logprobs"):
        return replace(profile, logprobs=False)
    if name == "output_config" and "effort" in refusal.message and name in profile.quiet:
        return replace(profile, quiet=_NOTHING)
    if name in ("response_format", "structured_outputs", "output_config", "grammar"):
        fallback: Schema = "response_format" if name == "structured_outputs" else ""
        return replace(profile, schema=fallback)
    if name in ("stop", "stop_sequences"):
        return replace(profile, stop=False)
    if name == "temperature":
        return replace(profile, temperature=False)
    if name == "seed":
        return replace(profile, seed=False)
    if name == "stream_options":
        return replace(profile, stream_usage=False)
    if profile.interface == "messages" and _names_thinking(name, refusal):
        return _other_thinking(profile, refusal)
    if name in profile.quiet or (name and name == profile.efforts):
        return _less_quiet(profile, name)
    if not name and refusal.field(("thinking", "reasoning", "enable_thinking")) and profile.quiet:
        return _less_quiet(profile, next(iter(profile.quiet)))
    return None


def _names_thinking(name: str, refusal: Refusal) -> bool:
    return name == "thinking" or (not name and "adaptive thinking" in refusal.message)


def _other_thinking(profile: Profile, refusal: Refusal) -> Profile:
    """Anthropic's newer models always think and take an effort; its older ones take a budget of tokens instead."""
    if "adaptive" in refusal.message and "not supported on" in refusal.message:
        return replace(profile, efforts="budget")
    if profile.quiet.get("thinking"):
        return replace(profile, quiet=MappingProxyType({"output_config": {"effort": "low"}}), thinks=True)
    return replace(profile, efforts="adaptive" if profile.efforts == "budget" else "")


def _less_quiet(profile: Profile, name: str) -> Profile:
    """Lower the reasoning effort where reasoning cannot be switched off; drop a switch that the endpoint does not
    know."""
    if profile.quiet.get(name) == "none":
        return replace(profile, quiet=MappingProxyType({name: "low"}), thinks=True)
    return replace(profile, quiet=_NOTHING, efforts="")


def _is_about_something_else(refusal: Refusal) -> bool:
    return refusal.too_long or refusal.no_model or refusal.no_credit or refusal.status not in (400, 422, 501)
