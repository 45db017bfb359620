"""How long it takes to train a gate on one's own labels: each recipe as it stands, one after the other.

    python benchmarks/speed/gate_training.py [--data dstc11/train] [--gates linear attention encoder] [--set KEY=VALUE]

DSTC11's training part has 2,918 turns (DRAGOMAN_DATA set). A training is what a user types, from the command to the
exported part, in a process of its own; seconds are also given for 3,000 turns, as if each took the same. Seconds of the
processor stand beside them, and the load average before each, since all of it is only true of a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WANTED = 600.0
TURNS = 3000


def trained(gate: str, data: str, settings: list[str], folder: Path) -> tuple[float, float, int]:
    """Wall-clock and processor seconds of a training, and the turns that it learned from or held out."""
    words = [sys.executable, "-m", "dragoman", "train", f"gate-{gate}", "--data", f"train={data}", "--out", str(folder)]
    words += [word for setting in settings for word in ("--set", setting)]
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr.strip()}")
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    turns = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["turns"]
    return seconds, processor, sum(turns.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="dstc11/train")
    parser.add_argument("--gates", nargs="+", default=["linear", "attention", "encoder"])
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="changed in every recipe")
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, wanted: {TURNS} turns in {WANTED:.0f} s")
    print(f"| gate | turns | seconds | for {TURNS} turns | of the processor | load before |")
    print("|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for gate in given.gates:
            load = os.getloadavg()[0]
            seconds, processor, turns = trained(gate, given.data, given.set, Path(folder, gate))
            scaled = seconds * TURNS / turns
            print(f"| {gate} | {turns} | {seconds:.0f} | {scaled:.0f} | {processor:.0f} | {load:.1f} |", flush=True)


if __name__ == "__main__":
    main()
