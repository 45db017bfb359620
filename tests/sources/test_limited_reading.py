"""Files that would take a server's memory or time are refused in words by a process of their own."""

from __future__ import annotations

import os
from types import SimpleNamespace

import psutil
import pytest
from tests.effort import assert_linear, lines_of

from dragoman.sources import limited_reading
from dragoman.sources.files import READERS
from dragoman.sources.ingest_work import Loaded, read_passages
from dragoman.sources.limited_reading import ReadingLimits, read_limited

pytestmark = pytest.mark.trust
SMALL = ReadingLimits(near_bytes=0, memory_bytes=300 * 2**20, seconds=3, pdf_seconds=3)


def loaded(content, name="a.md"):
    return Loaded(content, name, "NOTES", f"uploads/{name}", False)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("# Prices\n\nA day ticket costs 6 francs.\n\n## Dogs\n\n- 水 costs 2 francs\n".encode(), "a.md"),
        (b'{"id": "a", "text": "one", "parent": "p", "line": "4"}\n{"text": 3}\n', "a.jsonl"),
        (b"name,price\nboat,6\n", "a.csv"),
        (b"", "a.txt"),
        (b"\xff\xfe\x00\x00", "a.pdf"),
    ],
)
def test_the_process_gives_what_reading_here_gives(content, name):
    limits = ReadingLimits(near_bytes=0)
    assert read_limited(loaded(content, name), limits) == read_passages(loaded(content, name))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "name"),
    [(b"a\n\n" * 5_000_000, "a.txt"), (b"a\n\n" * 1_250_000, "b.md"), (b"a\n" + b"b\n" * 8_000_000, "c.csv")],
)
def test_what_takes_too_much_is_refused_and_costs_this_process_nothing(content, name):
    before, found = psutil.Process(os.getpid()).memory_info().rss, []
    steps = lines_of(lambda: found.append(read_limited(loaded(content, name), SMALL)))
    assert found[0].passages == () and any(words in found[0].refused for words in ("takes more than", "may have"))
    assert steps < len(content) / 10
    assert psutil.Process(os.getpid()).memory_info().rss - before < 100 * 2**20


def test_a_file_that_needs_more_memory_than_may_be_is_refused():
    """By the limit of memory alone: the file is small, and quickly read."""
    file = loaded(b"# Prices\n\nA day ticket costs 6 francs.\n", "a.md")
    read = read_limited(file, ReadingLimits(near_bytes=0, memory_bytes=24 * 2**20))
    assert read.passages == () and "takes more than 24 MB" in read.refused


def test_too_many_passages_are_refused_wherever_they_are_read():
    content = b"name\n" + b"".join(b"%d\n" % number for number in range(300))
    for near in (0, 10_000):
        read = read_limited(loaded(content, "a.csv"), ReadingLimits(near_bytes=near, passages=100))
        assert read.passages == () and "an uploaded file may give 100" in read.refused


def test_small_files_start_no_process_and_nothing_secret_reaches_it(monkeypatch):
    monkeypatch.setenv("DRAGOMAN_SECRET", "hunter2")
    assert "hunter2" not in limited_reading.environment().values()
    monkeypatch.setattr(limited_reading.subprocess, "run", lambda *_, **__: pytest.fail("a process"))
    assert len(read_limited(loaded(b"A day ticket costs 6 francs."), ReadingLimits()).passages) == 1


@pytest.mark.parametrize("suffix", sorted({*READERS} - limited_reading._PLAIN))
def test_packed_formats_and_mails_are_read_apart_however_small(suffix, monkeypatch):
    """A mail of 110 kB with five attachments took a server 172 s: 16 kB of a .docx unpack into 12 MB of paragraphs."""
    started = []
    monkeypatch.setattr(
        limited_reading.subprocess, "run", lambda *_, **__: started.append(True) or SimpleNamespace(returncode=1)
    )
    assert read_limited(loaded(b"x", f"a{suffix}"), ReadingLimits()).refused and started


@pytest.mark.parametrize(
    "piece", [b"[", b"![", b"*a ", b"_a__b", b"`a``b", b"> ", b"- ", b"<a ", b"&#", b"<div>", b'"']
)
@pytest.mark.parametrize("suffix", sorted(limited_reading._PLAIN - {"", ".jsonl", ".ndjson", ".ipynb"}))
def test_small_plain_files_cost_little_wherever_they_are_read(piece, suffix):
    limits = ReadingLimits()
    assert_linear(
        lambda size: read_limited(loaded(piece * (size // len(piece)), f"a{suffix}"), limits), limits.near_bytes
    )


def test_a_limit_that_the_system_does_not_know_leaves_the_others(monkeypatch):
    """macOS refuses every limit of the memory that a process addresses."""
    resource = pytest.importorskip("resource")
    taken = {}

    def setrlimit(kind, limit):
        if kind == resource.RLIMIT_AS:
            raise ValueError("current limit exceeds maximum limit")
        taken[kind] = limit

    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    monkeypatch.setattr(limited_reading.os, "nice", lambda _: 0)
    limited_reading.limit_process({"memory": 1, "seconds": 3, "output": 2})
    assert taken == {resource.RLIMIT_CPU: (3, 8), resource.RLIMIT_FSIZE: (2, 2), resource.RLIMIT_CORE: (0, 0)}
