"""Chat prompts in pieces: what the template writes, apart from the texts of the messages.

A text that is tokenised by itself, without control tokens, can never end a message or begin another one.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dragoman.core.errors import ModelError

Row: TypeAlias = Mapping[str, str]
"""A message with its role and content."""


@dataclass(frozen=True, slots=True)
class ChatPiece:
    """A part of a prompt; `is_content` says that it is a message's text, and not the template's."""

    text: str
    is_content: bool


def chat_pieces(rows: Sequence[Row], render: Callable[[Sequence[Row]], str]) -> list[ChatPiece]:
    """The pieces of the prompt that a chat template makes of messages.

    Where the template refuses or drops the system's message, as those of Gemma and early Mistral models do, its text
    goes before the first user message; where it wants roles to alternate, neighbours become one message.
    """
    try:
        pieces = _split(rows, render)
    except ModelError:
        pieces = None
    if pieces is None:
        pieces = _split(without_system(rows), render)
    if pieces is None:
        raise ModelError(
            "The model's chat template leaves messages out.", remedy="Give an instruct model with a chat template."
        )
    return pieces


def _split(rows: Sequence[Row], render: Callable[[Sequence[Row]], str]) -> list[ChatPiece] | None:
    nonce = secrets.token_hex(6)
    marks = {f"X{nonce}X{i}X": row["content"] for i, row in enumerate(rows)}
    masked = [{"role": row["role"], "content": mark} for row, mark in zip(rows, marks, strict=True)]
    parts = re.split(rf"(X{nonce}X\d+X)", render(masked))
    if set(marks) - set(parts):
        return None
    return [ChatPiece(marks.get(part, part), part in marks) for part in parts if part]


def without_system(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Messages for a model without a system role: the system's text goes before the first user message."""
    system = "\n\n".join(row["content"] for row in rows if row["role"] == "system")
    turns = merged([row for row in rows if row["role"] != "system"])
    if system and turns and turns[0]["role"] == "user":
        turns[0] = {"role": "user", "content": f"{system}\n\n{turns[0]['content']}"}
    elif system:
        turns.insert(0, {"role": "user", "content": system})
    return turns


def merged(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Messages whose roles alternate: neighbours of one role become one message."""
    turns: list[dict[str, str]] = []
    for row in rows:
        if turns and turns[-1]["role"] == row["role"]:
            turns[-1]["content"] += f"\n\n{row['content']}"
        else:
            turns.append({"role": row["role"], "content": row["content"]})
    return turns


class Inert:
    """Makes the special tokens of a vocabulary inert in a text, by a space after their first character.

    Tokenisers know some of them, such as `<tool_call>`, in every text, whether or not control tokens are parsed.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        marked = sorted({token for token in tokens if _is_mark(token)}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, marked))) if marked else None

    def __call__(self, text: str) -> str:
        if self._pattern is None:
            return text
        before = ""
        while before != text:  # what a space has parted may be the half of another token
            before, text = text, self._pattern.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
        return text


def _is_mark(token: str) -> bool:
    """Whether a special token looks like markup; runs of blanks and single letters are text like any other."""
    return len(token) > 2 and bool(re.search(r"[^\w\s]", token)) and not token[1].isspace()
