"""Writes docs/results.md: every experiment's tables for the rows that need no training, on dev.

    python docs/generate_results.py [--slow-limit N] [NAME...]

Needs DRAGOMAN_DATA. Runs are kept in runs/results, so that a stopped or repeated call goes on where it was. Rows that
ask the language model on every turn take seconds each: they are measured on the first N turns of each set, in tables of
their own; 0 leaves them out.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
from datetime import date
from pathlib import Path

from rich.progress import Progress

from dragoman.evaluate.locate import find, shipped
from dragoman.evaluate.results import Result
from dragoman.evaluate.spec import Experiment, load_experiment
from dragoman.evaluate.study import run_experiment
from dragoman.evaluate.tables import markdown

PAGE = Path(__file__).with_name("results.md")
RUNS = Path("runs/results")
PAPERS = {
    "unims": "UniMS-RAG",
    "safari": "SAFARI",
    "ragate": "RAGate",
    "pkicr": "PK-ICR",
}
HEAD = """# Results

The papers' tables with the rows that need no training, on the dev splits. Written by

```sh
make results
```

{machine}, {day}, commit {commit}. Each table is printed by the command above it; every row, turn by turn, is then
in its run folder, and `dragoman report` joins runs. How the figures come about: [the laboratory](lab.md). What every
file measures, and where it differs from the paper: [experiments](experiments.md).

- Ours are dev figures, the paper's are test figures: they stand side by side for orientation, not as a contest.
- "not built" rows wait for trained systems, "no model" rows need a model that cannot be had here, "no data" rows a set
  that cannot be had here. None is filled with something else.
- Generation tables hold two rows for sanity: the gold evidence copied verbatim, and the most frequent reply.
"""
SLOW = """
Rows that ask the default language model on every turn, on the first {limit} turns of each set:
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/results.md.")
    parser.add_argument("names", nargs="*", help="only these experiments; the page is then printed, not written")
    parser.add_argument("--slow-limit", type=int, default=100, help="turns a set for rows that ask the model")
    options = parser.parse_args()
    if not os.environ.get("DRAGOMAN_DATA"):
        sys.exit("Set DRAGOMAN_DATA to the folder with the data sets.")
    names = options.names or sorted(shipped(), key=_order)
    page = HEAD.format(machine=_machine(), day=date.today().isoformat(), commit=_commit())
    before = ""
    for name in names:
        paper = PAPERS[name.partition("-")[0]]
        page += "" if paper == before else f"\n## {paper}\n"
        before = paper
        page += _section(name, options.slow_limit)
    if options.names:
        sys.stdout.write(page)
    else:
        PAGE.write_text(page, encoding="utf-8")


def _order(name: str) -> tuple[int, int]:
    paper, _, table = name.partition("-")
    return list(PAPERS).index(paper), int(table)


def _section(name: str, slow_limit: int) -> str:
    spec = load_experiment(find(name)[1])
    result = _run(spec, name, RUNS / name)
    text = f"\n### {PAPERS[name.partition('-')[0]]}, Table {spec.table}: {spec.title}\n\n{_command(name)}\n"
    text += _tables(result)
    slow = [system.name for system in spec.systems if system.slow and system.runs]
    if slow and slow_limit:
        beside = [*([spec.baseline] if spec.baseline and spec.baseline not in slow else []), *slow]
        part = _run(spec, name, RUNS / f"{name}-slow", systems=beside, limit=slow_limit)
        text += SLOW.format(limit=slow_limit) + f"\n{_command(name, *_named(beside), '--limit', str(slow_limit))}\n"
        text += _tables(_measured(part))
    return text


def _run(
    spec: Experiment, name: str, out: Path, *, systems: list[str] | None = None, limit: int | None = None
) -> Result:
    with Progress(transient=True) as progress:
        tasks = {}

        def tell(what: str, done: int, total: int | None, at: str) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(f"{name}: {what}")
            progress.update(tasks[what], completed=done, total=total, description=f"{name}: {what} {at}")

        return run_experiment(spec, out, name=name, systems=systems, limit=limit, progress=tell)


def _measured(result: Result) -> Result:
    """A result without the rows that were not run."""
    from dataclasses import replace

    tables = tuple(
        replace(table, rows=tuple(row for row in table.rows if any(cell.value is not None for cell in row.cells)))
        for table in result.tables
    )
    return replace(result, tables=tuple(table for table in tables if table.rows))


def _tables(result: Result) -> str:
    """The tables one heading lower than they stand in a run's own page, without its title."""
    lines = markdown(result).splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith("## ")), 0)
    body = [f"##{line}" if line.startswith("## ") else line for line in lines[start:]]
    return "\n" + "\n".join(body).strip() + "\n"


def _command(name: str, *arguments: str) -> str:
    return f"`{shlex.join(['dragoman', 'evaluate', name, *arguments])}`"


def _named(systems: list[str]) -> list[str]:
    return [word for system in systems for word in ("--system", system)]


def _machine() -> str:
    from contextlib import suppress

    model = platform.machine()
    with suppress(OSError, subprocess.SubprocessError, StopIteration):
        shown = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
        model = next(line.partition(":")[2].strip() for line in shown.splitlines() if line.startswith("Model name"))
    return f"{os.cpu_count()} cores {model}, Python {platform.python_version()}"


def _commit() -> str:
    shown = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return shown.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
