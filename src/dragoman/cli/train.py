"""`dragoman train` and `export`: train a component by a recipe, and export it again."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Overridable
from dragoman.cli.terminal.long_runs import Fresh, SkipBad, say_how_to_resume, training_figures
from dragoman.cli.terminal.progress import Bars, progress_bars
from dragoman.cli.terminal.ray_option import Ray, without_ray, workers
from dragoman.core.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from dragoman.models.part import Part
    from dragoman.train.contract import Progress, Report
    from dragoman.train.sweep.study import Swept, Trial

_OUT = Path("trained")
_SETTINGS_WIDTH = 60


class Device(StrEnum):
    """Device of the training."""

    cpu = "cpu"
    cuda = "cuda"


class Int8(StrEnum):
    """Whether an exported model's weights are stored in eight bits."""

    auto = "auto"
    always = "always"
    never = "never"


class _TrainingOptions(NamedTuple):
    """Options of the command."""

    recipe: str
    settings: Sequence[str]
    files: Mapping[str, Sequence[str]]
    folder: Path
    fresh: bool
    skip_bad: bool
    device: str | None
    options: Mapping[str, object]


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    app.command("train", cls=Overridable)(train_part)
    app.command("export")(export_part)


def train_part(
    *,
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="RECIPE", help="A file, or the name of a built-in one (see --list).", show_default=False
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="NAME=FILE",
            help="train=FILE: training set; dev=FILE: validation set; aux=FILE: auxiliary set that "
            "some recipes train on first. Repeatable; toy is built in. Without dev, some "
            "dialogues of train are held out.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for the trained component. Default: trained/RECIPE.",
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Override a value of the recipe, such as train.epochs=3. Repeatable. --train.epochs 3 does the same.",
            show_default=False,
        ),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            metavar="NAME=VALUE",
            help="Option of the data set's format (see: data list), for the files that have it.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        Device | None,
        typer.Option("--device", help="Device to train on. Default: the GPU if there is one.", show_default=False),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep",
            metavar="PATH=A,B|FILE",
            help="Search hyperparameters: all combinations of values such as train.rate=1e-5,5e-5 "
            "(repeatable), or Optuna within the ranges of a TOML file. The best trial is kept.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option("--trials", min=1, metavar="N", help="Number of Optuna trials.", show_default=False),
    ] = None,
    fresh: Fresh = False,
    skip_bad: SkipBad = False,
    ray: Ray = None,
    listing: Annotated[bool, typer.Option("--list", help="List the built-in recipes and exit.")] = False,
) -> None:
    """Train a component of an agent on labelled turns.

    The result is a folder with weights, calibration, thresholds and a model card, which agents use without torch.
    Repeat the command to resume an interrupted training.
    """
    if listing:
        _list()
        return
    if recipe is None:
        raise typer.BadParameter("Name a RECIPE (--list shows them).")
    if not data:
        raise typer.BadParameter("Give labelled turns with --data train=FILE (toy is a shipped set).")
    if trials is not None and not sweep:
        raise typer.BadParameter("--trials belongs to --sweep.")
    if ray is not None and not sweep:
        raise typer.BadParameter("--ray belongs to --sweep: one training is one process's work (or torchrun's).")
    from dragoman.train.data import named_files

    files = named_files(data)
    folder = out or _OUT / Path(recipe).stem
    where = device.value if device else None
    order = _TrainingOptions(
        recipe, settings or (), files, folder, fresh, skip_bad, where, _options_by_name(options or ())
    )
    try:
        if sweep:
            _sweep(order, sweep, trials, ray)
        else:
            _train(order)
    except KeyboardInterrupt:
        say_how_to_resume(f"What was learned up to the last checkpoint is kept in {folder}." if folder.is_dir() else "")
        raise
    except ModuleNotFoundError as error:
        if not error.name or error.name.partition(".")[0] == "dragoman":
            raise
        raise MissingExtraError(
            f"Training needs '{error.name}', which is not installed.",
            remedy="Run: pip install 'dragoman[train]'",
            extra="train",
        ) from error


def export_part(
    *,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a trained component.", show_default=False)],
    int8: Annotated[
        Int8,
        typer.Option(
            "--int8", help="Store weights in eight bits: as training decided on dev (auto), always, or never."
        ),
    ] = Int8.auto,
) -> None:
    """Export a trained model to ONNX again, for use without torch.

    Training already exports the model; this command changes the precision of the weights afterwards. Calibration,
    thresholds and figures are not refitted, as the model card notes.
    """
    try:
        from dragoman.train.export import trunk
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"Exporting needs '{error.name}', which is not installed.",
            remedy="Run: pip install 'dragoman[train]'",
            extra="train",
        ) from error
    part, exported = trunk.export_part(folder, int8=int8.value)
    typer.echo(f"{part.folder}: {exported.bytes / 1e6:.1f} MB, weights in {exported.bits} bits.")
    _use(part)


