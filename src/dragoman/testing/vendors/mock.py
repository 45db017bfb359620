"""The mock that all vendors share: chat completions with a scripted model behind them."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import httpx

Json = dict[str, Any]
_TOKENS = re.compile(r"\s?[^\W\d_]+|\s?\d|\s+|.", re.DOTALL)
_RIVALS = {"True": "False", "False": "True", "Yes": "No", "No": "Yes", "yes": "no", "no": "yes", "A": "B", "0": "1"}
_SURE = 0.8


class RefusedError(Exception):
    """A refusal: its status, body and headers."""

    def __init__(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body
        self.headers = dict(headers or {})


def scripted_reply(text: str) -> str:
    """Reply of the mock's model: an answer in the form that the prompt asks for, else a greeting."""
    if "True or False" in text:
        return "True"
    if "yes or no" in text.lower():
        return "yes"
    if "0.0" in text and "1.0" in text:
        return "0.7"
    listed = re.search(r"Options:\n([A-Z]+): ", text)
    return listed[1] if listed else "Hello there."


class MockVendor:
    """An endpoint without a network. `reply` writes the text for the last user message; `requests` holds the bodies.

    With `thoughts` the model thinks first, unless its vendor's switch turns that off. A subclass says what its vendor
    requires, refuses and returns.
    """

    model: ClassVar[str] = "mock-model"
    owner: ClassVar[str] = ""
    accepted: ClassVar[frozenset[str] | None] = None
    """Fields that the endpoint knows; None where it ignores what it does not know."""
    needs_key: ClassVar[bool] = False
    gives_logprobs: ClassVar[bool] = False
    obeys_schema: ClassVar[bool] = False
    thoughts_field: ClassVar[str] = ""
    window: ClassVar[int] = 0

    def __init__(self, reply: Callable[[str], str] = scripted_reply, *, thoughts: str = "") -> None:
        self._reply = reply
        self._thoughts = thoughts
        self._lock = threading.Lock()
        self.requests: list[Json] = []
        self.closed = 0

    def transport(self) -> httpx.MockTransport:
        """A transport for `RemoteModel(transport=...)` or any client of httpx."""
        import httpx

        return httpx.MockTransport(self.handle)

    def handle(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        import httpx

        path = request.url.path
        try:
            self.check_key({key.lower(): value for key, value in request.headers.items()})
            if request.method == "GET":
                return httpx.Response(200, json=self.get(path))
            body = json.loads(request.content)
            with self._lock:
                self.requests.append(body)
            self.check(body)
            if body.get("stream"):
                return httpx.Response(200, stream=_stream(self.events(body)), headers={"content-type": _EVENTS})
            return httpx.Response(200, json=self.answer(body))
        except RefusedError as refusal:
            return httpx.Response(refusal.status, json=refusal.body, headers=refusal.headers)

    # what a vendor changes

    def check_key(self, headers: Mapping[str, str]) -> None:
        if self.needs_key and not headers.get("authorization", "").startswith("Bearer "):
            raise RefusedError(401, self.error("Incorrect API key provided.", code="invalid_api_key"))

    def check(self, body: Json) -> None:
        """Refuse what the vendor refuses."""
        if body.get("model") != self.model:
            raise RefusedError(
                404, self.error(f"The model `{body.get('model')}` does not exist", code="model_not_found")
            )
        if self.accepted is not None:
            for name in body:
                if name not in self.accepted:
                    raise RefusedError(400, self.error(f"Unrecognized request argument supplied: {name}", param=name))

    def error(self, message: str, *, param: str | None = None, code: str | None = None) -> object:
        """The body of a refusal."""
        return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}

    def get(self, path: str) -> object:
        if path.endswith("/models"):
            entry: Json = {"id": self.model, "object": "model", "created": 0, "owned_by": self.owner or "mock"}
            return {"object": "list", "data": [entry | self.described()]}
        raise RefusedError(404, self.error("Not found"))

    def described(self) -> Json:
        """Return the fields of a model in the list of models, besides its name."""
        return {}

    def thinks(self, body: Json) -> bool:
        """Whether the model thinks before this reply."""
        return bool(self._thoughts)

    def limit(self, body: Json) -> int:
        return int(body.get("max_completion_tokens") or body.get("max_tokens") or 4096)

    def inline(self, thoughts: str) -> str:
        """Thoughts as part of the text; "" where they come in a field of their own."""
        return ""

    # the model behind it

    def written(self, body: Json) -> tuple[str, str, str]:
        """Thoughts, text and finish reason of a reply."""
        prompt = "\n".join(_text(row["content"]) for row in body["messages"] if row["role"] != "assistant")
        text = self._reply(prompt)
        schema = self.schema(body) if self.obeys_schema else None
        if schema is not None:
            text = _by_schema(text, schema)
        for mark in self.stops(body):
            text = text.partition(mark)[0]
        thoughts = self._thoughts if self.thinks(body) else ""
        room = self.limit(body)
        hidden = _TOKENS.findall(thoughts)
        if len(hidden) >= room:
            return "".join(hidden[:room]), "", "length"
        tokens = _TOKENS.findall(text)
        room -= len(hidden)
        return thoughts, "".join(tokens[:room]), "length" if len(tokens) > room else "stop"

    def stops(self, body: Json) -> Sequence[str]:
        stop = body.get("stop") or ()
        return (stop,) if isinstance(stop, str) else stop

    def schema(self, body: Json) -> Json | None:
        """The JSON schema that a request restricts the reply to."""
        described = (body.get("response_format") or {}).get("json_schema")
        return described["schema"] if described else None

    def answer(self, body: Json) -> Json:
        """The response to a request without streaming."""
        thoughts, text, finish = self.written(body)
        content: str | None = self.inline(thoughts) + text if thoughts else text
        message: Json = {"role": "assistant", "content": self.content(content, thoughts)}
        if thoughts and self.thoughts_field:
            message[self.thoughts_field] = thoughts
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": self.logprobs(text, body)}
        return {
            "id": "mock-1",
            "object": "chat.completion",
            "model": self.model,
            "choices": [choice],
            "usage": self.usage(body, thoughts, text),
        }

    def content(self, text: str | None, thoughts: str) -> str | None:
        return text

    def events(self, body: Json) -> Iterator[bytes]:
        """The event stream of a request."""
        thoughts, text, finish = self.written(body)
        shown = (self.inline(thoughts) if thoughts else "") + text
        if thoughts and self.thoughts_field:
            for token in _TOKENS.findall(thoughts):
                yield self.event({self.thoughts_field: token, "content": None}, None)
        for token in _TOKENS.findall(shown):
            yield self.event({"content": token}, None, self.logprobs(token, body))
        yield self.event({}, finish)
        if (body.get("stream_options") or {}).get("include_usage"):
            yield _line({"choices": [], "usage": self.usage(body, thoughts, text)})
        yield b"data: [DONE]\n\n"

    def event(self, delta: Json, finish: str | None, logprobs: Json | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": logprobs}
        return _line({"object": "chat.completion.chunk", "choices": [choice]})

    def logprobs(self, text: str, body: Json) -> Json | None:
        if not self.gives_logprobs or not body.get("logprobs"):
            return None
        top = int(body.get("top_logprobs") or 0)
        return {"content": [_entry(token, top) for token in _TOKENS.findall(text)]}

    def usage(self, body: Json, thoughts: str, text: str) -> Json:
        read = sum(len(_TOKENS.findall(_text(row["content"]))) for row in body["messages"])
        written = len(_TOKENS.findall(thoughts)) + len(_TOKENS.findall(text))
        usage: Json = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        if thoughts and self.thoughts_field != "reasoning_content":
            usage["completion_tokens_details"] = {"reasoning_tokens": len(_TOKENS.findall(thoughts))}
        return usage


_EVENTS = "text/event-stream"


def _stream(lines: Iterator[bytes]) -> Any:
    import httpx

    class Lines(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield from lines

    return Lines()


def _line(event: Json) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()


def _entry(token: str, top: int) -> Json:
    bare = token.strip()
    rival = _RIVALS.get(bare, str((int(bare) + 1) % 10) if bare.isdigit() else "…")
    alternatives = [(token, _SURE), (token.replace(bare, rival) if bare else rival, 1.0 - _SURE)]
    return {
        "token": token,
        "logprob": math.log(_SURE),
        "top_logprobs": [{"token": text, "logprob": math.log(share)} for text, share in alternatives[:top]],
    }


def _by_schema(text: str, schema: Json) -> str:
    """A JSON object that a schema allows, with the reply as its answer where it may be one."""
    value: Json = {}
    for name, kind in schema["properties"].items():
        allowed = kind.get("enum")
        if allowed:
            value[name] = text.strip() if text.strip() in allowed else allowed[0]
        else:
            value[name] = 85 if kind["type"] == "integer" else text
    return json.dumps(value)


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content)
