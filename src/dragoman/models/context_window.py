"""Making messages fit a window: whole old messages go first, then the middle of what is still too long."""

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

    Kept are what a system message says and the last message. `count` gives a text's tokens, `cut` a
    text shortened in its middle to a number of tokens.
    """
    # no token is shorter than a byte, so most prompts fit without counting tokens
    if sum(len(message.content.encode("utf-8", "replace")) + OVERHEAD for message in messages) <= room:
        return tuple(messages), 0
    kept = list(messages)
    sizes = [count(message.content) + OVERHEAD for message in kept]
    cuts = 0
    while sum(sizes) > room:
        oldest = next((i for i, message in enumerate(kept[:-1]) if message.role != "system"), None)
        if oldest is None:
            break
        del kept[oldest], sizes[oldest]
        cuts += 1
    while sum(sizes) > room and cuts < len(messages) + len(kept):
        longest = max(range(len(kept)), key=lambda i: sizes[i])
        others = sum(sizes) - sizes[longest]
        # where two messages are too long, each is left a fair share
        share = max(room - others, room // len(kept)) - OVERHEAD
        kept[longest] = replace(kept[longest], content=cut(kept[longest].content, max(share, 1)))
        sizes[longest] = share + OVERHEAD
        cuts += 1
    return tuple(kept), cuts
