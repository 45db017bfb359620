"""A language model in this process, from a GGUF file: generate, stream, choose, several turns at once."""

from __future__ import annotations

import logging
import math
import os
import queue
import string
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from dragoman.core.errors import ConfigError, ModelError
from dragoman.core.registry import models
from dragoman.core.values import Draft, Prompt, Usage
from dragoman.models.choice import END, Tokens, check_options, walk
from dragoman.models.llama_server import LlamaServer, failure
from dragoman.models.window import GAP, fit

log = logging.getLogger(__name__)
T = TypeVar("T")
_LIFT = 100.0
"""Added to the logits of the tokens one may choose from, so that no other comes before them."""
_LEAD = 160.0
_HEAT = 8.0
_ANSWER_ROOM = 64
_LONG_TOKEN = 20
"""Characters of a token that is long in any language."""
_PATIENCE = 5.0


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
        self.server = LlamaServer(weights, context_tokens, parallel, threads or os.cpu_count() or 1, place)
        self._sequences: dict[tuple[str, ...], dict[str, Tokens]] = {}
        self._letters: tuple[int, ...] = ()
        self._end: int | None = None
        self._template: int | None = None

    def warm_up(self) -> None:
        """Load the weights, fetching them where they are not here."""
        self.server.load()

    def close(self) -> None:
        """Free the weights."""
        self.server.close()

    def clear_cache(self) -> None:
        """Let every slot go of the prompt that it keeps for reuse; nothing happens where no weights are loaded."""
        if not self.server.is_loaded:
            return
        blank = [self._end_token()]
        for slot in range(self._parallel):
            self.server.complete({"prompt": blank, "n_predict": 1, "id_slot": slot, "cache_prompt": False})

    def generate(self, prompts: Sequence[Prompt], *, max_tokens: int, stop: Sequence[str] = ()) -> Sequence[Draft]:
        cancelled = threading.Event()

        def run(prompt: Prompt) -> Draft:
            return self._run(prompt, max_tokens, stop, _ignore, cancelled)

        return self._each(prompts, run, cancelled, workers=self._parallel)

    def stream(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Iterator[str | Draft]:
        """Text pieces, then the draft; closing the iterator stops the generation."""
        pieces: queue.SimpleQueue[str | Draft | BaseException] = queue.SimpleQueue()
        cancelled = threading.Event()

        def work() -> None:
            try:
                pieces.put(self._run(prompt, max_tokens, stop, pieces.put, cancelled))
            except BaseException as error:  # noqa: BLE001 - carried over to the caller's thread
                pieces.put(error)

        worker = threading.Thread(target=work, name="dragoman-stream", daemon=True)
        worker.start()
        try:
            while True:
                piece = pieces.get()
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
                if isinstance(piece, Draft):
                    return
        finally:
            cancelled.set()
            worker.join(_PATIENCE)

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> Sequence[Mapping[str, float]]:
        """Probabilities over the options, exact: the model is held to them token by token."""
        check_options(options)
        if len(options) == 1:
            return [{options[0]: 1.0} for _ in prompts]
        # reading prompts keeps all processors busy, and one after another they share what they begin with
        return self._each(prompts, lambda prompt: self._choice(prompt, options), threading.Event(), workers=1)

    def _each(
        self, prompts: Sequence[Prompt], call: Callable[[Prompt], T], cancelled: threading.Event, *, workers: int
    ) -> list[T]:
        # also one prompt runs in a worker, so that an interrupt reaches the caller while the model writes
        if not prompts:
            return []
        self.server.load()
        with ThreadPoolExecutor(min(workers, len(prompts)), "dragoman-model") as pool:
            futures = [pool.submit(call, prompt) for prompt in prompts]
            try:
                return [future.result() for future in futures]
            except BaseException:
                cancelled.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _run(
        self,
        prompt: Prompt,
        max_tokens: int,
        stop: Sequence[str],
        emit: Callable[[str], None],
        cancelled: threading.Event,
    ) -> Draft:
        gathered = _Gathered(emit, cancelled)
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
        return walk(self._tokenised(options), lambda prefix, among: self._logprobs([*tokens, *prefix], among))

    def _logprobs(self, tokens: Sequence[int], among: Sequence[int]) -> Mapping[int, float]:
        """Log-probabilities of some next tokens, up to a common constant.

        The server tells of a token's rivals only where it is sampled and is whole text, which a part of a
        Chinese character is not. So a letter is made to win; the tokens asked about come next. The high
        temperature keeps the winner's lead within what a float can hold, and is undone here.
        """
        ids = {self._end_token() if token == END else token: token for token in among}
        winner = next(token for token in self._letter_tokens() if token not in ids)
        body = {
            "prompt": list(tokens),
            "n_predict": 1,
            "n_probs": len(ids) + 1,
            "post_sampling_probs": True,
            "samplers": ["temperature"],
            "temperature": _HEAT,
            "seed": 0,
            "logit_bias": [[token, _LIFT] for token in ids] + [[winner, _LIFT + _LEAD]],
            "cache_prompt": True,
        }
        told = self.server.complete(body)["choices"][0]["logprobs"]
        if not told:
            raise ModelError("The language model gave no probabilities.", remedy="Try again, or give other weights.")
        found = {entry["id"]: float(entry["prob"]) for entry in told["content"][0]["top_probs"]}
        return {
            token: _HEAT * math.log(found[known]) if found.get(known, 0.0) > 0 else -math.inf
            for known, token in ids.items()
        }

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

    def _letter_tokens(self) -> Sequence[int]:
        if not self._letters:
            self._letters = tuple(self.server.tokens(letter)[-1] for letter in string.ascii_lowercase)
        return self._letters

    def _end_token(self) -> int:
        if self._end is None:
            self._end = self.server.tokens(self.server.get("/props")["eos_token"], special=True)[-1]
        return self._end

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


class _Gathered:
    """The chunks of one generation put together."""

    def __init__(self, emit: Callable[[str], None], cancelled: threading.Event) -> None:
        self._emit = emit
        self._cancelled = cancelled
        self._pieces: list[str] = []
        self._logprobs: list[float] = []
        self._usage: dict[str, Any] = {}
        self._finish = ""
        self._error: dict[str, Any] | None = None

    def take(self, chunk: dict[str, Any]) -> bool:
        """Note a chunk; True stops the generation."""
        if "error" in chunk:
            self._error = chunk
            return True
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            self._finish = choice.get("finish_reason") or self._finish
            told = (choice.get("logprobs") or {}).get("content") or ()
            self._logprobs += [float(entry["logprob"]) for entry in told]
            piece = choice.get("delta", {}).get("content")
            if piece:
                self._pieces.append(piece)
                self._emit(piece)
        return self._cancelled.is_set()

    def draft(self, *, least: bool = False) -> Draft:
        """The whole text, with the geometric mean of its tokens' probabilities as confidence."""
        if self._error is not None:
            raise failure(self._error)
        count = len(self._logprobs)
        confidence = math.exp(math.fsum(self._logprobs) / count) if count else 0.0
        cached = (self._usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        usage = Usage(int(self._usage.get("prompt_tokens", 0)), int(self._usage.get("completion_tokens", count)), 1)
        notes: dict[str, str | float] = {"finish": self._finish or "cancelled", "cached_tokens": float(cached)}
        if least and count:
            notes["min_probability"] = math.exp(min(*self._logprobs, 0.0))
        return Draft("".join(self._pieces), min(confidence, 1.0), usage=usage, notes=notes)


def _ends(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size // 2] + GAP + text[-(size // 2) :]


def _plain(text: str) -> str:
    """Text that cannot pass for a control token of a chat template, and that has a UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("<|", "< |").replace("\x00", "")


def _ignore(_: str) -> None:
    """Nobody listens to the pieces."""
