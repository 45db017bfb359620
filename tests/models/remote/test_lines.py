"""Proxies and TLS between us and an endpoint: whatever they do, the call ends in words and in time."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
import time
from contextlib import suppress

import pytest
from pytest_socket import enable_socket, socket_allow_hosts

from dragoman.core.errors import EndpointError
from dragoman.core.values import Prompt
from dragoman.models.remote.model import RemoteModel

pytestmark = pytest.mark.trust
PROMPT = Prompt.user("Say hello.")


@pytest.fixture
def listening(monkeypatch):
    """A port of this machine that answers every connection with what a test writes."""
    enable_socket()
    socket_allow_hosts(["127.0.0.1", "localhost"], allow_unix_socket=True)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    opened = socket.create_server(("127.0.0.1", 0))

    def serve(answer, *, wrap=lambda connection: connection):
        def run():
            with suppress(OSError):
                while True:
                    connection, _ = opened.accept()
                    with suppress(OSError), wrap(connection) as inner:
                        inner.recv(65_536)
                        answer(inner)

        threading.Thread(target=run, daemon=True).start()
        return f"127.0.0.1:{opened.getsockname()[1]}"

    yield serve
    opened.close()


def asked(url, **options):
    """The error of a call."""
    model = RemoteModel(url=url, model="m", deadline=3.0, timeout=300.0, retries=0, profile="plain", **options)
    with pytest.raises(EndpointError) as raised:
        model.generate([PROMPT], max_tokens=5)
    return raised.value


waited_for = []
"""A name for each answer that went on for a minute, and that the client waited for."""


def drip(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    for _ in range(600):
        connection.sendall(b"a")  # an error, once the client has hung up
        time.sleep(0.1)
    waited_for.append("drip")


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "answer",
    [
        lambda connection: connection.sendall(
            b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
        ),
        lambda connection: connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"),
        lambda connection: connection.sendall(b"\x00\xff" * 2000),
        lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000),
        lambda connection: None,
        drip,
    ],
    ids=["asks for a password", "fails", "talks nonsense", "sends headers without end", "hangs up", "drips"],
)
def test_a_proxy_that_fails_ends_the_call_in_words_and_in_time(listening, monkeypatch, scheme, answer):
    monkeypatch.setenv(f"{scheme.upper()}_PROXY", f"http://{listening(answer)}")
    assert asked(f"{scheme}://models.invalid/v1").remedy and waited_for == []


def test_a_proxy_that_is_not_there_is_told(listening, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
    assert "cannot be reached" in str(asked("https://models.invalid/v1"))


def test_plain_http_behind_an_https_address_is_told(listening):
    place = listening(lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
    assert asked(f"https://{place}/v1").remedy


def test_a_handshake_that_never_ends_is_given_up_at_the_deadline(listening):
    silent = listening(lambda connection: connection.recv(65_536))  # until the client hangs up
    assert "did not answer within 3 s" in str(asked(f"https://{silent}/v1"))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_certificate_that_nobody_signed_is_refused_and_nothing_is_sent(listening, tmp_path, monkeypatch):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -keyout {key} -out {certificate}"
    subprocess.run(["openssl", *made.split()], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    heard = []
    monkeypatch.setenv("MODEL_KEY", "hunter2")
    place = listening(heard.append, wrap=lambda connection: context.wrap_socket(connection, server_side=True))
    error = asked(f"https://{place}/v1", key_env="MODEL_KEY")
    assert "certificate that cannot be verified" in str(error) and heard == []
    assert "hunter2" not in str(error)
