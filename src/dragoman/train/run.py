"""One training from recipe to part: read and check data, lock the folder, train, write the part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.core.errors import MissingExtraError, TrainingError
from dragoman.models.part import FILE, Part, open_part
from dragoman.train.checks import check_sides
from dragoman.train.contract import Corpus, Job, Learner, Report
from dragoman.train.data import read_sides
from dragoman.train.loop.parallel import rank, size
from dragoman.train.model_card import card
from dragoman.train.model_card import size as bytes_of
from dragoman.train.recipe_files import referenced
from dragoman.train.registry import learners
from dragoman.train.spec import Recipe
from dragoman.train.training_folder import CARD, FILES, METRICS, TrainingFolder, write_whole


def train(
    recipe: Recipe,
    data: Mapping[str, Sequence[str]],
    out: str | Path,
    *,
    fresh: bool = False,
    skip_bad: bool = False,
    device: str | None = None,
    options: Mapping[str, object] | None = None,
    report: Report | None = None,
    command: str = "",
    cut: int | None = None,
) -> Part:
    """Train a recipe on files by side ("train", "dev", "aux") into a folder, or resume a training there.

    A finished folder is returned unchanged; one of another recipe or other data is an error unless `fresh`.
    `options` go to the loaders; the model card states `command`; `cut` is the seed of the dev split if no dev file is
    given, by default the recipe's.
    """
    learner = _learner(recipe.kind)
    if size() > 1 and not getattr(learner, "parallel", False):
        raise TrainingError(f"'{recipe.kind}' is trained by one process.", remedy="Start it without torchrun.")
    if data.get("aux") and not getattr(learner, "auxiliary", False):
        raise TrainingError(f"'{recipe.kind}' learns nothing from auxiliary data.", remedy="Leave --data aux out.")
    device_name = choose_device(device)
    folder = Path(out).expanduser()
    seed = recipe.train.seed if cut is None else cut
    taught, dev, aux = read_sides(data, held_out=recipe.dev, seed=seed, skip_bad=skip_bad, options=options)
    check_sides(recipe.kind, taught, dev)
    if rank() > 0:  # the first process writes; this one helps it to learn
        if (folder / FILE).is_file() and not fresh:
            return open_part(folder)
        return _fitted(learner, Job(recipe, taught, dev, folder, device_name, aux=aux))
    with TrainingFolder(folder) as place:
        summary = _data_summary({"train": taught, "dev": dev, "aux": aux})
        beside = {"options": dict(options or {}), FILES: referenced(recipe)}
        place.begin(recipe, summary | {name: table for name, table in beside.items() if table}, fresh=fresh)
        job = Job(recipe, taught, dev, folder, device_name, report or (lambda progress: None), aux, command)
        part = open_part(folder) if place.is_finished else _fitted(learner, job)
        if not (folder / METRICS).is_file():
            if not (folder / CARD).is_file():  # a learner may have written its own
                write_whole(folder / CARD, card(part, job, command=command))
            write_whole(folder / METRICS, _metrics(part, job))
        return part


def data_files(
    recipe: Recipe,
    data: Mapping[str, Sequence[str]],
    *,
    skip_bad: bool = False,
    options: Mapping[str, object] | None = None,
    cut: int | None = None,
) -> dict[str, tuple[Mapping[str, Any], ...]]:
    """Return the files of each side with names and hashes, as a training would read them."""
    seed = recipe.train.seed if cut is None else cut
    sides = read_sides(data, held_out=recipe.dev, seed=seed, skip_bad=skip_bad, options=options)
    named = zip(("train", "dev", "aux"), sides, strict=True)
    return {side: corpus.origin for side, corpus in named if corpus is not None}


def choose_device(name: str | None) -> str:
    """Return the requested device, or the best one available."""
    if name == "cpu":
        return "cpu"
    try:
        import torch
    except ModuleNotFoundError as error:
        if name is None:
            return "cpu"  # some parts are learned without it
        raise _missing(error.name) from error
    if torch.cuda.is_available():
        return "cuda"
    if name is None:
        return "cpu"
    raise TrainingError(f"There is no device '{name}' here.", remedy="Give --device cpu, or leave it out.")


def _learner(kind: str) -> Learner:
    with _missing_libraries_named():
        return learners.create(kind)


def _fitted(learner: Learner, job: Job) -> Part:
    with _missing_libraries_named():
        return learner.fit(job)


@contextmanager
def _missing_libraries_named() -> Iterator[None]:
    """Create the learner; raise an error that names the extra if its libraries are missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if not error.name or error.name.partition(".")[0] == "dragoman":
            raise
        raise _missing(error.name) from error


def _missing(name: str | None) -> MissingExtraError:
    return MissingExtraError(
        f"Training needs '{name}', which is not installed.", remedy="Run: pip install 'dragoman[train]'", extra="train"
    )


def _data_summary(sides: Mapping[str, Corpus | None]) -> dict[str, object]:
    """Return the content of data.json: files and number of turns of each side."""
    present = {side: corpus for side, corpus in sides.items() if corpus is not None}
    files = {side: [dict(origin) for origin in corpus.origin] for side, corpus in present.items()}
    return {**files, "turns": {side: len(corpus.examples) for side, corpus in present.items()}}


def _metrics(part: Part, job: Job) -> str:
    table = {
        "metrics": dict(part.made.get("metrics") or {}),
        "turns": {"train": len(job.train.examples), "dev": len(job.dev.examples)},
        "thresholds": {name: dict(head.thresholds) for name, head in part.heads.items()},
        "bytes": bytes_of(part),
    }
    return json.dumps(table, ensure_ascii=False, indent=1) + "\n"
