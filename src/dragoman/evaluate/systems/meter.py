"""Meters the model calls of an experiment, in every role: wrappers with the interface of the model they wrap.

Gates, planners and critics ask the shared model without reporting it. The runner puts a meter around the model and the
encoder, reads it before and after a batch, and gives each turn its share:

    meter = CallMeter()
    model, encoder = Metered(model, meter), MeteredEncoder(encoder, meter)
    before = meter.read()
    replies = agent.run(contexts)
    shares = split(meter.read() - before, len(replies))
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dragoman.core.protocols import Encoder, LanguageModel
from dragoman.core.values import Draft, Prompt, Usage
from dragoman.evaluate.results import NO_USAGE

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray


@dataclass(frozen=True, slots=True)
class MeterReading:
    """Totals so far. `choices` counts calls that chose among options, which report no tokens.

    `encodings` counts calls of the encoder, `encoded` the texts that they held.
    """

    calls: int = 0
    choices: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    encodings: int = 0
    encoded: int = 0

    def __sub__(self, other: MeterReading) -> MeterReading:
        return MeterReading(*(mine - theirs for mine, theirs in zip(_fields(self), _fields(other), strict=True)))

    def __add__(self, other: MeterReading) -> MeterReading:
        return MeterReading(*(mine + theirs for mine, theirs in zip(_fields(self), _fields(other), strict=True)))

    @property
    def usage(self) -> Usage:
        """The usage of the language model."""
        if not (self.calls or self.prompt_tokens or self.completion_tokens):
            return NO_USAGE
        return Usage(self.prompt_tokens, self.completion_tokens, self.calls)


class CallMeter:
    """A running total that several wrappers and threads add to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = MeterReading()

    def read(self) -> MeterReading:
        """Everything counted so far."""
        return self._total

    def add(self, spent: MeterReading) -> None:
        with self._lock:
            self._total += spent


class Metered:
    """A language model with counted calls, one per prompt; other attributes are those of the model."""

    def __init__(self, model: LanguageModel, meter: CallMeter | None = None) -> None:
        self._model = model
        self.meter = meter or CallMeter()

    def generate(self, prompts: Sequence[Prompt], *, max_tokens: int, stop: Sequence[str] = ()) -> Sequence[Draft]:
        drafts = self._model.generate(prompts, max_tokens=max_tokens, stop=stop)
        for draft in drafts:
            self.meter.add(_of(draft))
        return drafts

    def stream(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Iterator[str | Draft]:
        has_usage = False
        try:
            for piece in self._model.stream(prompt, max_tokens=max_tokens, stop=stop):
                if isinstance(piece, Draft):
                    has_usage = True
                    self.meter.add(_of(piece))
                yield piece
        finally:
            if not has_usage:  # interrupted: the call was made, but its tokens are unknown
                self.meter.add(MeterReading(calls=1))

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> Sequence[Mapping[str, float]]:
        choices = self._model.choose(prompts, options)
        self.meter.add(MeterReading(calls=len(prompts), choices=len(prompts)))
        return choices

    def __getattr__(self, name: str) -> Any:  # warm_up, close, clear_cache: whatever the model has
        return _passed_on(self, "_model", name)


class MeteredEncoder:
    """An encoder with counted texts; other attributes are those of the encoder."""

    def __init__(self, encoder: Encoder, meter: CallMeter | None = None) -> None:
        self._encoder = encoder
        self.meter = meter or CallMeter()

    @property
    def dimensions(self) -> int:
        return self._encoder.dimensions

    def encode(self, texts: Sequence[str]) -> FloatArray:
        return self._counted(self._encoder.encode, texts)

    def __getattr__(self, name: str) -> Any:  # warm_up, forget, tokens: whatever the encoder has
        attribute = _passed_on(self, "_encoder", name)
        # no method of ours: who asks whether the encoder has it must be told the truth
        return partial(self._counted, attribute) if name == "encode_passages" else attribute

    def _counted(self, read: Callable[[Sequence[str]], FloatArray], texts: Sequence[str]) -> FloatArray:
        vectors = read(texts)
        self.meter.add(MeterReading(encodings=1, encoded=len(texts)))
        return vectors


def split(spent: MeterReading, turns: int) -> list[MeterReading]:
    """Divide the cost of a batch evenly over its turns in whole numbers; the first turns take the remainder.

    The shares add up to the whole, so that means over turns are exact; a single turn's own cost is known only in a
    batch of one.
    """
    parts = [divmod(number, turns) if turns else (0, 0) for number in _fields(spent)]
    return [MeterReading(*(share + (turn < rest) for share, rest in parts)) for turn in range(turns)]


def _of(draft: Draft) -> MeterReading:
    usage = draft.usage
    return MeterReading(max(usage.calls, 1), 0, usage.prompt_tokens, usage.completion_tokens)


def _fields(reading: MeterReading) -> tuple[int, ...]:
    return (
        reading.calls,
        reading.choices,
        reading.prompt_tokens,
        reading.completion_tokens,
        reading.encodings,
        reading.encoded,
    )


def _passed_on(wrapper: object, held: str, name: str) -> Any:
    if name == held:  # while being copied or unpickled there is nothing to pass on to yet
        raise AttributeError(name)
    return getattr(getattr(wrapper, held), name)
