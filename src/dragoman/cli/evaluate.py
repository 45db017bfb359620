"""`dragoman evaluate`: run an experiment and print its tables."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.report import CsvOut, JsonOut, MarkdownOut, print_tables, write_tables
from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Overridable
from dragoman.cli.terminal.long_runs import Fresh, SkipBad, say_how_to_resume, training_figures
from dragoman.cli.terminal.progress import progress_bars
from dragoman.cli.terminal.ray_option import Ray, workers
from dragoman.core.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.evaluate.contract import Progress
    from dragoman.evaluate.results import Result, ResultCell
    from dragoman.evaluate.spec import Experiment
    from dragoman.evaluate.systems.trained_parts import TrainingOrder
    from dragoman.train.contract import Progress as TrainingProgress

_RUNS = Path("runs")


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    app.command(cls=Overridable)(evaluate)


def evaluate(
    *,
    experiment: Annotated[
        str | None,
        typer.Argument(
            metavar="EXPERIMENT", help="A file, or the name of a built-in one (see --list).", show_default=False
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="NAME=FILE",
            help="Run only this data set, on FILE. NAME alone runs it on its own file; FILE alone, without "
            "EXPERIMENT, evaluates the default agent and baselines on your own data. Repeatable.",
            show_default=False,
        ),
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            "-a",
            metavar="AGENT",
            help="Also evaluate this agent on the sources of the data set: its folder, its agent.toml "
            "or the name of a built-in one. Repeatable.",
            show_default=False,
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option("--system", metavar="NAME", help="Run only this system. Repeatable.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, metavar="N", help="Use only the first N turns of each data set.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder of the run. Default: runs/NAME.", show_default=False),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Override a value of the experiment, such as defaults.k=5. Repeatable.",
            show_default=False,
        ),
    ] = None,
    json_out: JsonOut = None,
    markdown_out: MarkdownOut = None,
    csv_out: CsvOut = None,
    fresh: Fresh = False,
    skip_bad: SkipBad = False,
    slow: Annotated[
        bool, typer.Option("--slow", help="Also run systems that call a language model on every turn (seconds each).")
    ] = False,
    train: Annotated[
        bool, typer.Option("--train", help="First train the missing components that systems need.")
    ] = False,
    parts: Annotated[
        Path | None,
        typer.Option(
            "--parts",
            metavar="DIR",
            help="Folder of trained components. Default: parts in $DRAGOMAN_HOME.",
            show_default=False,
        ),
    ] = None,
    ray: Ray = None,
    listing: Annotated[bool, typer.Option("--list", help="List the built-in experiments and exit.")] = False,
) -> None:
    """Run an experiment and print its tables.

    Every figure comes with its confidence interval, a significance test against the baseline and, where there is one,
    the paper's figure. Repeat the command to resume an interrupted run.
    """
    if listing:
        _list()
        return
    if experiment is None and not data:
        raise typer.BadParameter("Name an EXPERIMENT (see --list), or give your own data with --data FILE.")
    own = agents or []
    name, spec, files = _resolve(experiment, data or [], settings or [], own, prompted=slow)
    added = [row.name for row in spec.systems[len(spec.systems) - len(own) :]]
    folder = out or _RUNS / name
    from dragoman.evaluate.api import run_experiment

    try:
        with workers(ray) as pool, progress_bars() as bars:
            result = run_experiment(
                spec,
                folder,
                name=name,
                data=files,
                systems=[*system, *added] if system else None,
                slow=slow,
                limit=limit,
                fresh=fresh,
                skip_bad=skip_bad,
                overrides=settings or (),
                progress=bars.show,
                parts=parts,
                trainer=_train_part if train else None,
                workers=pool,
            )
    except KeyboardInterrupt:
        say_how_to_resume(f"What was measured so far is kept in {folder}.")
        raise
    print_tables(result)
    write_tables(result, {"--json": json_out, "--md": markdown_out, "--csv": csv_out})
    _next_steps(result, folder, added)
    if spec.parts and not train and any(cell.status == "not trained" for cell in _cells(result)):
        typer.echo(f"Train the rest:       dragoman {shlex.join(sys.argv[1:])} --train")


def _resolve(
    experiment: str | None, data: Sequence[str], settings: Sequence[str], agents: Sequence[str], *, prompted: bool
) -> tuple[str, Experiment, dict[str, Path | None]]:
    """The name of the run, the experiment, and the files of its data sets."""
    from dragoman.evaluate.experiment_files import find
    from dragoman.evaluate.spec import load_experiment

    if experiment is None:
        return _own(data, settings, agents, prompted=prompted)
    name, path = find(experiment)
    spec = load_experiment(path, settings, agents=agents)
    names = [block.name for block in spec.data]
    files: dict[str, Path | None] = {}
    for entry in data:
        block, separator, file = entry.partition("=")
        if separator:
            files[block] = Path(file).expanduser()
        elif entry in names or not Path(entry).expanduser().exists():
            files[entry] = None
        else:
            example = names[0]
            raise typer.BadParameter(
                f"'{entry}' is a file: say which set it is, as in --data {example}={entry}. Sets: {', '.join(names)}."
            )
    return name, spec, files


def _own(
    data: Sequence[str], settings: Sequence[str], agents: Sequence[str], *, prompted: bool
) -> tuple[str, Experiment, dict[str, Path | None]]:
    """The experiment for a data set given without an experiment."""
    from dragoman.datasets.open import SHIPPED, open_dataset, resolve, sniff
    from dragoman.evaluate.quick_experiment import quick_tables
    from dragoman.evaluate.spec import experiment_of

    if len(data) != 1:
        raise typer.BadParameter("Without an EXPERIMENT, give exactly one --data FILE.")
    entry = data[0]
    name, _, file = ("", "", entry) if Path(entry).expanduser().exists() else entry.rpartition("=")
    shipped = file in SHIPPED and not Path(file).exists()
    options = {**SHIPPED[file], "part": "dev"} if shipped else {}
    path = None if shipped else resolve(file)
    kind = sniff(file)
    dataset = open_dataset(kind, path, **options)
    name = name or (file if path is None else path.stem)
    tables = quick_tables(dataset, kind, path, name=name, prompted=prompted, options=dict(options))
    return name, experiment_of(tables, f"--data {entry}", settings, agents=agents), {}


def _list() -> None:
    from dragoman.evaluate.experiment_files import titles

    experiments = titles()
    table = rendering.table("experiment", "what it measures")
    for name, title in experiments.items():
        rendering.add_row(table, name, title)
    rendering.out().print(table)
    if not experiments:
        raise ConfigError("This installation has no built-in experiments.", remedy="Give the path of a file.")
    typer.echo("Run one:  dragoman evaluate NAME --data toy   (toy, the shipped set, needs no files)")


def _next_steps(result: Result, folder: Path, own: Sequence[str]) -> None:
    path = shlex.quote(str(folder))
    typer.echo(f"All of it:            {folder / 'report.html'} (and results.md, .csv, .json)")
    table = max(result.tables, key=lambda table: table.turns)
    measured = [row.system for row in table.rows if any(cell.n for cell in row.cells)]
    measured.sort(key=lambda name: name != table.baseline)
    if len(measured) > 1:
        other = next((name for name in measured[1:] if name in own), measured[1])
        pair = " ".join(shlex.quote(f"{folder}:{name}") for name in (measured[0], other))
        typer.echo(f"Which turns differ:   dragoman compare {pair}")
    typer.echo(f"The tables again:     dragoman report {path}")


def _cells(result: Result) -> list[ResultCell]:
    return [cell for table in result.tables for row in table.rows for cell in row.cells]


def _train_part(order: TrainingOrder, progress: Progress) -> None:
    """Train a component into its folder, or resume its training."""
    from dragoman.train.recipe import load_recipe
    from dragoman.train.run import train

    def report(step: TrainingProgress) -> None:
        progress(f"{order.name}: {step.stage}", step.done, step.total or None, training_figures(step))

    rendering.err().print(f"Training the part '{order.name}' by the recipe '{order.recipe}'.", soft_wrap=True)
    recipe = load_recipe(order.recipe, order.overrides)
    train(recipe, order.data, order.folder, options=order.options, report=report, command=order.command)
