"""Time and memory of an ingest by the number of files: read anew, looked at again, and taken up after a kill.

    python benchmarks/search/many_files.py                       10,000 and 20,000 files
    python benchmarks/search/many_files.py --files 50000 100000  more

Each file has one short passage; vectors are counts of words, so that the encoder costs next to nothing. Memory is that
of the process alone (Linux), while files are read and while the index is built; up to 256 MiB of the database are
mapped besides. The last line is what a million files would take by the slope between the first and the last number of
files: computed, not measured.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AGENT = """
[[sources]]
name = "DOCUMENTS"
[models.language]
kind = "model.scripted.v1"
[models.encoder]
kind = "encoder.hashing.v1"
"""
MILLION = 1_000_000
CHILD = """
import json, re, sys, threading, time
import dragoman
folder, documents = sys.argv[1:]
own = {"files": 0, "index": 0}
stage = "files"
def sample():
    while True:
        with open("/proc/self/status") as status:
            now = int(re.search(r"RssAnon:\\s+(\\d+)", status.read())[1])
        own[stage] = max(own[stage], now)
        time.sleep(0.05)
threading.Thread(target=sample, daemon=True).start()
with dragoman.load(folder) as assistant:
    began, last = time.monotonic(), 0.0
    def progress(done, total, name):
        global last, stage
        stage = "index" if name == "the index" else "files"
        if time.monotonic() - last > 0.2:
            last = time.monotonic()
            print(json.dumps({"done": done, "total": total}), flush=True)
    report = assistant.ingest([documents], source="DOCUMENTS", progress=progress)
    print(json.dumps({"files": report.files, "added": report.added, "unchanged": report.unchanged,
        "seconds": time.monotonic() - began, "reading": own["files"], "indexing": own["index"]}), flush=True)
"""


def write(folder: Path, start: int, end: int) -> None:
    """Files of one passage each, a thousand in a folder."""
    old = time.time() - 3600
    for number in range(start, end):
        place = folder / f"{number // 1000:04}"
        if number % 1000 == 0:
            place.mkdir(parents=True)
        file = place / f"{number}.txt"
        file.write_text(f"Boat {number} leaves from pier {number % 97} at {number % 24} o'clock.\n")
        os.utime(file, (old, old))  # a file that was written this second is read again


def ingest(agent: Path, documents: Path, *, kill_at: float | None = None) -> dict[str, float]:
    """One ingest in a process of its own; with `kill_at`, killed when that share of the bytes is done."""
    command = [sys.executable, "-c", CHILD, str(agent), str(documents)]
    environment = {**os.environ, "DRAGOMAN_HOME": str(agent / "home")}
    lines: list[dict[str, float]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(json.loads(line))
            if kill_at is not None and lines[-1].get("done", 0) > kill_at * lines[-1].get("total", 1):
                process.send_signal(signal.SIGKILL)
                break
    return lines[-1]


def agent_in(folder: Path) -> Path:
    folder.mkdir()
    (folder / "agent.toml").write_text(AGENT, encoding="utf-8")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[10_000, 20_000])
    sizes = sorted(parser.parse_args().files)
    columns = ("files", "first s", "MiB", "index MiB", "again s", "MiB", "after a kill s", "lost")
    print("{:>9} {:>8} {:>6} {:>9} {:>8} {:>6} {:>15} {:>6}".format(*columns))
    points = []
    with tempfile.TemporaryDirectory() as name:
        folder, written = Path(name), 0
        documents = folder / "documents"
        for size in sizes:
            write(documents, written, size)
            written = size
            first = ingest(agent_in(folder / f"a{size}"), documents)
            again = ingest(folder / f"a{size}", documents)
            killed = agent_in(folder / f"k{size}")
            ingest(killed, documents, kill_at=0.5)
            rest = ingest(killed, documents)
            wrong = size - int(rest["added"] + rest["unchanged"])
            own = [first["reading"] / 1024, first["indexing"] / 1024, again["reading"] / 1024]
            figures = (first["seconds"], *own[:2], again["seconds"], own[2], rest["seconds"])
            points.append((size, figures))
            row = "{:9,} {:8.1f} {:6.0f} {:9.0f} {:8.1f} {:6.0f} {:15.1f}".format(size, *figures)
            print(f"{row} {wrong:6}", flush=True)
    if len(points) > 1:
        (small, low), (large, high) = points[0], points[-1]
        slopes = [(b - a) / (large - small) for a, b in zip(low, high, strict=True)]
        figures = tuple(b + slope * (MILLION - large) for b, slope in zip(high, slopes, strict=True))
        print("{:9,} {:8.0f} {:6.0f} {:9.0f} {:8.0f} {:6.0f} {:15.0f}   (computed)".format(MILLION, *figures))


if __name__ == "__main__":
    main()
