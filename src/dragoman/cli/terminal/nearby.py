"""Model servers on this machine, which a first chat mentions: only 127.0.0.1 is asked, and nothing is sent to them."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant

PORTS = {"ollama": 11434, "lmstudio": 1234, "llamacpp": 8080}
_NAMES = {"ollama": "Ollama", "lmstudio": "LM Studio", "llamacpp": "A llama.cpp server"}
_PATIENCE = 0.15
_EMBEDDED = "smollm2-135m-instruct"


@dataclass(frozen=True, slots=True)
class Nearby:
    """A server with the first of its models, as a name for `--model`."""

    server: str
    model: str

    @property
    def offer(self) -> str:
        return f"{self.server} is running here. To use its model: dragoman chat --model {self.model}"


def first_offer(assistant: Assistant) -> str:
    """Return the hint about local model servers in the first chat with the embedded model; "" if there are none."""
    from dragoman.core.environment import home

    config = getattr(assistant, "config", None)
    models = config.get("models") if isinstance(config, Mapping) else None
    language = models.get("language") if isinstance(models, Mapping) else None
    if not isinstance(language, Mapping) or language.get("weights") != _EMBEDDED:
        return ""
    mark = home() / "offered"
    if mark.exists():
        return ""
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    return "\n".join(server.offer for server in nearby())


def nearby(ports: Mapping[str, int] = PORTS) -> list[Nearby]:
    """The model servers of known kinds that answer on this machine."""
    return [server for profile, port in ports.items() if (server := _probe(profile, port)) is not None]


def _probe(profile: str, port: int) -> Nearby | None:
    from dragoman.core.errors import EndpointError
    from dragoman.models.remote.endpoint import Endpoint
    from dragoman.models.remote.profiles import by_owner

    try:
        socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE).close()
    except OSError:
        return None
    url = f"http://127.0.0.1:{port}/v1"
    endpoint = Endpoint(url, key_env="", timeout=1.0, retries=0, concurrency=1)
    try:
        listed = endpoint.get("/models", seconds=1.0)
    except EndpointError:
        return None
    finally:
        endpoint.close()
    rows = listed.get("data") if isinstance(listed, dict) else None
    entries = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if not entries or by_owner(entries) != profile:
        return None
    return Nearby(_NAMES[profile], f"{profile}:{entries[0].get('id')}")
