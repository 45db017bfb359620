"""Fetch one page: few redirects, a limit of size and time, public addresses, and only kinds that can be read."""

from __future__ import annotations

import mimetypes
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from time import monotonic
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urljoin, urlsplit

from dragoman.core.deadlines import Deadline, DeadlineBackend
from dragoman.core.errors import InputError
from dragoman.sources.web.addresses import PublicBackend, check_url

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    import httpcore

MOST_BYTES = 20 * 2**20
MOST_REDIRECTS = 5
SECONDS = 30.0
"""Seconds for one page with its redirects."""
_AGENT = "Mozilla/5.0 (compatible; dragoman; reads documents for its user; obeys robots.txt for 'dragoman')"
_SUFFIXES = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "application/pdf": ".pdf",
    "application/xml": ".xml",
    "text/xml": ".xml",
    "application/epub+zip": ".epub",
    "message/rfc822": ".eml",
}
"""Suffixes for types of content; others keep the suffix of their address."""


@dataclass(frozen=True, slots=True)
class Page:
    """A fetched page: its final address, status, content, and a suffix that says how to read it."""

    url: str
    status: int
    content: bytes
    suffix: str


class Fetcher:
    """Fetches pages over connections that are kept; `allow` decides about each address, redirects included."""

    def __init__(self, *, allow_private: bool = False, most_bytes: int = MOST_BYTES, seconds: float = SECONDS) -> None:
        self._allow_private = allow_private
        self._most = most_bytes
        self._seconds = seconds
        self._pool: httpcore.ConnectionPool | None = None
        self._deadline = Deadline()

    def __enter__(self) -> Self:
        import httpcore

        # No proxy is read from the environment: a proxy would resolve names itself, past the check.
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_connections=4,
            network_backend=cast(
                "httpcore.NetworkBackend",
                DeadlineBackend(PublicBackend(allow_private=self._allow_private), self._deadline),
            ),
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.close()

    def hop(self, url: str, until: float | None = None) -> Page | str:
        """The page at an address, or the address that it redirects to."""
        import httpcore

        assert self._pool is not None
        address = check_url(url)
        until = until or monotonic() + self._seconds
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), max(0.1, until - monotonic()))
        self._deadline.until = max(until, monotonic() + 0.1)
        headers: list[tuple[bytes | str, bytes | str]] = [
            ("user-agent", _AGENT),
            ("accept-encoding", "identity"),
            ("host", urlsplit(address).netloc),
        ]
        try:
            with self._pool.stream("GET", address, headers=headers, extensions={"timeout": timeouts}) as response:
                response_headers = {
                    key.decode("ascii", "replace").lower(): value.decode("latin-1") for key, value in response.headers
                }
                if response.status in (301, 302, 303, 307, 308) and response_headers.get("location"):
                    return _joined(address, response_headers["location"])
                content = self._content(response, response_headers, address, until)
                return Page(address, response.status, content, _suffix(address, response_headers))
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError) as error:
            if monotonic() > until:
                raise self._too_slow(address) from error
            reason = str(error) or type(error).__name__
            raise InputError(f"'{address}' cannot be fetched: {reason}.", remedy="Is the site up?") from error

    def _content(self, response: httpcore.Response, headers: Mapping[str, str], url: str, until: float) -> bytes:
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > self._most):
            raise self._too_large(url)
        content = bytearray()
        for chunk in response.iter_stream():
            content += chunk
            if len(content) > self._most:
                raise self._too_large(url)
            if monotonic() > until:
                raise self._too_slow(url)
        return bytes(content)

    def _too_slow(self, url: str) -> InputError:
        return InputError(f"'{url}' takes more than {self._seconds:g} s.", remedy="Save it as a file.")

    def _too_large(self, url: str) -> InputError:
        return InputError(
            f"'{url}' has more than {self._most / 2**20:g} MB.", remedy="Save it as a file, and split it."
        )


def _joined(url: str, location: str) -> str:
    """The address that a redirect leads to."""
    try:
        target = urljoin(url, location)
    except ValueError as error:
        raise InputError(f"'{url}' redirects to what is not a URL.", remedy="Give the final address.") from error
    return check_url(target)


def _suffix(url: str, headers: Mapping[str, str]) -> str:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    own = PurePosixPath(unquote(urlsplit(url).path)).suffix.lower()
    # A server that knows no better sends Markdown and CSV as plain text.
    if kind == "text/plain" and own:
        return own
    if not kind:
        return own or ".html"
    return _SUFFIXES.get(kind) or own or mimetypes.guess_extension(kind) or ".bin"
