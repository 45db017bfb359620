"""Calls of the embedded server that its language models share: next-token probabilities, collected text, workers."""

from __future__ import annotations

import math
import queue
import string
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from dragoman.core.cancelling import check_cancelled
from dragoman.core.errors import ModelError
from dragoman.core.values import Draft, Usage
from dragoman.models.choice import END
from dragoman.models.llamacpp.server import LlamaServer, failure
from dragoman.models.metering import record

T = TypeVar("T")
U = TypeVar("U")
_LIFT = 100.0
"""Added to the logits of the allowed tokens, so that they rank before all others."""
_LEAD = 160.0
_HEAT = 8.0
_PATIENCE = 5.0
_TICK = 0.1


class NextTokens:
    """Log-probabilities of given tokens after a prompt."""

    def __init__(self, server: LlamaServer) -> None:
        self._server = server
        self._letters: tuple[int, ...] = ()
        self._end: int | None = None

    def logprobs(self, tokens: Sequence[int], among: Sequence[int], *, slot: int | None = None) -> dict[int, float]:
        """Log-probabilities of some next tokens, up to a common constant.

        The server tells of a token's rivals only where it is sampled and is whole text, which a part of a
        Chinese character is not. So a letter is made to win; the tokens asked about come next. The high
        temperature keeps the winner's lead within what a float can hold, and is undone here.
        """
        ids = {self.end if token == END else token: token for token in among}
        winner = next(token for token in self._letter_tokens() if token not in ids)
        body = {
            "prompt": list(tokens),
            "n_predict": 1,
            "n_probs": len(ids) + 1,
            "post_sampling_probs": True,
            "samplers": ["top_k", "temperature"],  # all but the lifted ones go, so that they need not be sorted
            "top_k": len(ids) + 1,
            "temperature": _HEAT,
            "seed": 0,
            "logit_bias": [[token, _LIFT] for token in ids] + [[winner, _LIFT + _LEAD]],
            "cache_prompt": True,
        } | ({} if slot is None else {"id_slot": slot})
        answer = self._server.complete(body)["choices"][0]["logprobs"]
        if not answer:
            raise ModelError("The language model gave no probabilities.", remedy="Try again, or give other weights.")
        chances = {entry["id"]: float(entry["prob"]) for entry in answer["content"][0]["top_probs"]}
        return {
            token: _HEAT * math.log(chances[own]) if chances.get(own, 0.0) > 0 else -math.inf
            for own, token in ids.items()
        }

    @property
    def end(self) -> int:
        """The token that ends an answer of a chat."""
        if self._end is None:
            self._end = self._server.tokens(self._server.get("/props")["eos_token"], special=True)[-1]
        return self._end

    def _letter_tokens(self) -> Sequence[int]:
        if not self._letters:
            self._letters = tuple(self._server.tokens(letter)[-1] for letter in string.ascii_lowercase)
        return self._letters


class CollectedText:
    """The chunks of one generation put together."""

    def __init__(self, emit: Callable[[str], None], cancelled: threading.Event) -> None:
        self._emit = emit
        self._cancelled = cancelled
        self._pieces: list[str] = []
        self._logprobs: list[float] = []
        self._usage: dict[str, Any] = {}
        self._finish = ""
        self.last = ""
        """The text of the chunk that was added last."""
        self._begun = 0
        self._error: dict[str, Any] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the model ended without any text."""
        return not self._pieces and self._error is None and self._finish == "stop"

    def begin(self, piece: str, tokens: int) -> None:
        """Start the answer with text that the prompt already ends with."""
        self._pieces.append(piece)
        self._begun = tokens
        self._emit(piece)

    def take(self, chunk: dict[str, Any]) -> bool:
        """Add a chunk of a chat or of a plain completion; True stops the generation."""
        if "error" in chunk:
            self._error = chunk
            return True
        self._usage = chunk.get("usage") or self._usage
        self.last = ""
        for choice in chunk.get("choices") or ():
            self._finish = choice.get("finish_reason") or self._finish
            entries = (choice.get("logprobs") or {}).get("content") or ()
            self._logprobs += [float(entry["logprob"]) for entry in entries]
            piece = choice["text"] if "text" in choice else choice.get("delta", {}).get("content")
            if piece:
                self.last = piece
                self._pieces.append(piece)
                self._emit(piece)
        return self._cancelled.is_set()

    def draft(self, *, least: bool = False, notes: Mapping[str, str | float] | None = None) -> Draft:
        """The whole text, with the geometric mean of its tokens' probabilities as confidence."""
        if self._error is not None:
            raise failure(self._error)
        count = len(self._logprobs)
        confidence = math.exp(math.fsum(self._logprobs) / count) if count else 0.0
        cached = (self._usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        read, written = self._usage.get("prompt_tokens", self._begun), self._usage.get("completion_tokens", count)
        usage = Usage(int(read) - self._begun, int(written) + self._begun, 1)
        measures: dict[str, str | float] = {"finish": self._finish or "cancelled", "cached_tokens": float(cached)}
        if least and count:
            measures["min_probability"] = math.exp(min(*self._logprobs, 0.0))
        return Draft("".join(self._pieces), min(confidence, 1.0), usage=usage, notes=measures | dict(notes or {}))


def streamed(run: Callable[[Callable[[str], None], threading.Event], Draft]) -> Iterator[str | Draft]:
    """Text pieces, then the draft, of a generation that runs in a worker; closing the iterator stops it."""
    pieces: queue.SimpleQueue[str | Draft | BaseException] = queue.SimpleQueue()
    cancelled = threading.Event()

    def work() -> None:
        try:
            pieces.put(run(pieces.put, cancelled))
        except BaseException as error:  # noqa: BLE001 - carried over to the caller's thread
            pieces.put(error)

    worker = threading.Thread(target=work, name="dragoman-stream", daemon=True)
    worker.start()
    try:
        while True:
            piece = pieces.get()
            if isinstance(piece, BaseException):
                raise piece
            if isinstance(piece, Draft):
                record(piece.usage)
                yield piece
                return
            yield piece
    finally:
        cancelled.set()
        worker.join(_PATIENCE)


def each(prompts: Sequence[U], call: Callable[[U], T], cancelled: threading.Event, *, workers: int) -> list[T]:
    """Run calls in worker threads, even a single one, so that an interrupt reaches the caller; return their results."""
    if not prompts:
        return []
    with ThreadPoolExecutor(min(workers, len(prompts)), "dragoman-model") as pool:
        futures = [pool.submit(call, one) for one in prompts]
        try:
            while wait(futures, timeout=_TICK, return_when=FIRST_EXCEPTION).not_done:
                if any(future.done() and future.exception() is not None for future in futures):
                    break
                check_cancelled()  # what nobody waits for ends at its next token
            return [future.result() for future in futures]
        except BaseException:
            cancelled.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def ignore(_: str) -> None:
    """Ignore a text piece."""
