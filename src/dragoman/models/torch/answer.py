"""An answer during generation: its tokens, the text that can be streamed so far, and the final draft."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.core.values import Draft, Usage

_HALF_READ = "�"


@dataclass(slots=True)
class AnswerText:
    """One answer; `stop` are strings that end it and are not part of it. Text is decoded on demand."""

    prompt_tokens: int
    stop: Sequence[str] = ()
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: str = ""
    _text: str = ""
    _made: int = 0
    _count: int = 0
    _decode: Callable[[Sequence[int]], str] = lambda tokens: ""

    @property
    def text(self) -> str:
        """The text so far."""
        if self._made < len(self.tokens):
            self._text, self._made = self._decode(self.tokens), len(self.tokens)
        return self._text

    def take(self, token: int, logprob: float, ends: frozenset[int], decode: Callable[[Sequence[int]], str]) -> None:
        """Add a token, unless the answer has ended."""
        if self.finish:
            return
        if token in ends:
            self.finish = "stop"
            return
        self.tokens.append(token)
        self.logprobs.append(logprob)
        self._decode = decode
        cuts = [place for mark in self.stop if mark and (place := self.text.find(mark)) >= 0]
        if cuts:
            self._text, self.finish = self.text[: min(cuts)], "stop"

    def fresh(self, *, last: bool = False) -> str:
        """New text to stream: neither half a character nor the possible beginning of a stop string."""
        withheld = 0 if last or self.finish else max((len(mark) - 1 for mark in self.stop if mark), default=0)
        text = self.text
        sure = text[: len(text) - withheld]
        if not last and not self.finish and sure.endswith(_HALF_READ):
            sure = sure.rstrip(_HALF_READ)
        piece, self._count = sure[self._count :], max(self._count, len(sure))
        return piece

    def draft(self, notes: Mapping[str, str | float] | None = None) -> Draft:
        """The text with the geometric mean of its tokens' probabilities as confidence."""
        count = len(self.logprobs)
        confidence = min(1.0, math.exp(math.fsum(self.logprobs) / count)) if count else 0.0
        usage = Usage(self.prompt_tokens, count, 1)
        all_notes = {"finish": self.finish or "length"} | dict(notes or {})
        return Draft(self.text, confidence, usage=usage, notes=all_notes)
