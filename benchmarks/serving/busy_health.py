"""How long `/healthz` takes while one key does its worst for a minute, beside an idle server on the same machine.

    python benchmarks/serving/busy_health.py               a minute, nineteen clients of one key
    python benchmarks/serving/busy_health.py --seconds 20  less
    nice -n -5 python benchmarks/serving/busy_health.py    on a machine that others use too (needs the right to)

Where the kernel groups processes by session, a session counts by /proc/self/autogroup, which can be written to.
The key sends the longest turns that a rule can be slowed down by, short ones that lean on them, turns of 1,500 facts,
a megabyte of history, bodies of as many values as may be or more, uploads that unpack, nest or parse slowly, and it
reads all that it keeps, long chats among it. The idle server is a process of its own: its waits are due to the machine
and to this client.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import httpx

AGENT_NAME = "busy"
AGENT = """
[[sources]]
name = "MEMORY"
about = "user"
private = true
[[sources]]
name = "NOTES"
description = "the user's own notes"
private = true
[models.language]
kind = "model.scripted.v1"
default = "I would not know."
[models.encoder]
kind = "encoder.hashing.v1"
[memory]
ask_model = false
"""
TURNS = (
    *("嗯" * 26 + "吗", "哈" * 40 + "x", "ha" * 190 + "☃", "我" + "刚" * 390, "thanks" + " for a a" * 17 + " x"),
    *("i live in " + " " * 30_000 + "?", "i like " * 4_500 + "?", "the dog. it " * 2_600, "1," * 15_900 + " x?"),
    *("thanks for a a " * 2_100 + "☃", "1" * 31_000 + "折？", "a" * 31_000, "'" * 31_000, "I like tea. " * 2_500),
)
IDLE = (
    "import http.server as h\n"
    "s = h.ThreadingHTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler)\n"
    "print(s.server_port, flush=True)\n"
    "s.serve_forever()"
)


def word_file() -> bytes:
    """A .docx of 16 kB whose text is 12 MB of empty paragraphs."""
    relations = '<Relationships><Relationship Id="a" Type="x/officeDocument" Target="d.xml"/></Relationships>'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", relations)
        archive.writestr("d.xml", f"<document><body>{'<p/>' * 3_000_000}</body></document>")
    return packed.getvalue()


def mail(attachment: bytes) -> bytes:
    """A mail with the same attachment five times."""
    part = (
        "--B\nContent-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n"
        'Content-Disposition: attachment; filename="a.docx"\n\n'
    )
    parts = f"{part}{base64.encodebytes(attachment).decode()}\n" * 5
    head = "From: a@example.org\nSubject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n"
    return f"{head}{parts}--B--\n".encode()


def talk(client: httpx.Client, number: int) -> Iterator[httpx.Response]:
    """The turns that are worst to parse."""
    for text in TURNS[number::3]:
        for said in (text, "What about it?"):  # the second leans on the history, which is long by then
            yield client.post("/v1/turns", json={"text": said, "dialogue": f"d{number}"})


def repeat(client: httpx.Client, number: int) -> Iterator[httpx.Response]:
    """As much history as a client may send along with a turn."""
    speakers = ("user", "assistant")
    messages = [{"role": speakers[nth % 2], "content": f"{number} {nth} " + "I am. " * 5000} for nth in range(31)]
    yield client.post("/v1/chat/completions", json={"model": AGENT_NAME, "messages": messages})


@cache
def stuffed() -> tuple[tuple[str, bytes], ...]:
    """Paths, and bodies of very many values, which take longest to parse and to check."""
    bodies: list[tuple[str, dict[str, object]]] = []
    for count in (6_000, 30_000):
        tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
        parts = [{"role": "user", "content": [{"type": "text", "text": "a"}] * count}]
        bodies.append(("/v1/chat/completions", {"messages": parts}))
        bodies.append(("/v1/chat/completions", {"messages": [], "tools": [tool] * (count // 2)}))
        bodies.append(("/v1/turns", {f"k{place}": place for place in range(3 * count)}))
    return tuple((path, json.dumps({"model": AGENT_NAME, **body}).encode()) for path, body in bodies)


def stuff(client: httpx.Client, number: int) -> Iterator[httpx.Response]:
    for path, body in stuffed():
        yield client.post(path, content=body, headers={"content-type": "application/json"})


def read(client: httpx.Client, number: int) -> Iterator[httpx.Response]:
    """All that the user keeps, of which a chat is long."""
    said = [
        {"uuid": f"m{nth}", "sender": ("human", "assistant")[nth % 2], "text": f"boat {nth}"} for nth in range(9_000)
    ]
    chat = [{"uuid": f"long{number}", "name": "long", "created_at": "2026-01-01T00:00:00Z", "chat_messages": said}]
    yield client.put("/v1/memory/import?chats=true", content=json.dumps(chat).encode())
    paths = [f"/v1/dialogues/{row['id']}" for row in client.get("/v1/dialogues").json().get("data", [])[:3]]
    for path in ("/v1/memory/export", *paths, *(f"{path}/export?format=html" for path in paths)):
        yield client.get(path)
    yield client.post("/v1/embeddings", json={"model": AGENT_NAME, "input": ["boat " * 400] * 256})


def tell(client: httpx.Client, number: int) -> Iterator[httpx.Response]:
    """As many facts as a turn holds."""
    facts = " ".join(f"I like zz{number}x{count}." for count in range(1500))
    yield client.post("/v1/turns", json={"text": facts, "dialogue": f"f{number}"})


def uploading(files: dict[str, bytes]) -> Callable[[httpx.Client, int], Iterator[httpx.Response]]:
    def upload(client: httpx.Client, number: int) -> Iterator[httpx.Response]:
        for name, content in files.items():
            yield client.post("/v1/sources/NOTES/files", files={"files": (f"{number}{name}", content)})
        yield client.post("/v1/sources/NOTES/search", json={"query": "boat " * 1500})
        yield client.get("/v1/memory/export")

    return upload


@contextmanager
def started(command: list[str], **options: object) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.kill()


def waits(client: httpx.Client, addresses: tuple[str, str], seconds: float) -> list[list[float]]:
    """The waits for each address in milliseconds, asked in turn five times a second."""
    times: list[list[float]] = [[], []]
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for address, own in zip(addresses, times, strict=True):
            began = time.monotonic()
            client.get(address).raise_for_status()
            own.append(1000 * (time.monotonic() - began))
        time.sleep(0.2)
    return times


def run(seconds: float, folder: Path) -> None:
    from dragoman.server.access.keys import create
    from dragoman.server.access.sqlite_ledger import SqliteLedger

    (folder / "agent.toml").write_text(AGENT, encoding="utf-8")
    ledger = SqliteLedger(folder / "server.db")
    _, key = create(ledger, "ana's", user="ana")
    ledger.close()
    packed = word_file()
    files = {"a.docx": packed, "a.eml": mail(packed), "a.md": b"[" * 120_000, "a.csv": b"a\n" + b"b\n" * 50_000}
    codes: Counter[int] = Counter()
    command = [
        sys.executable,
        "-m",
        "dragoman",
        "serve",
        str(folder),
        "--port",
        "0",
        "--keys",
        str(folder / "server.db"),
    ]
    environment = {**os.environ, "DRAGOMAN_HOME": str(folder / "home")}
    with started([sys.executable, "-c", IDLE], cwd=folder) as idle, started(command, env=environment) as serving:
        assert serving.stderr is not None and idle.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", serving.stderr.readline())
        assert found is not None, "the server did not start"
        address = found[0]
        threading.Thread(target=serving.stderr.read, daemon=True).start()
        reference = f"http://127.0.0.1:{int(idle.stdout.readline())}/"
        with httpx.Client(base_url=address, timeout=60) as client:
            while client.get("/readyz").status_code != 200:
                time.sleep(0.1)

            def post(work: Callable[[httpx.Client, int], Iterator[httpx.Response]], number: int) -> None:
                headers = {"authorization": f"Bearer {key}"}
                with httpx.Client(base_url=address, headers=headers, timeout=300) as own:
                    while True:
                        try:
                            codes.update(response.status_code for response in work(own, number))
                        except httpx.HTTPError:
                            return

            for number, work in enumerate(
                [*[talk] * 3, *[tell] * 2, *[repeat] * 2, *[stuff] * 8, *[uploading(files)] * 2, *[read] * 2]
            ):
                threading.Thread(target=post, args=(work, number), daemon=True).start()
            busy, other = waits(client, ("/healthz", reference), seconds)
    for name, times in (("/healthz", busy), ("idle server", other)):
        ordered = sorted(times)
        shown = ", ".join(f"p{share} {ordered[len(ordered) * share // 100]:.0f}" for share in (50, 95, 99))
        print(f"{name:12} {len(times)} asked: {shown}, longest {ordered[-1]:.0f} ms")
    print(f"answers to the key: {dict(sorted(codes.items()))}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / AGENT_NAME
        place.mkdir()
        run(options.seconds, place)


if __name__ == "__main__":
    main()
