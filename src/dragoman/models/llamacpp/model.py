"""A language model in this process, from a GGUF file: generate, stream, choose, several turns at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dragoman.core.caches import keeps_texts
from dragoman.core.environment import cores
from dragoman.core.errors import ConfigError, DragomanError
from dragoman.core.registry import models
from dragoman.core.values import Draft, Prompt, Sampling, Usage
from dragoman.models import weights as catalogue
from dragoman.models.choice import check_options, walk
from dragoman.models.llamacpp.calls import CollectedText, NextTokens, each, ignore, streamed
from dragoman.models.llamacpp.chat import ChatTokens
from dragoman.models.llamacpp.server import LlamaServer
from dragoman.models.metering import record, recorded
from dragoman.models.thoughts import VisibleText

_ANSWER_ROOM = 64
_OWN = Sampling()
_SEEDS = 2**32 - 1
"""The number after the last seed means a random one."""
_WRITES_WELL = 1_000_000_000
"""Bytes of a file from which on a model writes well enough to say answers in its own words."""


@models.register("llamacpp.v1")
class LlamaCppModel:
    """A GGUF model by path or catalogue name, with a LoRA adapter in a GGUF file where one is given.

    `context_tokens` is the window of each of `parallel` turns.

    A prompt that begins as an earlier one did is read only from where it differs. Prompts longer than
    the window lose their oldest messages, never the system message or the last one; the draft's notes say so as `cut`.
    Reasoning is off where the chat template has a switch; where a model thinks all the same, `thinking_tokens` are
    added to its limit, and its thoughts are left out. With `least` a draft's notes say the probability of its least
    likely token as `min_probability`; this runtime reports probabilities only, never the raw logits behind them.
    """

    takes_sampling = True

    def __init__(
        self,
        *,
        weights: str = "smollm2-135m-instruct",
        adapter: str | None = None,
        context_tokens: int = 2048,
        parallel: int = 2,
        threads: int | None = None,
        temperature: float = 0.0,
        seed: int = 0,
        least: bool = False,
        thinking_tokens: int = 1024,
        writes_well: bool | None = None,
    ) -> None:
        if context_tokens < 256 or parallel < 1 or (threads is not None and threads < 1) or temperature < 0:
            raise ConfigError(
                "The language model's context_tokens, parallel, threads or temperature is too small.",
                remedy="Give context_tokens of at least 256, parallel and threads of at least 1, temperature from 0.",
            )
        self._context_tokens = context_tokens
        self._parallel = parallel
        self._temperature = temperature
        self._seed = seed
        self._least = least
        place = Path(adapter).expanduser() if adapter else None
        self.server = LlamaServer(weights, context_tokens, parallel, threads or cores(), place)
        self._next = NextTokens(self.server)
        self._chat = ChatTokens(self.server, context_tokens)
        self._thinking_tokens = thinking_tokens
        self._thinks = False
        self._own_writes_well = writes_well
        keeps_texts(self)

    @property
    def writes_well(self) -> bool:
        """Whether the model should say answers in its own words: by the option, else for files of 1 GB and more."""
        if self._own_writes_well is not None:
            return self._own_writes_well
        return catalogue.size(self.server.weights) >= _WRITES_WELL

    @property
    def identity(self) -> str:
        """Identity of this model in every process: its files, with their sizes and times."""
        try:
            files = [catalogue.path(self.server.weights), *([self.server.adapter] if self.server.adapter else [])]
            return " ".join(f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files)
        except (OSError, DragomanError):  # whoever asks the model says why
            return ""

    def warm_up(self) -> None:
        """Load the weights, and fetch them first where they are missing."""
        self.server.load()

    def close(self) -> None:
        """Free the weights."""
        self.server.close()

    def clear_cache(self) -> None:
        """Drop the cached prompt of every slot; does nothing while no weights are loaded."""
        if self.server.is_loaded:
            self.server.clear_slots(self._next.end)

    def generate(self, prompts: Sequence[Prompt], *, max_tokens: int, stop: Sequence[str] = ()) -> Sequence[Draft]:
        cancelled = threading.Event()
        if prompts:
            self.server.load()

        def run(prompt: Prompt) -> Draft:
            return self._run(prompt, max_tokens, stop, ignore, cancelled)

        return recorded(each(prompts, run, cancelled, workers=self._parallel))

    def stream(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Iterator[str | Draft]:
        """Text pieces, then the draft; closing the iterator stops the generation."""
        return streamed(lambda emit, cancelled: self._run(prompt, max_tokens, stop, emit, cancelled))

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> Sequence[Mapping[str, float]]:
        """Exact probabilities over the options: decoding is restricted to them at every token."""
        check_options(options)
        if len(options) == 1:
            return [{options[0]: 1.0} for _ in prompts]
        if prompts:
            self.server.load()
        # reading prompts keeps all processors busy, and one after another they share what they begin with
        choices = each(prompts, lambda prompt: self._choice(prompt, options), threading.Event(), workers=1)
        for _, usage in choices:
            record(usage)
        return [shares for shares, _ in choices]

    def _run(
        self,
        prompt: Prompt,
        max_tokens: int,
        stop: Sequence[str],
        emit: Callable[[str], None],
        cancelled: threading.Event,
    ) -> Draft:
        thinks = self._thinks
        draft = self._generate_text(prompt, max_tokens, stop, emit, cancelled)
        if self._thinks and not thinks and not draft.text.strip() and not cancelled.is_set():
            draft = self._generate_text(prompt, max_tokens, stop, emit, cancelled)  # with room for its thoughts
        return draft

    def _generate_text(
        self,
        prompt: Prompt,
        max_tokens: int,
        stop: Sequence[str],
        emit: Callable[[str], None],
        cancelled: threading.Event,
    ) -> Draft:
        chat = self._chat.tokens(prompt, max_tokens)
        thinks = self._thinks or chat.opens_thoughts
        gathered = CollectedText(ignore, cancelled)
        visible = VisibleText([mark for mark in stop if mark], inside=chat.opens_thoughts)

        def take(chunk: dict[str, Any]) -> bool:
            finished = gathered.take(chunk)
            piece = visible.feed(gathered.last)
            if piece:
                emit(piece)
            return finished or visible.stopped

        body = {
            "prompt": chat.tokens,
            "n_predict": max_tokens + (self._thinking_tokens if thinks else 0),
            **self._sampling(prompt),
            # a stop sequence could end the thoughts, so it is applied to the reply alone
            "stop": [] if thinks else [mark for mark in stop if mark],
            "logprobs": 1,
            "cache_prompt": True,
            "stream_options": {"include_usage": True},
        }
        self.server.write(body, take)
        rest = visible.close()
        if rest:
            emit(rest)
        notes = {"cut": chat.cut} if chat.cut else None
        draft = gathered.draft(least=self._least, notes=notes)
        if not visible.thoughts:
            return replace(draft, text=visible.text)
        self._thinks = True
        share = visible.thoughts / max(visible.thoughts + len(visible.text), 1)
        hidden = min(round(draft.usage.completion_tokens * share), draft.usage.completion_tokens)
        usage = replace(draft.usage, completion_tokens=draft.usage.completion_tokens - hidden, reasoning_tokens=hidden)
        return replace(draft, text=visible.text, usage=usage)

    def _sampling(self, prompt: Prompt) -> dict[str, float | int]:
        sampling = prompt.sampling or _OWN
        return {
            "temperature": self._temperature if sampling.temperature is None else sampling.temperature,
            "seed": self._seed if sampling.seed is None else sampling.seed % _SEEDS,
        }

    def _choice(self, prompt: Prompt, options: Sequence[str]) -> tuple[Mapping[str, float], Usage]:
        chat = self._chat.tokens(prompt, _ANSWER_ROOM)
        tokens = [*chat.tokens, *(self._chat.closing() if chat.opens_thoughts else ())]
        sequences = self._chat.options(options)
        count = 0

        def logprobs(prefix: tuple[int, ...], among: Sequence[int]) -> Mapping[int, float]:
            nonlocal count
            count += 1
            return self._next.logprobs([*tokens, *prefix], among)

        shares = walk(sequences, logprobs)
        return shares, Usage(len(tokens), count, 1)  # where options part again, the prompt is cached
