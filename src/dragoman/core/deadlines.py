"""A deadline for a whole HTTP exchange: httpcore's own timeouts start anew with every byte, also within headers.

Nothing of httpcore is imported before a connection is made, so that importing the package stays quick.
"""

from __future__ import annotations

import threading
from time import monotonic
from typing import Any


class Deadline(threading.local):
    """Time on the monotonic clock at which this thread's reads and writes must end; None for no limit."""

    until: float | None = None

    def limited(self, timeout: float | None) -> float | None:
        """Shorten a timeout so that it ends by the deadline; raises an error if the deadline has passed."""
        if self.until is None:
            return timeout
        left = self.until - monotonic()
        if left <= 0:
            import httpcore

            raise httpcore.ReadTimeout("The deadline is over.")
        return left if timeout is None else min(left, timeout)


class DeadlineBackend:
    """Network backend for httpcore whose connections respect a deadline."""

    def __init__(self, backend: Any, deadline: Deadline) -> None:
        self._backend = backend
        self._deadline = deadline

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> DeadlineStream:
        """Connect to a host."""
        stream = self._backend.connect_tcp(host, port, timeout=self._deadline.limited(timeout), **options)
        return DeadlineStream(stream, self._deadline)

    def connect_unix_socket(self, path: str, timeout: float | None = None, **options: Any) -> DeadlineStream:
        """Connect to a socket file."""
        stream = self._backend.connect_unix_socket(path, timeout=self._deadline.limited(timeout), **options)
        return DeadlineStream(stream, self._deadline)

    def sleep(self, seconds: float) -> None:
        """Sleep, as retries of a connection do."""
        self._backend.sleep(seconds)


class DeadlineStream:
    """Connection whose reads and writes respect a deadline."""

    def __init__(self, stream: Any, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """The next bytes."""
        received: bytes = self._stream.read(max_bytes, timeout=self._deadline.limited(timeout))
        return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes."""
        self._stream.write(buffer, timeout=self._deadline.limited(timeout))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> DeadlineStream:
        """The connection with TLS."""
        stream = self._stream.start_tls(ssl_context, server_hostname, self._deadline.limited(timeout))
        return DeadlineStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """Return information about the connection, such as its socket."""
        return self._stream.get_extra_info(info)
