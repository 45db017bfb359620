"""Writes docs/results.md: every experiment's tables for the rows that need no training, on dev.

    python docs/generate_results.py [--keep] [--finished] [--no-slow] [NAME...]

Needs DRAGOMAN_DATA. Runs lie in runs/results; a call that was stopped goes on where it was, and with --keep a run that
came to its end is taken as it is, whatever changed since: its commit stands below its table. With --finished nothing
is run: what has no finished run stays on the page as it is. Rows that ask the language
model on every turn take seconds each: they are measured on the first turns of some sets only, in tables of their
own.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path

from rich.progress import Progress

from dragoman.evaluate.api import run_experiment
from dragoman.evaluate.experiment_files import find, shipped
from dragoman.evaluate.results import Cell, Result
from dragoman.evaluate.running.run_record import RESULTS, load_run
from dragoman.evaluate.show.tables import markdown
from dragoman.evaluate.spec import Experiment, load_experiment

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

{machine}, {day}. Each table is printed by the command above it; every row, turn by turn, is then
in its run folder, and `dragoman report` joins runs. How the figures come about: [the laboratory](lab.md). What every
file measures, and where it differs from the paper: [experiments](experiments.md).

- Ours are dev figures, the paper's are test figures: they stand side by side for orientation, not as a contest.
- Rows whose parts are trained are left out: they stand in [trained rows](trained.md), with their commands, and nine of
  KETOD's gates and KBP's `classifier` in [what the learners reach](learned.md) alone.
- Rows of the papers: "not built" ones are other systems, "no model" ones need a model and "no data" ones a set that we
  did not have. None is filled with something else.
- Generation tables hold two rows for sanity: the gold evidence copied verbatim, and the most frequent reply.
"""
SLOW = {"safari-4": ("kbp", 60), "ragate-2": ("ketod-gate", 150)}
"""Where the rows that ask the model are measured: the set and how many of its turns."""
SLOW_HEAD = """
Rows that ask the default language model on every turn, on the first {limit} turns of one set:
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/results.md.")
    parser.add_argument(
        "names", nargs="*", help="only these experiments; their part of the page is printed, not written"
    )
    parser.add_argument("--keep", action="store_true", help="take finished runs as they are")
    parser.add_argument("--finished", action="store_true", help="run nothing: other tables stay as they are")
    parser.add_argument("--no-slow", action="store_true", help="leave out the rows that ask the language model")
    options = parser.parse_args()
    if not os.environ.get("DRAGOMAN_DATA"):
        sys.exit("Set DRAGOMAN_DATA to the folder with the data sets.")
    today = date.today().isoformat()
    page = HEAD.format(machine=_machine(), day=f"until {today}" if options.finished else today)
    before, known = "", _known(PAGE.read_text(encoding="utf-8")) if options.finished else {}
    for name in options.names or sorted(filter(_of_a_paper, shipped()), key=_order):
        paper = PAPERS[name.partition("-")[0]]
        page += "" if paper == before else f"\n## {paper}\n"
        before = paper
        if options.finished and not _is_finished(name):
            page += known[_title(name)]
            continue
        page += _section(name, keep=options.keep or options.finished, slow=not options.no_slow)
    if options.names:
        sys.stdout.write(page)
    else:
        PAGE.write_text(page, encoding="utf-8")


def _of_a_paper(name: str) -> bool:
    return name.partition("-")[0] in PAPERS


def _is_finished(name: str) -> bool:
    folders = [RUNS / name, *([RUNS / f"{name}-slow"] if name in SLOW else [])]
    return all((folder / RESULTS).exists() for folder in folders)


def _known(page: str) -> dict[str, str]:
    """The sections of a page by their titles."""
    parts = re.split(r"\n(?=#{2,3} )", page)
    return {part.splitlines()[0].removeprefix("### "): f"\n{part}" for part in parts if part.startswith("### ")}


def _title(name: str, spec: Experiment | None = None) -> str:
    spec = spec or load_experiment(find(name)[1])
    return f"{PAPERS[name.partition('-')[0]]}, Table {spec.table}: {spec.title}"


def _order(name: str) -> tuple[int, int]:
    paper, _, table = name.partition("-")
    return list(PAPERS).index(paper), int(table)


def _section(name: str, *, keep: bool, slow: bool) -> str:
    spec = load_experiment(find(name)[1])
    result = _run(spec, name, RUNS / name, keep=keep)
    text = f"\n### {_title(name, spec)}\n\n{_made(result, name)}\n"
    text += _tables(_kept(result, _is_told))
    if slow and name in SLOW:
        data, limit = SLOW[name]
        asked = [system.name for system in spec.systems if system.slow and system.runs]
        beside = [*([spec.baseline] if spec.baseline and spec.baseline not in asked else []), *asked]
        part = _run(spec, name, RUNS / f"{name}-slow", keep=keep, data={data: None}, systems=beside, limit=limit)
        words = ("--data", data, *(word for system in beside for word in ("--system", system)), "--limit", str(limit))
        text += f"{SLOW_HEAD.format(limit=limit)}\n{_made(part, name, *words)}\n"
        text += _tables(_kept(part, lambda cell: cell.value is not None))
    return text


def _is_told(cell: Cell) -> bool:
    """Whether a row of which this is a cell has its place here: measured, or the paper's own and not trained by us."""
    return cell.value is not None or (cell.paper is not None and cell.status != "not trained")


def _run(
    spec: Experiment,
    name: str,
    out: Path,
    *,
    keep: bool,
    data: dict[str, Path | None] | None = None,
    systems: list[str] | None = None,
    limit: int | None = None,
) -> Result:
    if keep and (out / RESULTS).exists():
        return load_run(out)
    with Progress(transient=True) as progress:
        tasks = {}

        def tell(what: str, done: int, total: int | None, at: str) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(f"{name}: {what}")
            progress.update(tasks[what], completed=done, total=total, description=f"{name}: {what} {at}")

        return run_experiment(spec, out, name=name, data=data, systems=systems, limit=limit, progress=tell)


def _kept(result: Result, keep: Callable[[Cell], bool]) -> Result:
    """A result with the rows of which some cell is to be kept."""
    tables = (
        replace(table, rows=tuple(row for row in table.rows if any(keep(cell) for cell in row.cells)))
        for table in result.tables
    )
    return replace(result, tables=tuple(table for table in tables if table.rows))


def _tables(result: Result) -> str:
    """The tables one heading lower than they stand in a run's own page, without its title, other pages as links."""
    lines = markdown(result).replace("docs/trained.md", "[trained rows](trained.md)").splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith("## ")), 0)
    body = [f"##{line}" if line.startswith("## ") else line for line in lines[start:]]
    return "\n" + "\n".join(body).strip() + "\n"


def _made(result: Result, name: str, *arguments: str) -> str:
    """The command that prints a table, and the commit at which it did."""
    command = shlex.join(["dragoman", "evaluate", name, *arguments])
    commit = result.manifest.get("commit")
    return f"`{command}` (commit {str(commit['id'])[:9] if isinstance(commit, dict) else 'unknown'})"


def _machine() -> str:
    model = platform.machine()
    with suppress(OSError, subprocess.SubprocessError, StopIteration):
        shown = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
        model = next(line.partition(":")[2].strip() for line in shown.splitlines() if line.startswith("Model name"))
    return f"{os.cpu_count()} cores {model}, Python {platform.python_version()}"


if __name__ == "__main__":
    main()
