from __future__ import annotations

from types import SimpleNamespace

import pytest

from dragoman.cli.terminal import nearby as module
from dragoman.cli.terminal.nearby import first_offer, nearby
from dragoman.testing.vendors import LlamaCppMock, OllamaMock, served


@pytest.fixture(autouse=True)
def local_sockets(socket_enabled):
    """The mocks are served on this machine."""


def port_of(url):
    return int(url.rpartition(":")[2].removesuffix("/v1"))


def test_a_server_of_the_expected_kind_is_offered_and_nothing_is_generated():
    mock, other = OllamaMock(), LlamaCppMock()
    with served(mock) as url, served(other) as strange:
        found = nearby({"ollama": port_of(url), "lmstudio": port_of(strange), "llamacpp": 9})
    assert [server.model for server in found] == ["ollama:qwen3:4b"]
    assert mock.requests == other.requests == []


def test_the_offer_is_made_once_and_only_with_the_embedded_model(monkeypatch):
    embedded = SimpleNamespace(config={"models": {"language": {"weights": "smollm2-135m-instruct"}}})
    own = SimpleNamespace(config={"models": {"language": {"kind": "model.remote.v1"}}})
    with served(OllamaMock()) as url:
        monkeypatch.setattr(module, "nearby", lambda: nearby({"ollama": port_of(url)}))
        assert first_offer(own) == ""
        assert "dragoman chat --model ollama:qwen3:4b" in first_offer(embedded)
        assert first_offer(embedded) == ""
    assert first_offer(SimpleNamespace(config=None)) == ""
