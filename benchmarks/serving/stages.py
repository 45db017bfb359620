"""What the stages of a turn cost, for a million turns: core seconds, and bytes that stay.

    python benchmarks/serving/stages.py                  the sample agent with its encoder, on SQLite and PostgreSQL
    python benchmarks/serving/stages.py --turns 500

One process asks, one turn after the other, as different users, who know the sample's documents. Stages are
the roles' own seconds, as the trace has them; `rest` is what the turn took beyond them, the store's writing included.
The language model is not asked (the sample agent quotes): a model of one's own comes on top, and is most of the cost.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import psutil
from replicas import commits, database, used
from simulate import MEASURED, load

import dragoman

SAID = (
    "Hello!",
    "My dog is called Rufus.",
    "When does the ferry leave on Sunday?",
    "And what does it cost?",
    "Is there a bakery near the pier?",
    "Thank you.",
    "What is my dog called?",
    "Who keeps the lighthouse?",
)


def measure(engine: str, turns: int) -> dict:
    """The costs of one turn on an engine."""
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url, pid = stack.enter_context(database(None)) if engine == "postgres" else (None, None)
        over: dict[str, object] = {"store.kind": f"store.{engine}.v1"}
        if url is not None:
            os.environ["DRAGOMAN_STAGES"] = url
            over["store.url"] = "env:DRAGOMAN_STAGES"
        assistant = stack.enter_context(dragoman.load("harbour", state=root / "state", overrides=over))
        for i in range(len(SAID) * 2):
            assistant.ask(SAID[i % len(SAID)], user=f"warm{i // len(SAID)}")

        def size() -> int:
            if url is not None:
                return assistant.store.verify().bytes
            assistant.store.engine.erase()
            return sum(path.stat().st_size for path in (root / "state").rglob("*") if path.is_file())

        def logged() -> int:
            if url is None:
                return 0
            import psycopg

            with psycopg.connect(url, autocommit=True) as connection:
                return int(connection.execute("SELECT pg_current_wal_lsn() - '0/0'").fetchone()[0])

        stages: dict[str, float] = defaultdict(float)
        before, kept, log, own, at = (
            size(),
            used([pid]) if pid else 0.0,
            logged(),
            psutil.Process().cpu_times(),
            commits(url),
        )
        began = time.perf_counter()
        for i in range(turns):
            told = time.perf_counter()
            reply = assistant.ask(SAID[i % len(SAID)], user=f"u{i // len(SAID)}", dialogue="d")
            took = time.perf_counter() - told
            for note in reply.trace.notes:
                stages[note.role] += note.seconds
            stages["rest"] += took - sum(note.seconds for note in reply.trace.notes)
        wall, now = time.perf_counter() - began, psutil.Process().cpu_times()
        found = {
            "milliseconds": {role: seconds / turns * 1000 for role, seconds in stages.items()},
            "turn milliseconds": wall / turns * 1000,
            "core milliseconds": (now.user + now.system - own.user - own.system) / turns * 1000,
            "database core milliseconds": ((used([pid]) if pid else 0.0) - kept) / turns * 1000,
            "log bytes": (logged() - log) / turns,
            "bytes": (size() - before) / turns,
        }
        time.sleep(1.1)  # PostgreSQL tells its figures a moment later
        return found | {"transactions": (commits(url) - at) / turns}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=MEASURED)
    options = parser.parse_args()
    found = {engine: measure(engine, options.turns) for engine in ("sqlite", "postgres")}
    names = sorted({role for figures in found.values() for role in figures["milliseconds"]})
    print(f"{options.turns} turns\n\n| of a million turns | SQLite | PostgreSQL |\n| --- | ---: | ---: |")
    for role in names:
        shown = " | ".join(f"{figures['milliseconds'].get(role, 0) * 1000:,.0f} s" for figures in found.values())
        print(f"| {role}, time | {shown} |")
    for words, key, unit, scale in (
        ("the whole turn, time", "turn milliseconds", "s", 1000),
        ("core seconds of the agent's process", "core milliseconds", "s", 1000),
        ("core seconds of the database", "database core milliseconds", "s", 1000),
        ("stays in the store", "bytes", "GB", 1e-3),
        ("goes through the write-ahead log", "log bytes", "GB", 1e-3),
        ("transactions a turn", "transactions", "", 1),
    ):
        print(f"| {words} | {' | '.join(f'{figures[key] * scale:,.1f} {unit}' for figures in found.values())} |")
    everything = load(options.out)
    everything["stages"] = found
    options.out.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
