"""Named, versioned, hashed prompt templates, one file each, in English and Chinese."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from dragoman.core.errors import UnknownNameError
from dragoman.prompts.render import dialogue, evidence, order, sources
from dragoman.prompts.style import style_text
from dragoman.prompts.template import Template, for_caller, instructed, neutral, parse, styled

__all__ = [
    "Template",
    "dialogue",
    "evidence",
    "for_caller",
    "get",
    "instructed",
    "languages",
    "names",
    "neutral",
    "order",
    "sources",
    "style_text",
    "styled",
]

_FALLBACK = "en"


@cache
def languages() -> tuple[str, ...]:
    """The languages that have templates."""
    return tuple(sorted(entry.name for entry in files(__name__).iterdir() if entry.is_dir() and len(entry.name) == 2))


@cache
def names(language: str = _FALLBACK) -> tuple[str, ...]:
    """The templates of a language."""
    folder = files(__name__) / language
    return tuple(sorted(entry.name.removesuffix(".md") for entry in folder.iterdir() if entry.name.endswith(".md")))


@cache
def get(name: str, language: str = _FALLBACK) -> Template:
    """A template by name, as in `answer.v1`; one that a language lacks is taken in English."""
    base = language.lower().partition("-")[0]
    if base not in languages():
        raise UnknownNameError("language of prompts", language, languages(), remedy="Set language to one of them.")
    if name not in names(base):
        base = _FALLBACK
    if name not in names(base):
        raise UnknownNameError("prompt", name, names(base))
    text = (files(__name__) / base / f"{name}.md").read_text(encoding="utf-8")
    return parse(name, base, text)
