"""A language model in this process, from a GGUF file: generate, stream, choose, several turns at once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dragoman.core.caches import keeps_texts
from dragoman.core.cores import cores
from dragoman.core.errors import ConfigError
from dragoman.core.registry import models
from dragoman.core.values import Draft, Prompt
from dragoman.models.choice import Tokens, check_options, walk
from dragoman.models.context_window import GAP, fit
from dragoman.models.llamacpp.calls import CollectedText, NextTokens, each, ignore, streamed
from dragoman.models.llamacpp.server import LlamaServer

log = logging.getLogger(__name__)
_ANSWER_ROOM = 64
_LONG_TOKEN = 20
"""Characters of a token that is long in any language."""


@models.register("llamacpp.v1")
class LlamaCppModel:
    """A GGUF model by path or catalogue name, with a LoRA adapter in a GGUF file where one is given.

    `context_tokens` is the window of each of `parallel` turns.

    A prompt that begins as an earlier one did is read only from where it differs. Prompts longer than
    the window lose their oldest messages, never the system message or the last one. With `least` a draft's notes
    say the probability of its least likely token as `min_probability`; this runtime reports probabilities only, never
    the raw logits behind them.
    """

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
        self._sequences: dict[tuple[str, ...], dict[str, Tokens]] = {}
        self._template: int | None = None
        keeps_texts(self)

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

        return each(prompts, run, cancelled, workers=self._parallel)

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
        return each(prompts, lambda prompt: self._choice(prompt, options), threading.Event(), workers=1)

    def _run(
        self,
        prompt: Prompt,
        max_tokens: int,
        stop: Sequence[str],
        emit: Callable[[str], None],
        cancelled: threading.Event,
    ) -> Draft:
        gathered = CollectedText(emit, cancelled)
        body = {
            "messages": self._messages(prompt, max_tokens),
            "max_tokens": max_tokens,
            "temperature": self._temperature,
            "seed": self._seed,
            "stop": [mark for mark in stop if mark],
            "logprobs": True,
            "top_logprobs": 1,
            "cache_prompt": True,
            "stream_options": {"include_usage": True},
        }
        self.server.chat(body, gathered.take)
        return gathered.draft(least=self._least)

    def _choice(self, prompt: Prompt, options: Sequence[str]) -> Mapping[str, float]:
        rendered = self.server.render(self._messages(prompt, _ANSWER_ROOM))
        tokens = self.server.tokens(rendered, special=True)
        return walk(self._tokenised(options), lambda prefix, among: self._next.logprobs([*tokens, *prefix], among))

    def _tokenised(self, options: Sequence[str]) -> dict[str, Tokens]:
        key = tuple(options)
        if key not in self._sequences:
            # tokenised where the template lets an answer begin, since some vocabularies mark the start of a text
            before = self.server.render([{"role": "user", "content": "?"}]).rpartition("?")[2]
            opening = self.server.tokens(before, special=True)
            sequences = {}
            for option in options:
                whole = self.server.tokens(before + option, special=True)
                continues = whole[: len(opening)] == opening
                sequences[option] = tuple(whole[len(opening) :] if continues else self.server.tokens(option))
            self._sequences[key] = sequences
        return self._sequences[key]

    def _messages(self, prompt: Prompt, answer_tokens: int) -> list[dict[str, str]]:
        room = max(self._context_tokens - answer_tokens, self._context_tokens // 2) - self._template_tokens()
        # what is far too long is cut roughly first: counting the tokens of a megabyte takes seconds
        rough = tuple(
            replace(message, content=_ends(message.content, room * _LONG_TOKEN)) for message in prompt.messages
        )
        messages, cuts = fit(rough, room, lambda text: len(self.server.tokens(_plain(text))), self._shortened)
        if cuts:
            log.warning("prompt %r did not fit into %d tokens: %d cuts", prompt.name, self._context_tokens, cuts)
        return [{"role": message.role, "content": _plain(message.content)} for message in messages]

    def _template_tokens(self) -> int:
        """What the chat template adds by itself, such as a system message of its own."""
        if self._template is None:
            rendered = self.server.render([{"role": "user", "content": "?"}])
            self._template = len(self.server.tokens(rendered, special=True))
        return self._template

    def _shortened(self, text: str, size: int) -> str:
        tokens = self.server.tokens(_plain(text))
        head = max(size // 2 - 2, 0)
        tail = max(size - head - 4, 1)
        return self.server.text(tokens[:head]) + GAP + self.server.text(tokens[-tail:])


def _ends(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size // 2] + GAP + text[-(size // 2) :]


def _plain(text: str) -> str:
    """Text that cannot pass for a control token of a chat template, and that has a UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("<|", "< |").replace("\x00", "")
