"""The style in which an assistant speaks: words such as "short, formal", or sentences of the agent's author."""

from __future__ import annotations

import re

from dragoman.core.errors import ConfigError

MOST_CHARACTERS = 500
_SEPARATOR = re.compile(r"[,，、;；]")
STYLES: dict[str, tuple[str, str]] = {
    "short": ("Use one sentence, as short as it can be.", "只用一句话，越短越好。"),
    "detailed": (
        "Use up to four sentences, and name every condition that the notes give.",
        "最多用四句话，说明资料中的每个条件。",
    ),
    "formal": (
        "Be formal and polite; use full sentences and no contractions.",
        "语气正式、礼貌，称用户为“您”，用完整的句子。",
    ),
    "friendly": ("Be warm and relaxed, as a friend would be.", "语气亲切、轻松，像朋友一样。"),
    "simple": (
        "Use everyday words and short sentences that a child or a learner of the language understands.",
        "用日常词语和短句，让孩子或初学者也能听懂。",
    ),
}
"""Styles by name, as instructions in English and Chinese."""


def style_text(style: str, language: str = "en") -> str:
    """The instructions of a style: names of `STYLES` with commas between them, or any other text as it stands."""
    style = " ".join(style.split())
    if len(style) > MOST_CHARACTERS:
        raise ConfigError(
            f"reader.style has {len(style)} characters; {MOST_CHARACTERS} are the most.",
            remedy="Say in a sentence or two how the assistant speaks; facts belong into its documents.",
        )
    parts = [part.strip().lower() for part in _SEPARATOR.split(style) if part.strip()]
    if parts and all(part in STYLES for part in parts):
        which = 1 if language.lower().startswith("zh") else 0
        return (" " if not which else "").join(STYLES[part][which] for part in dict.fromkeys(parts))
    return style
