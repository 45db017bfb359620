"""One HTTP endpoint: requests with retries, a deadline and a byte limit; every failure is an `EndpointError`."""

from __future__ import annotations

import json
import logging
import os
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from dragoman.core.deadlines import Deadline, DeadlineBackend
from dragoman.core.errors import EndpointError
from dragoman.models.remote.refusals import Refusal, read_refusal

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)
Json = dict[str, Any]
MOST_BYTES = 8 << 20
"""The largest body or stream that is read."""
_MOST_ERROR_BYTES = 64 << 10
_LONGEST_WAIT = 60.0
"""Rate limits per minute are waited out; a longer wait means a limit per hour or day, which is an error."""
_SHOWN = 200
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_MOVED = frozenset({301, 302, 303, 307, 308})
_REPEATED = frozenset({307, 308})
"""Redirects after which a request is sent again as it was."""
_LONGEST_PLACE = 2000
_MOST_CAUSES = 20


def is_url(text: str) -> bool:
    """Whether a text is the address of an endpoint, with a host and, if any, a port that there can be."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


class Endpoint:
    """Sends and reads JSON.

    `timeout` limits the wait for the next bytes, `deadline` the whole call with its retries. `headers` are sent with
    every request; `key_header` names the header of the key. `transport` replaces the network, as in
    `httpx.MockTransport`; `sleep` and `clock` replace the time.
    """

    def __init__(
        self,
        url: str,
        *,
        key_env: str,
        timeout: float,
        retries: int,
        concurrency: int,
        deadline: float = 300.0,
        headers: Mapping[str, str] | None = None,
        key_header: str = "Authorization",
        transport: object | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url = url.rstrip("/")
        self._key_env = key_env
        self._timeout = timeout
        self._retries = retries
        self._deadline = deadline
        self._extra_headers = dict(headers or {})
        self._key_header = key_header
        self._transport = transport
        self._sleep = sleep
        self._clock = clock
        self._slots = threading.BoundedSemaphore(concurrency)
        self._lock = threading.Lock()
        self._whole = Deadline()
        self._client: httpx.Client | None = None

    def get(self, path: str, *, seconds: float | None = None, root: bool = False) -> Any:
        """The JSON value at a path, below the server's root with `root`, asked for once and without retries."""
        limit = min(seconds or self._timeout, self._deadline)
        base = self.url.removesuffix("/v1") if root else self.url
        with self._response("GET", base + path, None, retries=0, deadline=limit) as (response, until):
            return self._parsed(self._body(response, until, MOST_BYTES))

    def post(self, path: str, body: Json) -> Json:
        """The JSON object that the endpoint answers."""
        with self._response("POST", self.url + path, body) as (response, until):
            return self._object(self._body(response, until, MOST_BYTES))

    def post_any(self, path: str, body: Json) -> Any:
        """The JSON value that the endpoint answers, whatever its kind."""
        with self._response("POST", self.url + path, body) as (response, until):
            return self._parsed(self._body(response, until, MOST_BYTES))

    def events(self, path: str, body: Json) -> Iterator[Json]:
        """The JSON objects of an event stream; closing the iterator closes the connection.

        A stream is whole with its mark `[DONE]`; where an endpoint sends none, the caller knows by the last event.
        The whole reply of an endpoint that does not stream is its only event.
        """
        with self._response("POST", self.url + path, body | {"stream": True}) as (response, until):
            seen = False
            others: list[str] = []
            for line in self._lines(response, until):
                if not line.startswith("data:"):
                    if not seen:
                        others.append(line)
                    continue
                event = line.removeprefix("data:").strip()
                if event == "[DONE]":
                    yield {"done": True}
                    return
                if event:
                    seen = True
                    yield self._object(event)
            if others and not seen and others[0].lstrip().startswith("{"):
                yield self._object("\n".join(others))
                return
            if not seen:
                raise self.error("answered without any event", "Check that url is an OpenAI-compatible endpoint.")

    def error(self, what: str, remedy: str, **fields: object) -> EndpointError:
        """An error that names this endpoint, without any credentials in its address."""
        return EndpointError(
            f"The endpoint {self._public_url()} {what}.", remedy=remedy, url=self._public_url(), **fields
        )

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    @contextmanager
    def _response(
        self, method: str, url: str, body: Json | None, *, retries: int | None = None, deadline: float | None = None
    ) -> Iterator[tuple[httpx.Response, float]]:
        """A successful response, and the time by which it has to be read."""
        tries = (self._retries if retries is None else retries) + 1
        until = self._clock() + (deadline or self._deadline)
        for attempt in range(tries):
            final = attempt == tries - 1
            wait: float | None = None
            with self._slots:
                response = self._send(method, url, body, until, final)
                if response is not None:
                    try:
                        if response.status_code < 300:
                            yield response, until
                            return
                        refusal = self._refusal(response, until)
                        wait = _retry_after(response.headers.get("retry-after", ""))
                        if final or response.status_code not in _RETRIED or refusal.lasts:
                            raise self._refused(refusal)
                        if wait is not None and (wait > _LONGEST_WAIT or self._clock() + wait >= until):
                            raise self._refused(refusal, wait)
                    finally:
                        response.close()
            pause = wait if wait is not None else min(0.5 * 2**attempt * random.uniform(0.5, 1.0), _LONGEST_WAIT)
            if self._clock() + pause >= until:
                raise self._late(deadline or self._deadline)
            log.info("trying the endpoint again in %.1f s", pause)
            self._sleep(pause)

    def _send(self, method: str, url: str, body: Json | None, until: float, final: bool) -> httpx.Response | None:
        import httpx

        client = self._opened()
        # The client's timeout starts anew with every byte, also within the headers.
        self._whole.until = monotonic() + max(until - self._clock(), 0.001)
        try:
            for _ in range(2):
                request = client.build_request(method, url, json=body, timeout=self._patience(until))
                response = client.send(request, stream=True)
                place = response.headers.get("location", "")
                if response.status_code not in _MOVED or not place:
                    return response
                response.close()
                url = self._moved(response.status_code, httpx.URL(url), place)
            raise self.error("redirects in a circle", "Check url.")
        except httpx.TimeoutException as error:
            if final:
                raise self._late(self._deadline if self._clock() >= until else self._timeout) from error
        except httpx.RequestError as error:
            if _is_certificate(error):
                raise self.error(
                    f"has a certificate that cannot be verified: {_reason(error)}",
                    "Check the address and the clock; for a certificate of your own, set SSL_CERT_FILE to its file.",
                ) from error
            if final:
                reason = str(error) or type(error).__name__
                raise self.error(f"cannot be reached: {reason}", "Start it, or check url and the network.") from error
        return None

    def _moved(self, status: int, url: httpx.URL, place: str) -> str:
        """The address to ask instead, on the same host alone: no other one gets the key and the texts."""
        import httpx

        try:
            target = url.join(place[:_LONGEST_PLACE])
        except httpx.InvalidURL as error:
            raise self.error("redirects to an address that is none", "Check url.") from error
        origin = f"{target.scheme}://{target.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
        if _origin(target) != _origin(url):
            raise self.error(
                f"redirects to another host, {origin}", f"Check url, or let it begin with {origin} if you trust it."
            )
        if status not in _REPEATED:
            raise self.error(f"redirects to {target.path[:_SHOWN]}", "Check url: it usually ends in /v1.")
        return str(target)

    def _patience(self, until: float) -> float:
        """The seconds to wait for the next bytes: never past the deadline."""
        return max(min(self._timeout, until - self._clock()), 0.001)

    def _chunks(self, response: httpx.Response, until: float, most: int) -> Iterator[bytes]:
        import httpx

        size = 0
        coding = response.headers.get("content-encoding", "").strip().lower()
        if coding not in ("", "identity"):
            # We ask for none. Codings can be stacked: 64 kB of gzip in gzip unpack into gigabytes at once.
            raise self.error(f"answered with the content encoding '{coding[:40]}'", "Switch compression off there.")
        try:
            for chunk in response.iter_bytes():
                size += len(chunk)
                if size > most:
                    raise self.error(
                        f"answered more than {most >> 20} MB", "Check url and model; no reply is that long."
                    )
                yield chunk
                if self._clock() > until:
                    raise self._late(self._deadline)
        except httpx.TimeoutException as error:
            raise self._late(self._deadline if self._clock() >= until else self._timeout) from error
        except httpx.DecodingError as error:
            raise self.error("answered a body that cannot be decoded", "Check that url is an endpoint.") from error
        except httpx.RequestError as error:
            raise self.error(f"broke off: {error}", "Try again; see the endpoint's own log.") from error

    def _body(self, response: httpx.Response, until: float, most: int) -> str:
        return b"".join(self._chunks(response, until, most)).decode("utf-8", "replace")

    def _lines(self, response: httpx.Response, until: float) -> Iterator[str]:
        rest = bytearray()
        for chunk in self._chunks(response, until, MOST_BYTES):
            rest += chunk
            if b"\n" in chunk or b"\r" in chunk:
                *lines, tail = bytes(rest).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
                rest = bytearray(tail)
                for line in lines:
                    yield line.decode("utf-8", "replace")
        if rest:
            yield rest.decode("utf-8", "replace")

    def _refusal(self, response: httpx.Response, until: float) -> Refusal:
        try:
            text = self._body(response, until, _MOST_ERROR_BYTES)
        except EndpointError:
            text = ""  # the status says enough
        return read_refusal(response.status_code, response.reason_phrase, text)

    def _refused(self, refusal: Refusal, wait: float | None = None) -> EndpointError:
        reason = f": {refusal.message[:_SHOWN].rstrip('.')}" if refusal.message else ""
        what = f"answered {refusal.status} {refusal.phrase}".rstrip() + reason
        if wait is not None:
            what = f"{what}; it asks to wait {wait:.0f} s"
        return self.error(what, refusal.remedy, status=refusal.status, refusal=refusal)

    def _parsed(self, text: str) -> Any:
        try:
            return json.loads(text)
        except RecursionError as error:
            raise self.error("answered JSON that is nested too deeply", "Check that url is an endpoint.") from error
        except ValueError as error:
            kind = "a web page" if text.lstrip()[:1] == "<" else "something that is not JSON"
            raise self.error(f"answered {kind}", "Check url: it usually ends in /v1.") from error

    def _object(self, text: str) -> Json:
        value = self._parsed(text)
        if isinstance(value, dict) and value.get("error"):
            refusal = read_refusal(200, "", text)
            raise self.error(
                f"reports: {refusal.message[:_SHOWN].rstrip('.')}", "See the endpoint's own log.", refusal=refusal
            )
        if not isinstance(value, dict):
            raise self.error("answered JSON that is not an object", "Check that url is OpenAI-compatible.")
        return value

    def _late(self, seconds: float) -> EndpointError:
        return self.error(
            f"did not answer within {seconds:g} s",
            "Raise timeout or deadline, or choose a faster model or endpoint.",
        )

    def _opened(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._client is None:
                transport = cast("httpx.BaseTransport | None", self._transport)
                self._client = httpx.Client(transport=transport, timeout=self._timeout, headers=self._headers())
                _keep_to(self._whole, self._client)
            return self._client

    def check_key(self) -> None:
        """Raise an error if a key is needed that the environment does not hold."""
        self._headers()

    def _headers(self) -> dict[str, str]:
        # A compressed body could unpack to far more than what was counted.
        headers = {"Accept-Encoding": "identity", **self._extra_headers}
        if not self._key_env:
            return headers
        key = os.environ.get(self._key_env, "").strip()
        if not key or not key.isascii():
            raise self.error(f"needs a key, and {self._key_env} holds none", f"Set {self._key_env} in the environment.")
        return {**headers, self._key_header: f"Bearer {key}" if self._key_header == "Authorization" else key}

    def _public_url(self) -> str:
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"


def _keep_to(deadline: Deadline, client: httpx.Client) -> None:
    """Make a client's connections, also those through proxies, keep to a deadline; httpx has no option for it."""
    for transport in (client._transport, *client._mounts.values()):
        pool = getattr(transport, "_pool", None)
        backend = getattr(pool, "_network_backend", None)
        if pool is not None and backend is not None:
            pool._network_backend = DeadlineBackend(backend, deadline)


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _is_certificate(error: BaseException | None) -> bool:
    for _ in range(_MOST_CAUSES):
        if error is None:
            break
        if isinstance(error, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _reason(error: Exception) -> str:
    """The part of OpenSSL's message that people understand."""
    return str(error).partition("certificate verify failed:")[2].partition("(")[0].strip() or "verification failed"


def _retry_after(header: str) -> float | None:
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        pass
    else:
        return max(seconds, 0.0) if seconds == seconds else None  # noqa: PLR0124 - "nan" is a float, and no time
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max((at - datetime.now(UTC)).total_seconds(), 0.0) if at.tzinfo else None
