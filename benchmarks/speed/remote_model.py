"""What the client of a model endpoint adds to a bare httpx call, in milliseconds."""

from __future__ import annotations

import statistics
import time

import httpx

from dragoman.core.values import Prompt
from dragoman.models.remote.model import RemoteModel
from dragoman.testing.vendors import OllamaMock

CALLS = 300
MOST = 2.0
PROMPT = Prompt.user("When does the ferry leave? " * 40, system="You are a guide.")


def milliseconds(call: object) -> float:
    """The median time of a call."""
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        call()  # type: ignore[operator]
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def main() -> None:
    mock = OllamaMock()
    transport = mock.transport()
    client = httpx.Client(transport=transport)
    body = {
        "model": mock.model,
        "messages": [{"role": message.role, "content": message.content} for message in PROMPT.messages],
        "max_tokens": 16,
        "logprobs": True,
    }
    bare = milliseconds(lambda: client.post("http://models.test/v1/chat/completions", json=body).json())
    model = RemoteModel(url="http://models.test/v1", model=mock.model, profile="ollama", transport=transport)
    model.generate([PROMPT], max_tokens=16)
    ours = milliseconds(lambda: model.generate([PROMPT], max_tokens=16))
    print(f"bare httpx {bare:.2f} ms, RemoteModel {ours:.2f} ms, added {ours - bare:.2f} ms (at most {MOST} ms)")
    if ours - bare > MOST:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
