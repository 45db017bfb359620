"""Parse the name of a language model, from `models.language` or `--model`, into a component's table.

ollama:qwen3:4b                        a model of a vendor or server, at its usual address
vllm:Qwen/Qwen3-8B@http://gpu:8000/v1  the same at another address
my-model@http://localhost:9000/v1      any endpoint; its profile is found out
smollm2-135m-instruct                  weights by name
~/models/mine.gguf                     weights by path
hf:OWNER/REPO/FILE.gguf                weights fetched by `dragoman models pull`
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

VENDORS = (
    "openai-reasoning",
    "openai",
    "anthropic",
    "gemini",
    "ollama",
    "lmstudio",
    "llamacpp",
    "vllm",
    "openrouter",
    "plain",
)
"""Profiles of `model.remote.v1` that a name may begin with."""
_SCHEMES = ("http://", "https://")
_FAMILIES = (
    (re.compile(r"(?:gpt-5|o\d)\b", re.IGNORECASE), "openai-reasoning"),
    (re.compile(r"(?:chat)?gpt-", re.IGNORECASE), "openai"),
    (re.compile(r"claude-", re.IGNORECASE), "anthropic"),
    (re.compile(r"gemini-", re.IGNORECASE), "gemini"),
)
"""How models that one vendor alone has are called."""


def model_table(name: str) -> dict[str, Any]:
    """The table of the language model with this name."""
    vendor, colon, rest = name.partition(":")
    if not colon or not rest or vendor not in VENDORS:
        vendor, rest = "", name
    starts = [place for scheme in _SCHEMES if (place := rest.find(scheme)) >= 0]
    if not vendor and (not starts or rest.endswith(".gguf")):  # a file by its URL is weights too
        return {"kind": "model.llamacpp.v1", "weights": name}
    table: dict[str, Any] = {"kind": "model.remote.v1"}
    if vendor:
        table["profile"] = vendor
    if not starts:
        return table | {"model": rest}
    start = min(starts)
    return table | {"model": rest[:start].removesuffix("@") or "default", "url": rest[start:]}


def likely_name(name: str) -> str | None:
    """Suggest a correction for a name that is neither weights nor an endpoint's model; None if unclear."""
    if name.endswith(".gguf"):
        return None
    model, at, place = name.partition("@")
    if at and place:
        return f"{model}@http://{place}"
    head, separator, rest = re.match(r"([^:/]*)([:/]?)(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
    if head.lower() in VENDORS:
        return f"{head.lower()}:{rest or 'MODEL'}"
    if separator == ":" and (close := get_close_matches(head.lower(), VENDORS, n=1, cutoff=0.75)):
        return f"{close[0]}:{rest}"
    if vendor := next((vendor for family, vendor in _FAMILIES if family.match(name)), None):
        return f"{vendor}:{name}"
    return f"ollama:{name}" if separator == ":" and rest else None
