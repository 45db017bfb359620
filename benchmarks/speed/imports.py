"""What `import dragoman` costs, beside other frameworks where an environment holds them.

    python benchmarks/speed/imports.py               Dragoman alone
    python benchmarks/speed/imports.py --peers DIR   with the others in the environment that `loop.py --peers DIR` made

A fresh interpreter for each try; the cost of starting one is taken off.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from time import perf_counter

LIMIT = 50.0
TRIES = 7
PEERS = {
    "Haystack": "from haystack import Pipeline, component",
    "LangGraph": "from langgraph.graph import StateGraph",
    "LlamaIndex workflows": "from llama_index.core.workflow import Workflow",
}


def milliseconds(code: str, python: str = sys.executable) -> float:
    """The best time of an interpreter that runs the code, less that of one that runs nothing."""
    return _best(code, python) - _best("pass", python)


def _best(code: str, python: str) -> float:
    times = []
    for _ in range(TRIES):
        began = perf_counter()
        subprocess.run([python, "-c", code], check=True, capture_output=True)
        times.append(perf_counter() - began)
    return min(times) * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", metavar="DIR", help="an environment that holds the other frameworks")
    arguments = parser.parse_args()
    ours = milliseconds("import dragoman")
    print(f"{'import':<40}{'ms':>8}{'limit':>8}")
    print(f"{'dragoman':<40}{ours:>8.0f}{LIMIT:>8.0f}")
    print(f"{'dragoman.Agent and the values':<40}{milliseconds('from dragoman import Agent, Context, Reply'):>8.0f}")
    print(f"{'dragoman.load':<40}{milliseconds('from dragoman import load'):>8.0f}")
    if arguments.peers:
        python = str(Path(arguments.peers) / "bin" / "python")
        for name, code in PEERS.items():
            print(f"{name:<40}{milliseconds(code, python):>8.0f}")
    return 0 if ours <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
