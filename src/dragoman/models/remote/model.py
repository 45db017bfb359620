"""A language model behind any OpenAI-compatible endpoint."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeVar

from dragoman.core.errors import ConfigError, EndpointError
from dragoman.core.registry import models
from dragoman.core.values import Draft, Prompt, Usage
from dragoman.models.choice import check_options, normalise
from dragoman.models.remote.endpoint import Endpoint, Json

log = logging.getLogger(__name__)
S = TypeVar("S")
T = TypeVar("T")
_PATH = "/chat/completions"
_TOP = 20
"""The most alternatives that the interface returns for a token."""
_UNKNOWN = 0.5
"""The confidence of a text whose tokens came without probabilities."""
_REFUSED = frozenset({400, 422, 501})


@models.register("remote.v1")
class RemoteModel:
    """Chat completions over HTTP. `url` is the address before `/chat/completions`; the key is in the environment.

    `choose` reads the probabilities of the first token where the endpoint gives them and they tell the
    options apart; otherwise it asks `samples` times and counts. `choice_method` says which it was last.
    """

    writes_well = True
    """Whoever brings an endpoint wants its words: `reader.grounded` lets it say the decided answer."""

    def __init__(
        self,
        *,
        url: str,
        model: str,
        key_env: str = "",
        timeout: float = 60.0,
        retries: int = 3,
        concurrency: int = 4,
        temperature: float = 0.0,
        samples: int = 8,
        transport: object | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"'{url}' is not an address.", remedy="Give a url that begins with http:// or https://.")
        if timeout <= 0 or retries < 0 or concurrency < 1 or samples < 1:
            raise ConfigError(
                "timeout, retries, concurrency or samples of the remote model is too small.",
                remedy="Give a timeout above 0, retries from 0, concurrency and samples from 1.",
            )
        self._model = model
        self._temperature = temperature
        self._samples = samples
        self._concurrency = concurrency
        self._gives_logprobs = True
        self._warned = False
        self._method: Literal["untried", "logprobs", "sampling"] = "untried"
        self.endpoint = Endpoint(
            url,
            key_env=key_env,
            timeout=timeout,
            retries=retries,
            concurrency=concurrency,
            transport=transport,
            sleep=sleep,
        )

    @property
    def choice_method(self) -> Literal["untried", "logprobs", "sampling"]:
        """How the last choice was made."""
        return self._method

    def warm_up(self) -> None:
        """Do nothing: the endpoint has the weights."""

    def close(self) -> None:
        self.endpoint.close()

    def generate(self, prompts: Sequence[Prompt], *, max_tokens: int, stop: Sequence[str] = ()) -> Sequence[Draft]:
        return self._each(prompts, lambda prompt: self._draft(self._asked(prompt, max_tokens, stop)))

    def stream(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Iterator[str | Draft]:
        """Text pieces, then the draft; closing the iterator closes the connection."""
        pieces: list[str] = []
        logprobs: list[float] = []
        usage: Json = {}
        chosen = False
        for event in self._events(prompt, max_tokens, stop):
            usage = _table(event.get("usage")) or usage
            for choice in map(_table, _rows(event.get("choices"))):
                chosen = True
                logprobs += _logprobs(choice)
                piece = _table(choice.get("delta")).get("content")
                if isinstance(piece, str) and piece:
                    pieces.append(piece)
                    yield piece
        if not chosen:
            raise self._no_choice()
        yield _made("".join(pieces), logprobs, usage, len(pieces))

    def _events(self, prompt: Prompt, max_tokens: int, stop: Sequence[str]) -> Iterator[Json]:
        """The events of a stream; where it is refused before the first, once more without log-probabilities."""
        more: Json = {"stream_options": {"include_usage": True}}
        begun = False
        try:
            for event in self.endpoint.events(_PATH, self._body(prompt, max_tokens, stop) | more):
                begun = True
                yield event
            return
        except EndpointError as error:
            if begun or not self._gives_logprobs or error.fields.get("status") not in _REFUSED:
                raise
        for event in self.endpoint.events(_PATH, self._body(prompt, max_tokens, stop, logprobs=False) | more):
            self._gives_logprobs = False
            yield event

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> Sequence[Mapping[str, float]]:
        check_options(options)
        if len(options) == 1:
            return [{options[0]: 1.0} for _ in prompts]
        return self._each(prompts, lambda prompt: self._choice(prompt, options))

    def _choice(self, prompt: Prompt, options: Sequence[str]) -> Mapping[str, float]:
        if self._gives_logprobs:
            chances = by_first_token(self._alternatives(prompt), options)
            if chances is not None:
                self._method = "logprobs"
                return chances
        if not self._warned:
            self._warned = True
            log.warning(
                "the endpoint gives no log-probabilities that tell the options apart; choosing by %d samples",
                self._samples,
            )
        self._method = "sampling"
        longest = max(len(option) for option in options)
        body = self._body(prompt, longest + 8, ()) | {"temperature": 1.0}
        body.pop("logprobs", None)
        answers = []
        for sample in range(self._samples):
            choice = self._first(self.endpoint.post(_PATH, body | {"seed": sample}))
            answers.append(str(_table(choice.get("message")).get("content") or ""))
        return by_counting(answers, options)

    def _alternatives(self, prompt: Prompt) -> Sequence[Json]:
        body = self._body(prompt, 1, ()) | {"logprobs": True, "top_logprobs": _TOP}
        try:
            choice = self._first(self.endpoint.post(_PATH, body))
        except EndpointError as error:
            if error.fields.get("status") not in _REFUSED:
                raise
            self._gives_logprobs = False
            return ()
        content = _rows(_table(choice.get("logprobs")).get("content")) or [{}]
        alternatives = [_table(one) for one in _rows(_table(content[0]).get("top_logprobs"))]
        if not alternatives:
            self._gives_logprobs = False
        return alternatives

    def _asked(self, prompt: Prompt, max_tokens: int, stop: Sequence[str]) -> Json:
        try:
            return self.endpoint.post(_PATH, self._body(prompt, max_tokens, stop))
        except EndpointError as error:
            if not self._gives_logprobs or error.fields.get("status") not in _REFUSED:
                raise
            # perhaps only the wish for log-probabilities was refused
            answer = self.endpoint.post(_PATH, self._body(prompt, max_tokens, stop, logprobs=False))
            self._gives_logprobs = False
            return answer

    def _body(self, prompt: Prompt, max_tokens: int, stop: Sequence[str], *, logprobs: bool = True) -> Json:
        body: Json = {
            "model": self._model,
            "messages": [
                {"role": message.role, "content": message.content.encode("utf-8", "replace").decode("utf-8")}
                for message in prompt.messages
            ],
            "max_tokens": max_tokens,
            "temperature": self._temperature,
        }
        if stop:
            body["stop"] = list(stop)
        if logprobs and self._gives_logprobs:
            body["logprobs"] = True
        return body

    def _draft(self, answer: Json) -> Draft:
        choice = self._first(answer)
        text = _table(choice.get("message")).get("content")
        if not isinstance(text, str):
            raise self.endpoint.error("answered without any text", "Check that model is a chat model.")
        return _made(text, _logprobs(choice), _table(answer.get("usage")), 0)

    def _first(self, answer: Json) -> Json:
        choices = answer.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise self._no_choice()
        return choices[0]

    def _no_choice(self) -> EndpointError:
        return self.endpoint.error("answered without any choice", "Check that url is an OpenAI-compatible endpoint.")

    def _each(self, prompts: Sequence[S], call: Callable[[S], T]) -> list[T]:
        if len(prompts) < 2:
            return [call(prompt) for prompt in prompts]
        with ThreadPoolExecutor(min(self._concurrency, len(prompts)), "dragoman-remote") as pool:
            futures = [pool.submit(call, prompt) for prompt in prompts]
            try:
                return [future.result() for future in futures]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def by_first_token(alternatives: Sequence[Mapping[str, Any]], options: Sequence[str]) -> dict[str, float] | None:
    """Probabilities from the alternatives of the first token; None where a token fits several options, or none fits."""
    chances = dict.fromkeys(options, 0.0)
    for alternative in alternatives:
        token = str(alternative.get("token", "")).strip().casefold()
        logprob = alternative.get("logprob")
        if not token or not isinstance(logprob, int | float):
            continue
        meant = [option for option in options if _begins(option, token)]
        if len(meant) > 1:
            return None
        if meant:
            chances[meant[0]] += math.exp(min(float(logprob), 0.0))
    if not any(chances.values()):
        return None
    return normalise({option: math.log(value) if value > 0 else -math.inf for option, value in chances.items()})


def _begins(option: str, token: str) -> bool:
    whole = option.strip().casefold()
    return whole.startswith(token) or (token.startswith(whole) and not token[len(whole) :].isalnum())


def by_counting(answers: Sequence[str], options: Sequence[str]) -> dict[str, float]:
    """The share of the answers that begin with each option; half an answer is added to each, so none is impossible."""
    counts = dict.fromkeys(options, 0.5)
    for answer in answers:
        start = answer.strip().lstrip("\"'*`([ ").casefold()
        meant = [option for option in options if start.startswith(option.strip().casefold())]
        if meant:
            counts[max(meant, key=len)] += 1.0
    return normalise({option: math.log(count) for option, count in counts.items()})


def _table(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _rows(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _logprobs(choice: Json) -> list[float]:
    values = [_table(entry).get("logprob") for entry in _rows(_table(choice.get("logprobs")).get("content"))]
    return [min(float(value), 0.0) for value in values if isinstance(value, int | float) and not math.isnan(value)]


def _count(usage: Json, name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0


def _made(text: str, logprobs: Sequence[float], usage: Json, pieces: int) -> Draft:
    cost = Usage(_count(usage, "prompt_tokens"), _count(usage, "completion_tokens") or pieces, 1)
    if not logprobs:
        return Draft(text, _UNKNOWN, usage=cost, notes={"confidence": "not given by the endpoint"})
    return Draft(text, math.exp(math.fsum(logprobs) / len(logprobs)), usage=cost)
