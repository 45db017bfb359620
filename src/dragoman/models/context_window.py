"""Fit messages into a context window: drop the oldest messages first, then cut the middle of the longest ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dragoman.core.values import Message

OVERHEAD = 16
"""Tokens that a chat template may put around one message."""
GAP = " … "


def fit(
    messages: Sequence[Message], room: int, count: Callable[[str], int], cut: Callable[[str, int], str]
) -> tuple[tuple[Message, ...], int]:
    """The messages that fit into `room` tokens, and how many were dropped or shortened.

    System messages and the last message are never dropped. `count` returns the number of tokens of a text, `cut`
    shortens a text in its middle to a number of tokens.
    """
    # no token is shorter than a byte, so most prompts fit without counting tokens
    if sum(len(message.content.encode("utf-8", "replace")) + OVERHEAD for message in messages) <= room:
        return tuple(messages), 0
    fitting = list(messages)
    sizes = [count(message.content) + OVERHEAD for message in fitting]
    cuts = 0
    while sum(sizes) > room:
        oldest = next((i for i, message in enumerate(fitting[:-1]) if message.role != "system"), None)
        if oldest is None:
            break
        del fitting[oldest], sizes[oldest]
        cuts += 1
    while sum(sizes) > room and cuts < len(messages) + len(fitting):
        longest = max(range(len(fitting)), key=lambda i: sizes[i])
        others = sum(sizes) - sizes[longest]
        # where two messages are too long, each is left a fair share
        share = max(room - others, room // len(fitting)) - OVERHEAD
        fitting[longest] = replace(fitting[longest], content=cut(fitting[longest].content, max(share, 1)))
        sizes[longest] = share + OVERHEAD
        cuts += 1
    return tuple(fitting), cuts


def characters(text: str) -> int:
    """An upper estimate of a text's tokens without tokenizer: a third of its bytes, or the characters beyond ASCII."""
    size = len(text.encode("utf-8", "replace"))
    return max(size // 3, sum(not character.isascii() for character in text)) + 1


def shortened(text: str, tokens: int) -> str:
    """A text cut in its middle to a number of estimated tokens."""
    share = min(tokens / characters(text), 1.0)
    keep = max(int(len(text) * share) - len(GAP), 2)
    head = keep // 2
    return text if share == 1.0 else text[:head] + GAP + text[len(text) - (keep - head) :]
