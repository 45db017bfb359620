"""`dragoman calibrate`: turn a language model's choices into probabilities on labelled turns."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from dragoman.cli.terminal.agent_options import DEFAULT_AGENT, LANGUAGE_MODEL, Model, overrides
from dragoman.cli.terminal.long_runs import Fresh
from dragoman.cli.train import train_part
from dragoman.core.errors import InputError
from dragoman.core.toml import scalar

_RECIPE = "gate-prompted"
_LEAST = 50


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("calibrate")(calibrate_model)


def calibrate_model(
    *,
    labels: Annotated[
        str, typer.Argument(metavar="LABELS", help=f"Labelled turns: at least {_LEAST} (see: dragoman label), or toy.")
    ],
    model: Model = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help=f"Option of that model, such as {LANGUAGE_MODEL}.key_env=MY_KEY. Repeatable.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the calibrated gate.")] = Path(
        "calibrated"
    ),
    fresh: Fresh = False,
) -> None:
    """Calibrate a language model's gate on labelled turns.

    The model is asked once about each turn; its probabilities of True become the probability that something should be
    looked up, with the threshold that decides best. The calibration holds for this model alone.
    """
    from dragoman.core.model_names import model_table

    path = Path(labels)
    if path.is_file():
        with path.open("rb") as file:
            count = sum(1 for line in file if line.strip())
        if count < _LEAST:
            raise InputError(f"{path} has {count} labels.", remedy=f"Give at least {_LEAST}: fewer mislead.")
    table = model_table(model) if model else {"kind": "model.llamacpp.v1", "weights": "smollm2-135m-instruct"}
    table = table | _options(settings)
    with tempfile.TemporaryDirectory(prefix="dragoman-calibrate-") as folder:
        recipe = Path(folder) / f"{_RECIPE}.toml"
        recipe.write_text(_recipe(table), encoding="utf-8")
        train_part(recipe=str(recipe), data=[f"train={labels}"], out=out, fresh=fresh)
    option = f" --model {model}" if model else ""
    typer.echo(f"Next: dragoman ask --agent {DEFAULT_AGENT}{option} --gate.kind prompted --gate.part {out} TEXT")


def _options(settings: list[str] | None) -> dict[str, Any]:
    """The model's options among settings; others have nothing to do with a calibration."""
    options = {}
    for path, value in overrides(settings).items():
        table, _, key = path.rpartition(".")
        if table != LANGUAGE_MODEL:
            raise InputError(
                f"'{path}' is no option of the language model.", remedy=f"Only {LANGUAGE_MODEL}.NAME=VALUE counts here."
            )
        options[key] = scalar(value)
    return options


def _recipe(table: Mapping[str, Any]) -> str:
    """The built-in recipe with another language model."""
    text = (files("dragoman.train") / "recipes" / f"{_RECIPE}.toml").read_text(encoding="utf-8")
    recipe = tomllib.loads(text)
    kind = str(table["kind"]).removeprefix("model.")
    model = {"kind": kind, "style": recipe["model"]["style"]}
    options = {key: value for key, value in table.items() if key != "kind"}
    plain = {key: value for key, value in recipe.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in recipe.items() if isinstance(value, dict) and key != "model"}
    lines = [*_pairs(plain), "[model]", *_pairs(model), "[model.options]", *_pairs(options)]
    for name, values in tables.items():
        lines += [f"[{name}]", *_pairs(values)]
    return "\n".join(lines) + "\n"


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {json.dumps(value)}" for key, value in values.items()]
