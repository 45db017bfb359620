"""Limits that a client sets on a reply: a number of tokens, and texts at which it stops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

_TOKEN = re.compile(r"(?<!\s)\s*+(?:[぀-ヿ㐀-鿿豈-﫿가-힣]|\d{1,3}|[^\W\d_぀-ヿ㐀-鿿豈-﫿가-힣]{1,6}|[^\w\s]|_)")
"""A token: a character of a script without spaces, up to three digits, up to six letters, or a punctuation mark."""


_COUNTED = 20_000
"""Characters that are counted one by one: a request may hold a megabyte, and is counted on the event loop."""


def count_tokens(texts: Iterable[str]) -> int:
    """Count the tokens of texts by our own rule, since replies without a model have no model tokens.

    For long texts the count is extrapolated from the beginning.
    """
    tokens, counted, length = 0, 0, 0
    for text in texts:
        length += len(text)
        part = text[: _COUNTED - counted]
        tokens += sum(1 for _ in _TOKEN.finditer(part))
        counted += len(part)
    return tokens if counted == length else round(tokens * length / counted)


class ReplyLimits:
    """Cuts a streamed text. `feed` returns what may be sent now, `close` what was held back until the end."""

    def __init__(self, *, max_tokens: int | None = None, stop: Sequence[str] = ()) -> None:
        self._max_tokens = max_tokens
        self._stop = tuple(text for text in stop if text)
        self._text = ""
        self._sent = 0
        self.reason: Literal["stop", "length"] | None = None

    @property
    def is_set(self) -> bool:
        return self._max_tokens is not None or bool(self._stop)

    @property
    def delivered(self) -> str:
        """The text sent so far."""
        return self._text[: self._sent]

    def feed(self, text: str) -> str:
        return self._advance(text, final=False)

    def close(self) -> str:
        return self._advance("", final=True)

    def cut(self, text: str) -> str:
        """A whole text within the limits."""
        self.feed(text)
        self.close()
        return self.delivered

    def _advance(self, text: str, *, final: bool) -> str:
        if self.reason is not None:
            return ""
        self._text += text
        end = len(self._text) if final else self._settled()
        ends = [(place, "stop") for stop in self._stop if (place := self._text.find(stop)) >= 0]
        longest = self._longest()
        if longest is not None and longest < len(self._text):
            ends.append((longest, "length"))
        if ends and min(ends)[0] <= end:
            end, reason = min(ends)
            self.reason = "stop" if reason == "stop" else "length"
        piece, self._sent = self._text[self._sent : end], max(self._sent, end)
        return piece

    def _settled(self) -> int:
        """Return the length of the text that is final; a stop text or token may be incomplete at its end."""
        overlap = max(
            (size for stop in self._stop for size in range(1, len(stop)) if self._text.endswith(stop[:size])), default=0
        )
        end = len(self._text) - overlap
        if self._max_tokens is not None:
            end = min(end, max((match.start() for match in _TOKEN.finditer(self._text)), default=0))
        return max(end, self._sent)

    def _longest(self) -> int | None:
        """The end of the last allowed token; None if there are fewer or no limit."""
        if self._max_tokens is None:
            return None
        for number, match in enumerate(_TOKEN.finditer(self._text), start=1):
            if number == self._max_tokens:
                return match.end()
        return None
