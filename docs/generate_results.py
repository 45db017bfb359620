"""Write docs/results: the papers' tables from finished runs, and the learning curves from trained parts.

    python docs/generate_results.py [--keep] [NAME...]       run experiments (rows without training), write their pages
    python docs/generate_results.py --runs DIR               take the finished runs in DIR, named EXPERIMENT[-ANYTHING]
    python docs/generate_results.py --parts DIR              write curves.md from the logs of trained parts
    python docs/generate_results.py --notes                  write the pages anew after notes in experiments/ changed

Needs DRAGOMAN_DATA to run experiments. A row that is measured again replaces the one on its page; other rows stay. Runs
lie in runs/results, and a stopped call continues; --keep takes finished ones as they are.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import result_pages
from learning_curves import curves
from result_tables import Table, tables_of
from rich.progress import Progress

from dragoman.evaluate.api import run_experiment
from dragoman.evaluate.experiment_files import find, shipped
from dragoman.evaluate.results import Result
from dragoman.evaluate.running.run_record import RESULTS, load_run
from dragoman.evaluate.spec import Experiment, load_experiment

RUNS = Path("runs/results")
SLOW = {"safari-4": ("kbp", 60), "ragate-2": ("ketod-gate", 150)}
"""Experiments whose rows that ask the language model are measured too: on which set, and on how many turns."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/results.")
    parser.add_argument("names", nargs="*", help="only these experiments")
    parser.add_argument("--keep", action="store_true", help="take finished runs as they are")
    parser.add_argument("--no-slow", action="store_true", help="leave out the rows that ask the language model")
    parser.add_argument("--runs", type=Path, help="take the finished runs of this folder; run nothing")
    parser.add_argument("--parts", type=Path, help="write the learning curves of the parts in this folder")
    parser.add_argument("--notes", action="store_true", help="take notes anew from the experiment files; run nothing")
    options = parser.parse_args()
    if options.notes:
        update([(name, []) for name in specs()])
    if options.parts:
        page = result_pages.FOLDER / "curves.md"
        page.write_text(curves(options.parts, page.read_text(encoding="utf-8")), encoding="utf-8")
    if options.runs:
        update([(name, tables_of(result, name)) for name, result in _finished(options.runs)])
    elif not (options.parts or options.notes):
        if not os.environ.get("DRAGOMAN_DATA"):
            sys.exit("Set DRAGOMAN_DATA to the folder with the data sets.")
        for name in options.names or specs():
            update([(name, _measured(name, keep=options.keep, slow=not options.no_slow))])


def specs() -> dict[str, Experiment]:
    """The papers' experiments in the order of papers and tables."""
    names = [name for name in shipped() if name.partition("-")[0] in result_pages.PAPERS]
    return {name: load_experiment(find(name)[1]) for name in sorted(names, key=_order)}


def update(measured: list[tuple[str, list[Table]]]) -> None:
    """Put these tables of experiments into their pages."""
    known = specs()
    for paper in {name.partition("-")[0] for name, _ in measured}:
        file = result_pages.FOLDER / f"{paper}.md"
        page = result_pages.read(file.read_text(encoding="utf-8"))
        for name, tables in measured:
            if name.partition("-")[0] == paper:
                page.add(name, tables, known[name])
        of_paper = {name: spec for name, spec in known.items() if name.partition("-")[0] == paper}
        file.write_text(result_pages.written(page, of_paper), encoding="utf-8")


def _order(name: str) -> tuple[int, int]:
    paper, _, table = name.partition("-")
    return list(result_pages.PAPERS).index(paper), int(table)


def _finished(folder: Path) -> list[tuple[str, Result]]:
    runs = [run for run in sorted(folder.iterdir()) if (run / RESULTS).exists()]
    return [("-".join(run.name.split("-")[:2]), load_run(run)) for run in runs]


def _measured(name: str, *, keep: bool, slow: bool) -> list[Table]:
    spec = load_experiment(find(name)[1])
    tables = tables_of(_run(spec, name, RUNS / name, keep=keep), name)
    if slow and name in SLOW:
        data, limit = SLOW[name]
        systems = [system.name for system in spec.systems if system.slow and system.runs]
        if spec.baseline and spec.baseline not in systems:
            systems.insert(0, spec.baseline)
        part = _run(spec, name, RUNS / f"{name}-slow", keep=keep, data=data, systems=systems, limit=limit)
        tables += tables_of(part, name, systems=_with_figures(part), limit=limit)
    return tables


def _with_figures(result: Result) -> list[str]:
    """The systems of a run that were measured: others are not trained yet."""
    rows = (row for table in result.tables for row in table.rows)
    return [row.system for row in rows if any(cell.value is not None for cell in row.cells)]


def _run(
    spec: Experiment,
    name: str,
    out: Path,
    *,
    keep: bool,
    data: str | None = None,
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

        sets: dict[str, Path | None] | None = {data: None} if data else None
        return run_experiment(spec, out, name=name, data=sets, systems=systems, limit=limit, progress=tell)


if __name__ == "__main__":
    main()
