"""Values as the text that goes into a prompt's fields. Line breaks inside a text become spaces, so that nobody's
words can pose as another speaker's line."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.values import Context, Evidence, Source

_SPEAKERS = {"en": {"user": "User", "agent": "Agent"}, "zh": {"user": "用户", "agent": "系统"}}
_COLON = {"en": ": ", "zh": "："}
_FREE = {"en": "Any order is allowed.", "zh": "调用顺序不限。"}
_AFTER = {"en": "{name} comes after {needs}.", "zh": "{name} 必须在 {needs} 之后调用。"}
_COMMA = {"en": ", ", "zh": "、"}


def dialogue(context: Context, language: str = "en", *, last: int | None = None) -> str:
    """The turns, one a line, each under its speaker; `last` keeps only the newest."""
    base = _base(language)
    turns = context.turns if last is None else context.turns[-last:]
    return "\n".join(f"{_SPEAKERS[base][turn.speaker]}{_COLON[base]}{_line(turn.text)}" for turn in turns)


def evidence(pieces: Sequence[Evidence], language: str = "en") -> str:
    """The evidence, one a line, in the order given, or NULL."""
    del language  # a list reads the same in both; kept so that every function here is called alike
    return "\n".join(f"- {_line(piece.text)}" for piece in pieces) or "NULL"


def sources(declared: Sequence[Source], language: str = "en") -> str:
    """The sources, one a line, with what they hold."""
    colon = _COLON[_base(language)]
    return "\n".join(f"{source.name}{colon}{_line(source.description) or source.about}" for source in declared)


def order(declared: Sequence[Source], language: str = "en") -> str:
    """Describe in words which sources must be asked before others."""
    base = _base(language)
    rules = [
        _AFTER[base].format(name=source.name, needs=_COMMA[base].join(source.needs))
        for source in declared
        if source.needs
    ]
    return " ".join(rules) or _FREE[base]


def _base(language: str) -> str:
    base = language.lower().partition("-")[0]
    return base if base in _SPEAKERS else "en"


def _line(text: str) -> str:
    return " ".join(text.split())
