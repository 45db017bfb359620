"""A mock behind a real HTTP server on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dragoman.testing.vendors.mock import MockVendor


@contextmanager
def served(mock: MockVendor) -> Iterator[str]:
    """Serve a mock on a free port of 127.0.0.1; gives the url to put into an agent's `models.language`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            import httpx

            content = self.rfile.read(int(self.headers.get("content-length", 0)))
            url = f"http://{self.headers.get('host', '127.0.0.1')}{self.path}"
            response = mock.handle(httpx.Request(self.command, url, headers=dict(self.headers), content=content))
            self.send_response(response.status_code)
            for name, value in response.headers.items():
                if name not in ("content-length", "transfer-encoding"):
                    self.send_header(name, value)
            self.send_header("connection", "close")
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):  # a reader that hangs up is what `cancel` means
                for chunk in response.iter_bytes():
                    self.wfile.write(chunk)
                    self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
