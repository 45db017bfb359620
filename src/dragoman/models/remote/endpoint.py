"""One OpenAI-compatible endpoint: requests with retries and limits, and every failure as an `EndpointError`."""

from __future__ import annotations

import json
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast

from dragoman.core.errors import EndpointError

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)
Json = dict[str, Any]
_LONGEST_WAIT = 30.0
_SHOWN = 200
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_REMEDIES = {
    401: "Check the key in the environment variable that key_env names.",
    403: "Check the key in the environment variable that key_env names, and what it allows.",
    404: "Check url (it usually ends in /v1) and model.",
    413: "Send less text, or raise the endpoint's limit.",
    429: "Wait, lower concurrency, or raise the endpoint's limit.",
}


class Endpoint:
    """Posts JSON. `transport` replaces the network, as in `httpx.MockTransport`; `sleep` waits between tries."""

    def __init__(
        self,
        url: str,
        *,
        key_env: str,
        timeout: float,
        retries: int,
        concurrency: int,
        transport: object | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self._key_env = key_env
        self._timeout = timeout
        self._retries = retries
        self._transport = transport
        self._sleep = sleep
        self._slots = threading.BoundedSemaphore(concurrency)
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def post(self, path: str, body: Json) -> Json:
        """The JSON object that the endpoint answers."""
        with self._answered(path, body) as response:
            return self._object(self._read(response))

    def events(self, path: str, body: Json) -> Iterator[Json]:
        """The JSON objects of an event stream; closing the iterator closes the connection."""
        with self._answered(path, body | {"stream": True}) as response:
            seen = False
            for line in self._lines(response):
                if not line.startswith("data:"):
                    continue
                event = line.removeprefix("data:").strip()
                if event == "[DONE]":
                    return
                seen = True
                yield self._object(event)
            if not seen:
                raise self.error("answered without any event", "Check that url is an OpenAI-compatible endpoint.")

    def error(self, what: str, remedy: str, **fields: object) -> EndpointError:
        """An error that names this endpoint, without any credentials in its address."""
        return EndpointError(f"The endpoint {self._shown()} {what}.", remedy=remedy, url=self._shown(), **fields)

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    @contextmanager
    def _answered(self, path: str, body: Json) -> Iterator[httpx.Response]:
        for attempt in range(self._retries + 1):
            final = attempt == self._retries
            with self._slots:
                response = self._send(path, body, final)
                if response is not None:
                    try:
                        if response.status_code < 300:
                            yield response
                            return
                        if final or response.status_code not in _AGAIN:
                            raise self._refusal(response)
                        wait = _retry_after(response.headers.get("retry-after", ""))
                    finally:
                        response.close()
                else:
                    wait = None
            pause = min(wait if wait is not None else 0.5 * 2**attempt * random.uniform(0.5, 1.0), _LONGEST_WAIT)
            log.info("trying the endpoint again in %.1f s", pause)
            self._sleep(pause)

    def _send(self, path: str, body: Json, final: bool) -> httpx.Response | None:
        import httpx

        client = self._opened()
        try:
            return client.send(client.build_request("POST", self.url + path, json=body), stream=True)
        except httpx.TimeoutException as error:
            if final:
                raise self._late() from error
        except httpx.RequestError as error:
            if final:
                reason = str(error) or type(error).__name__
                raise self.error(f"cannot be reached: {reason}", "Start it, or check url and the network.") from error
        return None

    def _read(self, response: httpx.Response) -> str:
        return "\n".join(self._lines(response))

    def _lines(self, response: httpx.Response) -> Iterator[str]:
        import httpx

        try:
            yield from response.iter_lines()
        except httpx.TimeoutException as error:
            raise self._late() from error
        except httpx.RequestError as error:
            raise self.error(f"broke off: {error}", "Try again; see the endpoint's own log.") from error

    def _refusal(self, response: httpx.Response) -> EndpointError:
        status = response.status_code
        text = self._read(response)
        try:
            answer = json.loads(text)
            detail = answer.get("error", answer) if isinstance(answer, dict) else answer
            message = str(detail.get("message", "") if isinstance(detail, dict) else detail)
        except ValueError:
            message = ""
        remedy = _REMEDIES.get(status, "Try again later." if status >= 500 else "Check url, model and the request.")
        reason = f": {message[:_SHOWN].rstrip('.')}" if message else ""
        return self.error(f"answered {status} {response.reason_phrase}".rstrip() + reason, remedy, status=status)

    def _object(self, text: str) -> Json:
        try:
            value = json.loads(text)
        except ValueError as error:
            kind = "a web page" if text.lstrip()[:1] == "<" else "something that is not JSON"
            raise self.error(f"answered {kind}", "Check url: it usually ends in /v1.") from error
        if isinstance(value, dict) and "error" in value and value["error"]:
            detail = value["error"]
            message = detail.get("message", "") if isinstance(detail, dict) else detail
            raise self.error(f"reports: {str(message)[:_SHOWN].rstrip('.')}", "See the endpoint's own log.")
        if not isinstance(value, dict):
            raise self.error("answered JSON that is not an object", "Check that url is OpenAI-compatible.")
        return value

    def _late(self) -> EndpointError:
        return self.error(
            f"did not answer within {self._timeout:g} s", "Raise timeout, or choose a faster model or endpoint."
        )

    def _opened(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._client is None:
                transport = cast("httpx.BaseTransport | None", self._transport)
                self._client = httpx.Client(transport=transport, timeout=self._timeout, headers=self._headers())
            return self._client

    def _headers(self) -> dict[str, str]:
        if not self._key_env:
            return {}
        key = os.environ.get(self._key_env, "").strip()
        if not key or not key.isascii():
            raise self.error(f"needs a key, and {self._key_env} holds none", f"Set {self._key_env} in the environment.")
        return {"Authorization": f"Bearer {key}"}

    def _shown(self) -> str:
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"


def _retry_after(header: str) -> float | None:
    if not header:
        return None
    try:
        return max(float(header), 0.0)
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max((at - datetime.now(UTC)).total_seconds(), 0.0) if at.tzinfo else None
