"""What the server costs: turns a second, latency and overhead with a scripted model, beside a FastAPI echo.

    python benchmarks/serving/serve.py                     both, with 50 clients
    python benchmarks/serving/serve.py --agent looking     turns that look something up, so that roles take their share
    python benchmarks/serving/serve.py --api chat          OpenAI's path, not streamed, instead of /v1/turns
    python benchmarks/serving/serve.py --soak 10           ten minutes at the limit: errors, memory, lost turns

Each server is one process of its own; this process is the clients. First every client sends at a steady rate, which
gives latency and overhead; then as fast as it is answered, which gives turns a second. The overhead is what the server
says a turn took, less what its trace says the roles took.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

WORKERS, QUEUE = 8, 64
LONGEST = 10
"""Turns of a dialogue before a client begins another."""
MODELS = """
[models.language]
kind = "model.scripted.v1"
default = "I would not know, but the desk at the pier may."
[models.encoder]
kind = "encoder.hashing.v1"
[memory]
learn = false
"""
AGENTS = {
    "plain": '[gate]\nkind = "gate.never.v1"\n[reader]\nkind = "reader.prompted.v1"\n',
    "looking": '[gate]\nkind = "gate.always.v1"\n[planner]\nkind = "planner.all.v1"\n'
    '[retriever]\nkind = "retriever.sparse.v1"\n[reader]\nkind = "reader.extractive.v1"\n',
}
DOCUMENT = "# Prices\n\nA day ticket costs 6 francs.\n\n# Hours\n\nThe pier opens at 7 and closes at 22.\n"
ECHO = """
import asyncio, json, socket, sys
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

app = FastAPI()

class Turn(BaseModel):
    text: str
    agent: str = ""
    dialogue: str | None = None

def event(name, value):
    return f"event: {name}\\ndata: {json.dumps(value)}\\n\\n".encode()

@app.post("/v1/turns")
async def turn(body: Turn):
    async def events():
        yield event("text", {"text": body.text})
        yield event("done", {"text": body.text, "dialogue": body.dialogue})
    return StreamingResponse(events(), media_type="text/event-stream")

@app.post("/v1/chat/completions")
async def chat(body: dict):
    said = body["messages"][-1]["content"]
    return {"choices": [{"message": {"role": "assistant", "content": said}}]}

listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(f"Serving on http://127.0.0.1:{listening.getsockname()[1]}", file=sys.stderr, flush=True)
config = uvicorn.Config(app, log_level="error", access_log=False, http="httptools", loop="uvloop")
asyncio.Runner(loop_factory=config.get_loop_factory() if hasattr(config, "get_loop_factory") else None).run(
    uvicorn.Server(config).serve(sockets=[listening])
)
"""


@dataclass
class Tally:
    """What clients saw of their requests."""

    seconds: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    overhead: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    acknowledged: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def clear(self) -> None:
        self.__init__()  # type: ignore[misc]  # a fresh one in the same place


class Connection:
    """One kept HTTP connection: as little as a client can be, so that the server is what is measured."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, user: str, body: bytes) -> tuple[int, bytes, float]:
        """Status, body, and when the first of the body came."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)
        reader, writer = self._streams
        head = (
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{self._port}\r\ncontent-type: application/json\r\n"
            f"x-dragoman-user: {user}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        if "content-length" in headers:
            answer = await reader.readexactly(int(headers["content-length"]))
            first = time.perf_counter()
        else:
            first, pieces = 0.0, []
            while size := int(await reader.readuntil(b"\r\n"), 16):
                pieces.append((await reader.readexactly(size + 2))[:-2])
                first = first or time.perf_counter()
            await reader.readexactly(2)
            answer = b"".join(pieces)
        if headers.get("connection") == "close":
            self.close()
        return int(lines[0].split(" ", 2)[1]), answer, first

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Client:
    """Sends turns, one after the other, each with a text that no other has."""

    def __init__(self, number: int, port: int, api: str, tally: Tally) -> None:
        self.user = f"u{number}"
        self._connection = Connection(port)
        self._api = api
        self._tally = tally
        self._sent = 0

    async def turn(self) -> float:
        """One turn; the seconds to wait before the next one where the server says so."""
        self._sent += 1
        text = f"Turn {self._sent} of {self.user}: what does a day ticket cost?"
        dialogue = f"d{self._sent // LONGEST}"
        began = time.perf_counter()
        try:
            status, answer, first = await self._connection.post(*self._request(text, dialogue))
        except (OSError, asyncio.IncompleteReadError) as error:
            self._connection.close()
            self._tally.errors[type(error).__name__] += 1
            return 0.05
        ended = time.perf_counter()
        self._tally.statuses[status] += 1
        if status != 200:
            self._tally.refused.append(text)
            return 0.05
        told = self._done(answer)
        if told is None:
            self._tally.errors["ended without a reply"] += 1
            return 0.0
        self._tally.acknowledged.append(text)
        self._tally.seconds.append(ended - began)
        self._tally.first.append(first - began)
        if "trace" in told:
            self._tally.overhead.append(told["seconds"] - sum(note["seconds"] for note in told["trace"]))
        return 0.0

    def _request(self, text: str, dialogue: str) -> tuple[str, str, bytes]:
        if self._api == "turns":
            return "/v1/turns", self.user, json.dumps({"text": text, "dialogue": dialogue}).encode()
        message = {"role": "user", "content": text}
        body = {"model": "bench", "messages": [message], "dragoman": {"dialogue": dialogue}}
        return "/v1/chat/completions", self.user, json.dumps(body).encode()

    def _done(self, answer: bytes) -> dict[str, object] | None:
        """The last event of a stream, or the extension of a completion; None where it did not end well."""
        if self._api == "chat":
            whole = json.loads(answer)
            return whole.get("dragoman", {}) if whole.get("choices") else None
        last = answer.rstrip().rsplit(b"\n\n", 1)[-1]
        name, _, data = last.partition(b"\n")
        return json.loads(data.removeprefix(b"data: ")) if name == b"event: done" else None

    def close(self) -> None:
        self._connection.close()


async def steadily(clients: Sequence[Client], seconds: float, rate: float) -> float:
    """Every client at its share of the rate, as long as the server keeps up; how long it really took."""
    pause = len(clients) / rate

    async def send(client: Client, offset: float) -> None:
        ends, at = time.perf_counter() + seconds, time.perf_counter() + offset
        while at < ends:
            await asyncio.sleep(max(0.0, at - time.perf_counter()))
            await client.turn()
            at += pause

    began = time.perf_counter()
    await asyncio.gather(*(send(client, pause * i / len(clients)) for i, client in enumerate(clients)))
    return time.perf_counter() - began


async def eagerly(clients: Sequence[Client], seconds: float) -> float:
    """Every client as fast as it is answered; how long it really took."""
    began = time.perf_counter()

    async def send(client: Client) -> None:
        while time.perf_counter() < began + seconds:
            await asyncio.sleep(await client.turn())

    await asyncio.gather(*(send(client) for client in clients))
    return time.perf_counter() - began


@contextmanager
def started(command: Sequence[str], **options: object) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A server in a process of its own, and its port."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]
    try:
        for line in process.stderr:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                break
        else:
            raise SystemExit(f"The server did not start: {' '.join(command)}")
        yield int(found[1]), process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()


def agent_folder(root: Path, kind: str) -> Path:
    folder = root / "bench"
    (folder / "documents").mkdir(parents=True)
    (folder / "documents" / "prices.md").write_text(DOCUMENT, encoding="utf-8")
    source = '[[sources]]\nname = "MEMORY"\nabout = "user"\nprivate = true\n'
    source += '[[sources]]\nname = "DOCUMENTS"\npath = "documents"\n'
    (folder / "agent.toml").write_text(source + MODELS + AGENTS[kind], encoding="utf-8")
    return folder


def ours(folder: Path, *more: str) -> list[str]:
    limits = ["--workers", str(WORKERS), "--queue", str(QUEUE)]
    return [sys.executable, "-m", "dragoman", "serve", str(folder), "--port", "0", *limits, *more]


async def measured(port: int, options: argparse.Namespace) -> dict[str, float]:
    """The figures of one server."""
    tally = Tally()
    clients = [Client(i, port, options.api, tally) for i in range(options.clients)]
    await eagerly(clients, options.seconds / 5)  # what is imported and compiled at the first turns
    tally.clear()
    took = await steadily(clients, options.seconds, options.rate)
    figures = {
        f"{name} {key}": value
        for name in ("seconds", "first", "overhead")
        for key, value in quantiles(getattr(tally, name)).items()
    }
    figures["steady"] = len(tally.seconds) / took
    refused, errors = sum(tally.statuses.values()) - tally.statuses[200], sum(tally.errors.values())
    tally.clear()
    took = await eagerly(clients, options.seconds)
    figures["turns/s"] = len(tally.seconds) / took
    figures["refused"] = refused + sum(tally.statuses.values()) - tally.statuses[200]
    figures["errors"] = errors + sum(tally.errors.values())
    for client in clients:
        client.close()
    return figures


def quantiles(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    ordered = sorted(values)
    return {"p50": ordered[len(ordered) // 2], "p99": ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]}


def compare(options: argparse.Namespace) -> None:
    """Both servers, one after the other, and the table."""
    with tempfile.TemporaryDirectory() as root:
        with started(ours(agent_folder(Path(root), options.agent))) as (port, _):
            dragoman = asyncio.run(measured(port, options))
        with started([sys.executable, "-c", ECHO]) as (port, _):
            echo = asyncio.run(measured(port, options))
    rows: list[tuple[str, str, float, Callable[[float], str]]] = [
        ("turns a second, as fast as they are answered", "turns/s", 500, lambda v: f"{v:,.0f}"),
        (f"turns a second, at a steady {options.rate:g}", "steady", 0, lambda v: f"{v:,.0f}"),
        ("latency p50, ms, steady", "seconds p50", 0, milliseconds),
        ("latency p99, ms, steady", "seconds p99", 0, milliseconds),
        ("first event p50, ms, steady", "first p50", 0.020, milliseconds),
        ("first event p99, ms, steady", "first p99", 0, milliseconds),
        ("overhead p50, ms, steady", "overhead p50", 0.002, milliseconds),
        ("overhead p99, ms, steady", "overhead p99", 0.010, milliseconds),
        ("refused (429, 503)", "refused", 0, lambda v: f"{v:.0f}"),
        ("errors", "errors", 0, lambda v: f"{v:.0f}"),
    ]
    print(f"{options.clients} clients, {options.seconds:g} s each, agent '{options.agent}', {options.api}\n")
    print("| | dragoman | limit | echo | ratio |\n| --- | ---: | ---: | ---: | ---: |")
    for words, key, limit, shown in rows:
        mine, theirs = dragoman.get(key), echo.get(key)
        ratio = f"{mine / theirs:.2f}" if mine and theirs else ""
        print(f"| {words} | {cell(mine, shown)} | {shown(limit) if limit else ''} | {cell(theirs, shown)} | {ratio} |")


def milliseconds(value: float) -> str:
    return f"{value * 1000:.2f}"


def cell(value: float | None, shown: Callable[[float], str]) -> str:
    return "" if value is None else shown(value)


def resident(pid: int) -> tuple[float, float]:
    """The memory of a process in MiB: its own, and pages of files, as of the database, which the system takes back."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    own, mapped = (re.search(rf"{name}:\s+(\d+) kB", status) for name in ("RssAnon", "RssFile"))
    return (int(own[1]) / 1024 if own else 0.0), (int(mapped[1]) / 1024 if mapped else 0.0)