def _train(order: _TrainingOptions) -> None:
    from dragoman.models.part import FILE
    from dragoman.train.recipe import load_recipe
    from dragoman.train.run import train

    recipe = load_recipe(order.recipe, order.settings)
    was_there = (order.folder / FILE).is_file() and not order.fresh
    with progress_bars() as bars:
        part = train(
            recipe,
            order.files,
            order.folder,
            fresh=order.fresh,
            skip_bad=order.skip_bad,
            device=order.device,
            options=order.options,
            report=_report(bars),
            command=_command(),
        )
    if was_there:
        typer.echo(f"{order.folder} was finished already: nothing was trained (--fresh begins anew).")
    _summary(part, recipe.train.metric)
    _use(part)


def _sweep(order: _TrainingOptions, entries: Sequence[str], trials: int | None, ray: str | None) -> None:
    from dragoman.train.sweep.study import load_sweep, sweep

    spec = load_sweep(entries, trials=trials)
    with workers(ray) as who, progress_bars() as bars:
        swept = sweep(
            order.recipe,
            spec,
            order.files,
            order.folder,
            overrides=order.settings,
            fresh=order.fresh,
            skip_bad=order.skip_bad,
            device=order.device,
            options=order.options,
            report=_report(bars),
            command=_command(),
            workers=who,
        )
    _print_trials(swept)
    _summary(swept.part, swept.metric)
    _use(swept.part)


def _report(bars: Bars) -> Report:
    def report(progress: Progress) -> None:
        bars.show(progress.stage, progress.done, progress.total or None, training_figures(progress))

    return report


def _print_trials(swept: Swept) -> None:
    table = rendering.table("trial", "settings", f">{swept.metric}", "")
    for trial in swept.trials:
        score = "" if trial.score is None else f"{trial.score:.4f}"
        note = "best" if trial.number == swept.best.number else rendering.one_line(trial.failed)
        rendering.add_row(table, f"{trial.number:03d}", _settings(trial), score, note)
    rendering.out().print(table)


def _settings(trial: Trial) -> str:
    return rendering.one_line(" ".join(f"{name}={value}" for name, value in trial.settings.items()), _SETTINGS_WIDTH)


def _summary(part: Part, metric: str) -> None:
    """Print the results on dev."""
    from dragoman.train.model_card import size

    metrics: Mapping[str, float] = part.made.get("metrics") or {}
    turns = ((part.made.get("data") or {}).get("dev") or {}).get("examples")
    rendering.out().print(f"{part.kind} on dev" + (f" ({turns} turns)" if turns else ""), style="bold")
    table = rendering.table("measure", ">value")
    for name, value in metrics.items():
        rendering.add_row(table, f"{name} (decided)" if name == metric else name, f"{float(value):.4f}")
    for name, head in part.heads.items():
        for label in head.labels:
            if label in head.thresholds:
                whose = name if len(head.labels) == 1 else f"{name} {label}"
                rendering.add_row(table, f"threshold of {whose}", f"{head.threshold(label):.4f}")
    rendering.add_row(table, "size, MB", f"{size(part) / 1e6:.1f}")
    rendering.out().print(table)


def _use(part: Part) -> None:
    from dragoman.train.agent_tables import uses

    typer.echo(f"Its card:   {part.folder / 'README.md'}")
    for use in uses(part, str(part.folder)):
        typer.echo(f"Try it:     {use.command}")
        typer.echo(f"Keep it:    in agent.toml, {use.line}")
        if use.note:
            typer.echo(f"            {use.note}")


def _list() -> None:
    from dragoman.train.recipe import load_recipe, shipped_recipes

    table = rendering.table("recipe", "kind", "what it makes")
    recipes = shipped_recipes()
    for name, path in recipes.items():
        recipe = load_recipe(path)
        rendering.add_row(table, name, recipe.kind, recipe.about)
    rendering.out().print(table)
    if not recipes:
        raise ConfigError("This installation has no built-in recipes.", remedy="Give the path of a file.")
    typer.echo("Train one:  dragoman train NAME --data train=toy   (toy, the shipped set, needs no files)")


def _options_by_name(entries: Sequence[str]) -> dict[str, object]:
    from dragoman.core.toml import scalar

    options: dict[str, object] = {}
    for entry in entries:
        name, mark, value = entry.partition("=")
        if not mark:
            raise ConfigError(f"'{entry}' is not an option.", remedy="Write NAME=VALUE, as in pool=gold.")
        options[name.strip()] = scalar(value.strip())
    return options


def _command() -> str:
    """The command line for the model card, without --fresh and --ray, which do not affect the result."""
    return f"dragoman {shlex.join(word for word in without_ray(sys.argv[1:]) if word != '--fresh')}"
