"""A language model behind an HTTP endpoint, whatever the vendor: OpenAI's chat completions or Anthropic's messages."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal, NoReturn, TypeVar

from dragoman.core.errors import ConfigError, EndpointError
from dragoman.core.registry import models
from dragoman.core.values import Draft, Message, Prompt, Usage
from dragoman.models.choice import check_options
from dragoman.models.context_window import characters
from dragoman.models.remote import choosing
from dragoman.models.remote.answers import (
    Delta,
    chat_delta,
    draft_of,
    join_deltas,
    messages_delta,
    usage_of,
)
from dragoman.models.remote.endpoint import Endpoint, Json, is_url
from dragoman.models.remote.knowledge import Knowledge
from dragoman.models.remote.prices import list_prices, price_source
from dragoman.models.remote.profiles import PROFILES, Profile, ProfileName, adapted, by_address
from dragoman.models.remote.refusals import Refusal
from dragoman.models.remote.requests import (
    ANTHROPIC_VERSION,
    TOP,
    ModelRequest,
    Reasoning,
    body_of,
    fitted_messages,
    path_of,
)
from dragoman.models.remote.tool_requests import refused_field, tool_fields
from dragoman.models.spending import Budget, Spending
from dragoman.models.thoughts import VisibleText, until_stop, without_thoughts
from dragoman.models.tool_calls import ToolPrompt, ToolReply

log = logging.getLogger(__name__)
S = TypeVar("S")
T = TypeVar("T")
_CHANGES = 8
"""The most refusals of fields in a row that are answered with another request."""
_CHOICE_ROOM = 12
_NOT_COMPATIBLE = "Check that url is an OpenAI-compatible endpoint."
Method = Literal["untried", "logprobs", "schema", "sampling"]


@dataclass(frozen=True, slots=True)
class _ModelReply:
    """A reply without thoughts and after its stop sequence was cut."""

    text: str
    delta: Delta
    usage: Usage
    notes: dict[str, str | float]


@models.register("remote.v1")
class RemoteModel:
    """A model by name at a `url` or a vendor's own address; the key is in the environment variable `key_env`.

    `profile` says what the endpoint takes and gives; `auto` finds out once and remembers. Reasoning is off where it can
    be switched off; thoughts are never part of a text, and `thinking_tokens` are added to every limit where a model
    thinks all the same. `extra` is a table of fields, and `headers` of headers, sent with every request.

    `choose` follows the log-probabilities of the reply where the endpoint gives them; otherwise it asks for a JSON
    object by schema, and otherwise asks at most `samples` times and counts. `choice_method` says which it was last.
    `prices` (US dollars per million tokens: input, output, cached; by default the vendor's list prices), `budget`
    (calls, tokens, price a day) and `turn_budget` (the same a turn) bound what is spent: a call that may pass them is
    refused before it is made.
    """

    writes_well = True
    """Lets `reader.grounded` have this model word the decided answers."""

    def __init__(
        self,
        *,
        model: str,
        url: str = "",
        profile: ProfileName = "auto",
        key_env: str | None = None,
        timeout: float = 60.0,
        deadline: float = 300.0,
        retries: int = 3,
        concurrency: int = 4,
        temperature: float = 0.0,
        samples: int = 3,
        reasoning: Reasoning = "off",
        thinking_tokens: int = 2048,
        window: int = 0,
        extra: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        prices: Mapping[str, float] | None = None,
        budget: Mapping[str, float] | None = None,
        turn_budget: Mapping[str, float] | None = None,
        transport: object | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if profile not in PROFILES:
            raise ConfigError(f"'{profile}' is no profile.", remedy=f"Give one of {', '.join(PROFILES)}.")
        if url and not is_url(url):
            named = f"'{url.rpartition('@')[2]}'" if "@" in url else f"'{url}'"  # a password may stand before the @
            raise ConfigError(f"{named} is not an address.", remedy="Give one such as http://localhost:8080/v1.")
        base = PROFILES[profile if profile != "auto" else by_address(url, model) or "auto"]
        url = (url or base.url).rstrip("/")
        if not url:
            raise ConfigError("The remote model has no url.", remedy="Give one such as http://localhost:8080/v1.")
        if (
            min(timeout, deadline) <= 0
            or retries < 0
            or min(concurrency, samples) < 1
            or min(window, thinking_tokens) < 0
        ):
            raise ConfigError(
                "timeout, deadline, retries, concurrency, samples, window or thinking_tokens of the remote model is "
                "too small.",
                remedy="Give timeout and deadline above 0, retries, window and thinking_tokens from 0, concurrency and "
                "samples from 1.",
            )
        self._model = model
        self._temperature = temperature
        self._samples = samples
        self._concurrency = concurrency
        self._reasoning: Reasoning = reasoning
        self._thinking_tokens = thinking_tokens
        self._extra = dict(extra or {})
        self._warned = False
        self._takes_tools = True
        self._method: Method = "untried"
        self._lock = threading.Lock()
        self._spent = Usage()
        vendor_prices = list_prices(base.name, model) if url == base.url and prices is None else {}
        self.price_source = price_source(base.name) if vendor_prices else ""
        self.spending = Spending(prices or vendor_prices, Budget.of(budget or {}), Budget.of(turn_budget or {}))
        native = base.interface == "messages"
        self.endpoint = Endpoint(
            url,
            key_env=base.key_env if key_env is None and url == base.url else key_env or "",
            timeout=timeout,
            deadline=deadline,
            retries=retries,
            concurrency=concurrency,
            headers=({"anthropic-version": ANTHROPIC_VERSION} if native else {}) | dict(headers or {}),
            key_header="x-api-key" if native else "Authorization",
            transport=transport,
            sleep=sleep,
            clock=clock,
        )
        self.knowledge = Knowledge(self.endpoint, wanted=profile, model=model, window=window, clock=clock)

    @property
    def name(self) -> str:
        """The model's name at its endpoint."""
        return self._model

    @property
    def takes_sampling(self) -> bool:
        """Whether the endpoint takes a temperature, as far as is known; not all of those take a seed."""
        return self.knowledge.known.temperature

    @property
    def takes_tools(self) -> bool:
        """Whether the endpoint takes tools of a calling program; false once it has refused some."""
        return self._takes_tools

    @property
    def choice_method(self) -> Method:
        """How the last choice was made."""
        return self._method

    @property
    def spent(self) -> Usage:
        """Calls and tokens of all requests so far, choices included."""
        return self._spent

    def warm_up(self) -> None:
        """Do nothing: the endpoint has the weights."""

    @property
    def identity(self) -> str:
        """Identity of this model in every process: its address and name."""
        return f"{self.endpoint.url} {self.name}"

    def check_key(self) -> None:
        """Raise an error if the endpoint needs a key that the environment does not hold; nothing is sent."""
        self.endpoint.check_key()

    def close(self) -> None:
        self.endpoint.close()

    def generate(self, prompts: Sequence[Prompt], *, max_tokens: int, stop: Sequence[str] = ()) -> Sequence[Draft]:
        return self._each(prompts, lambda prompt: self._draft(self._ask(prompt, max_tokens, stop)))

    def stream(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Iterator[str | Draft]:
        """Text pieces, then the draft; closing the iterator closes the connection."""
        ask = replace(self._ask(prompt, max_tokens, stop), stream=True)
        before = profile = self.knowledge.profile
        for _ in range(_CHANGES):
            shown = False
            try:
                for piece in self._pieces(profile, ask):
                    shown = True
                    yield piece
                if profile != before:  # else another thread may know more by now
                    self.knowledge.learn(profile)
                return
            except EndpointError as error:
                changed = None if shown else self._changed(profile, error, ask)
                if changed is None:
                    self._raise_explained(error)
                profile = changed

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> Sequence[Mapping[str, float]]:
        check_options(options)
        if len(options) == 1:
            return [{options[0]: 1.0} for _ in prompts]
        return self._each(prompts, lambda prompt: self._choice(prompt, options))

    def call_tools(self, prompt: ToolPrompt, *, max_tokens: int) -> ToolReply:
        """Calls of the prompt's tools, or a text; an EndpointError with the field `refuses` if they are refused."""
        messages = tuple(Message("user", message.content) for message in prompt.messages)
        ask = replace(
            self._ask(Prompt(messages, sampling=prompt.sampling), max_tokens, ()), logprobs=False, tools=prompt
        )
        try:
            reply = self._reply(ask)
        except EndpointError as error:
            if name := refused_field(error.fields.get("refusal")):
                self._takes_tools = self._takes_tools and name != "tools"
                error.fields["refuses"] = name
            raise
        return ToolReply(draft_of(reply.text, (), reply.usage, reply.notes), reply.delta.calls)

    def _choice(self, prompt: Prompt, options: Sequence[str]) -> Mapping[str, float]:
        names = choosing.names_of(options)
        limit = max(map(len, names.values())) + _CHOICE_ROOM
        question = choosing.question(prompt, names)
        texts: list[str] = []
        if self.knowledge.profile.logprobs:
            reply = self._reply(ModelRequest(question, limit, top=TOP))
            shares = choosing.by_tokens(reply.delta.tokens, names)
            if shares is not None:
                self._method = "logprobs"
                return shares
            texts.append(reply.text)
            if not any(token.alternatives for token in reply.delta.tokens):
                self.knowledge.learn(replace(self.knowledge.profile, logprobs=False))
        if self.knowledge.profile.schema and len(texts) < self._samples:
            schema = choosing.json_schema(names)
            reply = self._reply(
                ModelRequest(choosing.json_question(prompt, names), limit + 32, logprobs=False, schema=schema)
            )
            shares = choosing.by_json(reply.text, names)
            if shares is not None:
                self._method = "schema"
                return shares
            texts.append(reply.text)
            if choosing.named_first(reply.text, names) is not None:  # a reply in words: the schema was ignored
                self.knowledge.learn(replace(self.knowledge.profile, schema=""))
        if not self._warned:
            self._warned = True
            log.warning(
                "the endpoint gives neither log-probabilities nor JSON by schema; choosing by %d samples", self._samples
            )
        self._method = "sampling"
        while len(texts) < self._samples:
            ask = ModelRequest(question, limit, temperature=1.0, logprobs=False, seed=len(texts))
            texts.append(self._reply(ask).text)
        return choosing.by_counting(texts, names)

    def _ask(self, prompt: Prompt, max_tokens: int, stop: Sequence[str]) -> ModelRequest:
        stops, sampling = tuple(mark for mark in stop if mark), prompt.sampling
        if sampling is None:
            return ModelRequest(prompt, max_tokens, stops, self._temperature)
        temperature = self._temperature if sampling.temperature is None else sampling.temperature
        return ModelRequest(prompt, max_tokens, stops, temperature, seed=sampling.seed)

    def _draft(self, ask: ModelRequest) -> Draft:
        reply = self._reply(ask)
        tokens = reply.delta.tokens if reply.text else ()
        return draft_of(reply.text, tokens, reply.usage, reply.notes)

    def _reply(self, ask: ModelRequest) -> _ModelReply:
        """One reply, asked for again without whatever the endpoint refuses."""
        before = profile = self.knowledge.profile
        for _ in range(_CHANGES):
            try:
                reply = self._one(profile, ask)
            except EndpointError as error:
                changed = self._changed(profile, error, ask)
                if changed is None:
                    self._raise_explained(error)
                profile = changed
                continue
            if profile != before:  # else another thread may know more by now
                self.knowledge.learn(profile)
            return reply
        raise self.endpoint.error(f"refused {_CHANGES} requests in a row", 'Set profile = "plain", or see its log.')

    def _one(self, profile: Profile, ask: ModelRequest) -> _ModelReply:
        body, notes = self._body(profile, ask)
        with self.spending.reserved(self._expected(profile, ask)):
            delta = _read(profile, self.endpoint.post(path_of(profile), body))
            if not delta.exists:
                raise self.endpoint.error("answered without any choice", _NOT_COMPATIBLE)
            text, thoughts = without_thoughts(delta.text)
            usage = usage_of(replace(delta, text=text), pieces=len(delta.tokens), thoughts=thoughts)
            self._count(usage, delta.price)
        text = until_stop(text, ask.stop)
        self._require_text(text, delta, thoughts, profile)
        return _ModelReply(text, delta, usage, notes | self._priced(usage, delta.price))

    def _pieces(self, profile: Profile, ask: ModelRequest) -> Iterator[str | Draft]:
        """The stream of one request."""
        body, notes = self._body(profile, ask)
        deltas: list[Delta] = []
        visible = VisibleText(ask.stop, inside=profile.unopened)
        whole = False
        with self.spending.reserved(self._expected(profile, ask)):
            events = self.endpoint.events(path_of(profile), body)
            try:
                for event in events:
                    whole = whole or "done" in event
                    delta = _read(profile, event)
                    deltas.append(delta)
                    whole = whole or bool(delta.finish)
                    piece = visible.feed(delta.text)
                    if delta.thoughts and profile.unopened:
                        visible.trust()
                    if piece:
                        yield piece
                    if visible.stopped:
                        whole = True
                        break
                rest = visible.close()
                if rest:
                    yield rest
            finally:
                getattr(events, "close", lambda: None)()
                delta = join_deltas(deltas)
                usage = usage_of(replace(delta, text=visible.text), pieces=len(deltas), thoughts=visible.thoughts)
                self._count(usage, delta.price)
        if not delta.exists:
            raise self.endpoint.error("answered without any choice", _NOT_COMPATIBLE)
        if not whole:
            raise self.endpoint.error("broke off in the middle of its reply", "Try again; see the endpoint's own log.")
        self._require_text(visible.text, delta, visible.thoughts, profile)
        yield draft_of(visible.text, delta.tokens, usage, notes | self._priced(usage, delta.price))

    def _require_text(self, text: str, delta: Delta, thoughts: int, profile: Profile) -> None:
        """Raise an error where a reply holds no text for a reason that has a remedy."""
        if text.strip() or delta.calls:
            return
        spent = delta.usage or Usage()
        unseen = delta.was_cut and not delta.text and spent.completion_tokens  # thoughts that the endpoint hides
        thinks = bool(thoughts or delta.thoughts or spent.reasoning_tokens or unseen)
        if thinks and not profile.thinks:
            raise self.endpoint.error("thought and did not reply", "Raise thinking_tokens.", thinks=True)
        if delta.was_cut or (thinks and not delta.text):
            why = "spent all its tokens on thoughts" if thinks else "reached its token limit before any text"
            raise self.endpoint.error(
                f"answered without any text: the model {why}",
                f"Raise thinking_tokens (now {self._thinking_tokens}), or choose a model whose reasoning can be "
                "switched off."
                if thinks
                else "Raise max_tokens.",
                thinks=not profile.thinks,
            )
        if delta.refused:
            raise self.endpoint.error("declined to reply", "Rephrase, or choose another model.")
        if delta.finish in ("content_filter", "refusal", "safety"):
            raise self.endpoint.error(
                "withheld its reply: a content filter stopped it", "Rephrase, or choose another model."
            )
        if not delta.finish and not delta.text:
            raise self.endpoint.error("answered without any text", "Check that model is a chat model.")

    def _body(self, profile: Profile, ask: ModelRequest) -> tuple[Json, dict[str, str | float]]:
        """The body of a request, and what was cut from its prompt."""
        thinks = profile.thinks or self._reasoning not in ("off", "default")
        limit = ask.limit + (self._thinking_tokens if thinks else 0)
        messages, notes = ((), {}) if ask.tools else fitted_messages(profile, ask.prompt, limit)
        body = body_of(
            profile,
            messages,
            model=self._model,
            limit=limit,
            temperature=ask.temperature,
            # a stop sequence could end the thoughts, so it is applied to the reply here instead
            stop=() if thinks else ask.stop,
            reasoning=self._reasoning,
            logprobs=ask.logprobs,
            top=ask.top,
            schema=ask.schema,
            seed=ask.seed,
            stream=ask.stream,
            extra=self._extra,
        )
        return body | (tool_fields(profile, ask.tools) if ask.tools else {}), notes

    def _changed(self, profile: Profile, error: EndpointError, ask: ModelRequest) -> Profile | None:
        """The profile to ask with again after an error; None where the error is final."""
        if error.fields.get("thinks"):
            return replace(profile, thinks=True)
        refusal = error.fields.get("refusal")
        if not isinstance(refusal, Refusal) or refusal.status == 200:
            return None
        if refusal.too_long:
            window = min(refusal.window or profile.window // 2, profile.window - 1)
            return replace(profile, window=window) if window >= 512 else None
        body, _ = self._body(profile, ask)
        sent = [name for name in body if name not in ("model", "messages", *self._extra)]
        return adapted(profile, refusal, sent)

    def _raise_explained(self, error: EndpointError) -> NoReturn:
        """Raise the error, with the nearest names where the model is not known."""
        refusal = error.fields.get("refusal")
        if not isinstance(refusal, Refusal) or not refusal.no_model:
            raise error
        names = [str(entry["id"]) for entry in self.knowledge.models() if entry.get("id")]
        near = get_close_matches(self._model, names, n=3, cutoff=0.3) or names[:3]
        hint = f" It has {', '.join(near)}." if near else ""
        fields = {key: value for key, value in error.fields.items() if key != "url"}
        what = error.message.removeprefix(f"The endpoint {error.fields['url']} ").rstrip(".")
        raise self.endpoint.error(what, f"Set model to one that the endpoint has.{hint}", **fields) from error

    def _expected(self, profile: Profile, ask: ModelRequest) -> Usage:
        """An upper estimate of what a request costs: the tokens of its prompt, and all that it may write."""
        read = sum(characters(message.content) for message in ask.prompt.messages)
        thinks = profile.thinks or self._reasoning not in ("off", "default")
        return Usage(read, ask.limit, 1, reasoning_tokens=self._thinking_tokens if thinks else 0)

    def _priced(self, usage: Usage, charged: float | None) -> dict[str, str | float]:
        price = self.spending.price(usage, charged)
        return {} if price is None else {"price": price}

    def _count(self, usage: Usage, charged: float | None) -> None:
        with self._lock:
            self._spent += usage
        self.spending.add(usage, charged)

    def _each(self, prompts: Sequence[S], call: Callable[[S], T]) -> list[T]:
        if len(prompts) < 2:
            return [call(prompt) for prompt in prompts]
        with ThreadPoolExecutor(min(self._concurrency, len(prompts)), "dragoman-remote") as pool:
            futures = [pool.submit(copy_context().run, call, prompt) for prompt in prompts]  # meters follow
            try:
                return [future.result() for future in futures]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _read(profile: Profile, event: Json) -> Delta:
    return messages_delta(event) if profile.interface == "messages" else chat_delta(event)