async def soaked(port: int, pid: int, options: argparse.Namespace) -> tuple[Tally, list[tuple[float, float]]]:
    """More clients than may wait, for minutes; what they saw, and the server's memory every few seconds."""
    tally, memory = Tally(), list[tuple[float, float]]()
    clients = [Client(i, port, options.api, tally) for i in range(max(options.clients, 2 * (WORKERS + QUEUE)))]

    async def look() -> None:
        while True:
            await asyncio.sleep(min(5.0, options.soak * 60 / 50))
            memory.append(resident(pid))

    looking = asyncio.create_task(look())
    await eagerly(clients, options.soak * 60)
    looking.cancel()
    for client in clients:
        client.close()
    return tally, memory


def soak(options: argparse.Namespace) -> int:
    """Whether the server stands it: no other errors, flat memory, every acknowledged turn kept once."""
    with tempfile.TemporaryDirectory() as root:
        folder = agent_folder(Path(root), options.agent)
        with started(ours(folder)) as (port, process):
            tally, memory = asyncio.run(soaked(port, process.pid, options))
        kept = Counter(stored(folder))
    other = {status: n for status, n in tally.statuses.items() if status not in (200, 429, 503)}
    lost = sum(kept[text] == 0 for text in tally.acknowledged)
    doubled = sum(count > 1 for count in kept.values())
    ghosts = sum(kept[text] > 0 for text in tally.refused)
    fifth = max(1, len(memory) // 5)
    early, late = mean([own for own, _ in memory[fifth : 2 * fifth]]), mean([own for own, _ in memory[-fifth:]])
    mapped = mean([pages for _, pages in memory[-fifth:]])
    growth = (late - early) / early if early else 0.0
    print(f"{options.soak:g} minutes at the limit, agent '{options.agent}', {options.api}\n\n| | |\n| --- | ---: |")
    print(f"| turns acknowledged | {len(tally.acknowledged):,} |")
    print(f"| turns a second | {len(tally.acknowledged) / options.soak / 60:,.0f} |")
    print(f"| answers by status | {dict(tally.statuses)} |")
    print(f"| other errors | {sum(other.values()) + sum(tally.errors.values())} {dict(tally.errors) or ''} |")
    print(f"| memory of its own, early and late, MiB | {early:.1f}, {late:.1f} ({growth:+.1%}) |")
    print(f"| files mapped into it, late, MiB | {mapped:.1f} |")
    print(f"| acknowledged and not kept | {lost} |\n| kept twice | {doubled} |\n| refused and yet kept | {ghosts} |")
    return int(bool(other or tally.errors or lost or doubled or ghosts or abs(growth) > 0.05))


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def stored(folder: Path) -> Iterator[str]:
    """Every turn of every user, as the store kept it after the server left."""
    import dragoman

    with dragoman.load(folder) as assistant:
        for number in range(10_000):
            dialogues = assistant.dialogues(user=f"u{number}")
            if not dialogues:
                return
            for dialogue in dialogues:
                for turn in assistant.history(user=f"u{number}", dialogue=dialogue):
                    if turn.speaker == "user":
                        yield turn.text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each of the two measurements")
    parser.add_argument("--rate", type=float, default=200.0, help="turns a second of the steady one")
    parser.add_argument("--agent", choices=sorted(AGENTS), default="plain")
    parser.add_argument("--api", choices=("turns", "chat"), default="turns")
    parser.add_argument("--soak", type=float, metavar="MINUTES")
    options = parser.parse_args()
    if options.soak:
        sys.exit(soak(options))
    compare(options)


if __name__ == "__main__":
    main()
