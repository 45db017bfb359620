"""Read uploaded files in a process of its own with limits of memory and time: a file must not take a server down.

Small files of plain formats are read in this process: what they can cost is bounded by their size. That is not so for
packed formats, mails with attachments and PDF.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dragoman.core.codec import decode, encode
from dragoman.core.errors import InputError
from dragoman.core.values import Passage
from dragoman.core.workers import ShardJob, Tell, Work
from dragoman.sources.ingest_work import Loaded, Read, read_passages

_HEADER = 1 << 20
_NICE = 10
"""Reading gives way to the server that waits for it, also where several files are read at once."""
_PLAIN = frozenset(
    ("", ".txt", ".text", ".md", ".markdown", ".html", ".htm", ".xhtml", ".csv", ".tsv", ".jsonl", ".ndjson", ".ipynb")
)
"""Suffixes of formats whose cost grows with their size; those of plug-ins are not among them."""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """Limits of the process that reads one file; plain files of up to `near_bytes` are read without one."""

    near_bytes: int = 32 * 1024
    memory_bytes: int = 1536 * 2**20
    output_bytes: int = 512 * 2**20
    passages: int = 200_000
    seconds: int = 120
    pdf_seconds: int = 300


LIMITS = ReadingLimits()


def limited_reading(limits: ReadingLimits | None = None) -> ShardJob[Loaded, Read]:
    """The job that reads files within limits."""

    @contextmanager
    def opened() -> Iterator[Work[Loaded, Read]]:
        def read(loaded: Loaded, tell: Tell) -> list[Read]:
            return [read_limited(loaded, limits or LIMITS)]

        yield read

    return ShardJob("read", opened)


def read_limited(loaded: Loaded, limits: ReadingLimits) -> Read:
    """The passages of a file, or why it is refused."""
    suffix = Path(loaded.name).suffix.lower()
    if len(loaded.content) <= limits.near_bytes and suffix in _PLAIN:
        return _capped(read_passages(loaded), loaded, limits)
    seconds = limits.pdf_seconds if suffix == ".pdf" else limits.seconds
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(
                [sys.executable, "-m", __name__],
                input=_request(loaded, limits, seconds),
                stdout=output,
                stderr=subprocess.DEVNULL,
                env=environment(),
                timeout=2 * seconds + 10,  # of the wall: the machine may be busy
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _refused(loaded, limits, seconds)
        output.seek(0)
        return _result(output) if done.returncode == 0 else _refused(loaded, limits, seconds)


def _capped(read: Read, loaded: Loaded, limits: ReadingLimits) -> Read:
    """Refuse a file of too many passages, each of which is a row with a vector."""
    if len(read.passages) <= limits.passages:
        return read
    error = InputError(
        f"'{loaded.name}' gives {len(read.passages):,} passages; an uploaded file may give {limits.passages:,}.",
        remedy="Split it.",
    )
    return Read(refused=str(error))


def _refused(loaded: Loaded, limits: ReadingLimits, seconds: int) -> Read:
    memory = limits.memory_bytes // 2**20
    error = InputError(
        f"'{loaded.name}' takes more than {memory:,} MB of memory or {seconds} s to read.", remedy="Split it."
    )
    return Read(refused=str(error))


def _request(loaded: Loaded, limits: ReadingLimits, seconds: int) -> bytes:
    header = {
        "name": loaded.name,
        "source": loaded.source,
        "origin": loaded.origin,
        "apart": loaded.apart,
        "memory": limits.memory_bytes,
        "output": limits.output_bytes,
        "passages": limits.passages,
        "seconds": seconds,
    }
    return json.dumps(header).encode() + b"\n" + loaded.content


def environment() -> dict[str, str]:
    """The variables of the reading process: where the package is, and nothing of keys or passwords."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "SYSTEMROOT") if name in os.environ}
    package = str(Path(__file__).resolve().parents[2])
    return kept | {"PYTHONPATH": package, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}


def _result(output: IO[bytes]) -> Read:
    """The result that the reading process wrote: a line with its failures, then one for each passage."""
    first: dict[str, Any] = json.loads(output.readline())
    if first["refused"]:
        return Read(refused=str(first["refused"]))
    failed = tuple((str(place), str(reason)) for place, reason in first["failed"])
    return Read(tuple(decode(Passage, json.loads(line)) for line in output), failed)


def limit_process(header: dict[str, Any]) -> None:
    """Limit this process to the bytes of `memory` and `output` and the `seconds` of a request."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    try:
        import resource
    except ImportError:  # a system without them: the time is limited by whoever waits
        return
    limits = {
        resource.RLIMIT_AS: (header["memory"], header["memory"]),
        resource.RLIMIT_CPU: (header["seconds"], header["seconds"] + 5),
        resource.RLIMIT_FSIZE: (header["output"], header["output"]),
        resource.RLIMIT_CORE: (0, 0),
    }
    for kind, limit in limits.items():
        with suppress(OSError, ValueError):  # macOS limits no memory that a process addresses
            resource.setrlimit(kind, limit)


def main() -> None:
    """The reading process: a request on standard input, the result on standard output."""
    header = json.loads(sys.stdin.buffer.readline(_HEADER))
    limit_process(header)
    names = (header["name"], header["source"], header["origin"], header["apart"])
    loaded = Loaded(sys.stdin.buffer.read(), *names)
    read = _capped(read_passages(loaded), loaded, ReadingLimits(passages=header["passages"]))
    out = sys.stdout.buffer
    out.write(json.dumps({"refused": read.refused, "failed": read.failed}).encode() + b"\n")
    for passage in read.passages:
        out.write(json.dumps(encode(passage)).encode() + b"\n")
    out.flush()


if __name__ == "__main__":
    main()
