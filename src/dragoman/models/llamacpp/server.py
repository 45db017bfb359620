"""The llama.cpp server inside this process: loading, tokens, the chat template, completions.

The library always opens a listener on a free port of 127.0.0.1. A random key that never leaves the process keeps other
programs on the machine from using the model.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from dragoman.core.errors import ModelError, WeightsError
from dragoman.models import weights as catalogue

Json = dict[str, Any]


@dataclass(eq=False)
class LlamaServer:
    """A lazily loaded server; every method may be called from several threads."""

    weights: str
    context_tokens: int
    parallel: int
    threads: int
    adapter: Path | None = None
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _server: Any = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def load(self) -> Any:
        """The running server; the first call reads the weights."""
        with self._lock:
            if self._server is None:
                self._server = self._start()
            return self._server

    def close(self) -> None:
        """Free the weights; a later call loads them again."""
        with self._lock:
            self._server = None

    @property
    def is_loaded(self) -> bool:
        return self._server is not None

    @property
    def address(self) -> str:
        return str(self.load().listening_address)

    def chat(self, body: Json, on_chunk: Callable[[Json], bool]) -> None:
        """Stream a chat completion; generation stops where `on_chunk` returns True."""
        self.load().handle_chat_completions(body | {"stream": True}, on_chunk)

    def complete(self, body: Json) -> Json:
        """One completion of a prompt that is already tokens."""
        answer: Json = self.load().handle_completions(body)
        return _checked(answer)

    def write(self, body: Json, on_chunk: Callable[[Json], bool]) -> None:
        """Stream what follows a prompt that is already tokens; generation stops where `on_chunk` returns True."""
        self.load().handle_completions(body | {"stream": True}, on_chunk)

    def next_token(self, body: Json) -> int:
        """The token that follows a prompt, also where it is no whole text."""
        answer = self._post("/completion", body | {"n_predict": 1, "return_tokens": True})
        return int(answer["tokens"][0])

    def clear_slots(self, blank: int) -> None:
        """Overwrite the cached prompt of every slot with the token `blank`."""
        for slot in range(self.parallel):
            self.complete({"prompt": [blank], "n_predict": 1, "id_slot": slot, "cache_prompt": False})

    def tokens(self, text: str, *, special: bool = False, begins: bool | None = None) -> list[int]:
        """The tokens of a text; with `special`, of a rendered prompt, whose control tokens count as such.

        `begins` says whether the text begins a prompt, where some vocabularies want a token of their own.
        """
        start = special if begins is None else begins
        answer = self._post("/tokenize", {"content": text, "add_special": start, "parse_special": special})
        return [int(token) for token in answer["tokens"]]

    def text(self, tokens: Sequence[int]) -> str:
        return str(self._post("/detokenize", {"tokens": list(tokens)})["content"])

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The prompt that the model's own chat template makes, up to where its answer begins; without reasoning where
        the template has a switch for it."""
        body = {"messages": list(messages), "chat_template_kwargs": {"enable_thinking": False, "thinking": False}}
        return str(self._post("/apply-template", body)["prompt"])

    def get(self, path: str) -> Any:
        return self._ask("GET", path, None)

    def _post(self, path: str, body: Json) -> Any:
        return self._ask("POST", path, json.dumps(body))

    def _ask(self, method: str, path: str, body: str | None) -> Any:
        import http.client  # brings the whole of email with it, which only a loaded model is worth

        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(self.address.removeprefix("http://"), timeout=60)
        try:
            connection.request(method, path, body, headers)
            answer = json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ModelError(f"The language model did not answer: {error}.", remedy="Start again.") from error
        finally:
            connection.close()
        return _checked(answer) if isinstance(answer, dict) else answer

    def _start(self) -> Any:
        place = catalogue.gguf_file(self.weights)
        xllamacpp = _library()
        params = xllamacpp.CommonParams()
        params.model.path = str(place)
        if self.adapter is not None:
            params.lora_adapters = [_adapter(xllamacpp, self.adapter)]
        params.n_ctx = self.context_tokens * self.parallel
        params.n_parallel = self.parallel
        params.cpuparams.n_threads = self.threads
        params.cpuparams_batch.n_threads = self.threads
        params.api_keys = [self.key]
        params.verbosity = -1
        params.ui = False
        params.warmup = False
        params.fit_params = False  # fitting to memory loads twice
        params.cache_ram_mib = 0  # slots keep their prefix; more copies of prompts are not wanted
        params.n_threads_http = 2
        try:
            # a server that is let go of before its loop has begun waits for it for ever; an answer proves it has
            with _interrupts_held():
                server = xllamacpp.Server(params)
                server.handle_completions({"prompt": ".", "n_predict": 1, "cache_prompt": False})
            return server
        except RuntimeError as error:
            if self.adapter is not None:
                raise WeightsError(
                    f"'{place}' with the adapter '{self.adapter}' cannot be loaded: {error}.",
                    remedy="Give the base that the adapter was trained on, or copy both files again.",
                ) from error
            raise WeightsError(
                f"'{place}' cannot be loaded: {str(error).rstrip('.')}.",
                remedy="Fetch or copy it again, since it may be cut short; or give another file.",
            ) from error


def _adapter(xllamacpp: Any, place: Path) -> Any:
    if not place.is_file():
        raise WeightsError(f"There is no adapter at '{place}'.", remedy="Give a LoRA adapter in a GGUF file.")
    adapter = xllamacpp.CommonAdapterLoraInfo()
    adapter.path = str(place)
    adapter.scale = 1.0
    return adapter


def _library() -> Any:
    try:
        with _brief_spinning():
            import xllamacpp
    except ImportError as error:
        raise ModelError(
            f"llama.cpp cannot be loaded: {error}.",
            remedy="Install what is missing (libgomp.so.1 is in the system package libgomp1 or libgomp).",
        ) from error
    return xllamacpp


@contextmanager
def _brief_spinning() -> Iterator[None]:
    """Let OpenMP threads sleep soon after work: on shared processors, spinning threads slow down those with work.

    OpenMP reads its settings once, when it is loaded; those that a user has set are left alone.
    """
    if {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & set(os.environ):
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = "1000"
    try:
        yield
    finally:
        del os.environ["GOMP_SPINCOUNT"]


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let an interrupt wait for the end of the block; only the main thread is ever interrupted."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])


def _checked(answer: Json) -> Json:
    if "error" in answer:
        raise failure(answer)
    return answer


def failure(answer: Json) -> ModelError:
    """The `ModelError` for an error response of the server."""
    error = answer["error"]
    text = error.get("message", "") if isinstance(error, dict) else str(error)
    return ModelError(
        f"The language model refused: {text or 'no reason given'}.",
        remedy="Shorten the prompt, or raise context_tokens of the model.",
    )
