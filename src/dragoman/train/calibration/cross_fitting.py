"""Cross-fitting: every training turn scored by a model that did not see its dialogue, for calibration."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example
from dragoman.train.contract import Job
from dragoman.train.training_folder import BEST, CHECKPOINT

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

FILE = "scores.json"
Scores: TypeAlias = list[list[float]]
FitAndScore: TypeAlias = Callable[[Job, Path, Sequence[Example]], "Sequence[Sequence[float]] | FloatArray"]
"""Train a job into a folder and score the turns that were held out, (M, labels)."""


def fold_of(examples: Sequence[Example], folds: int, seed: int) -> list[int]:
    """The fold of each example: a dialogue lies in one fold, and folds hold nearly as many dialogues each."""
    names = {example.context.dialogue or example.id for example in examples}
    order = sorted(names, key=lambda name: hashlib.sha256(f"{seed}/{name}".encode("utf-8", "surrogatepass")).digest())
    place = {name: i % folds for i, name in enumerate(order)}
    return [place[example.context.dialogue or example.id] for example in examples]


def held_out_scores(job: Job, fit_and_score: FitAndScore) -> Scores:
    """The score of every training example by a model of the other folds, in the examples' order.

    Each fold is a training of its own under `fold-N`, taken up again where it stopped; a finished one is not repeated.
    """
    from dragoman.train.loop.checkpoint import identity

    examples = job.train.examples
    folds = job.recipe.calibrate.folds
    places = fold_of(examples, folds, job.recipe.train.seed)
    if len(set(places)) < max(folds, 2):
        raise TrainingError(
            f"{len(set(places))} dialogues cannot be cut into {folds} folds.",
            remedy="Set calibrate.folds lower (0: calibrate on dev alone), or give more dialogues.",
        )
    by_example: Scores = [[] for _ in examples]
    for fold in range(folds):
        rest = tuple(example for example, place in zip(examples, places, strict=True) if place != fold)
        rows = [row for row, place in enumerate(places) if place == fold]
        folder = job.folder / f"fold-{fold}"
        inner = replace(job, train=replace(job.train, examples=rest))
        of = identity(inner)
        scores = _stored_scores(of, folder)
        if not scores:
            scores = [list(map(float, row)) for row in fit_and_score(inner, folder, [examples[row] for row in rows])]
            _keep(of, folder, scores)
        for row, score in zip(rows, scores, strict=True):
            by_example[row] = score
    return by_example


def _keep(of: Mapping[str, str], folder: Path, scores: Scores) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{FILE}"
    partial.write_text(json.dumps({"of": dict(of), "scores": scores}) + "\n", encoding="utf-8")
    partial.replace(folder / FILE)
    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)  # the fold's weights are no longer needed
    (folder / BEST).unlink(missing_ok=True)


def _stored_scores(of: Mapping[str, str], folder: Path) -> Scores | None:
    """The stored scores of a finished fold with the same recipe and data."""
    try:
        table = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise TrainingError(
            f"'{folder / FILE}' cannot be read: {error}.", remedy=f"Remove '{folder}' and run it again."
        ) from error
    identity = table.get("of")
    if not identity or any(
        identity.get(name, digest) != digest for name, digest in of.items()
    ):  # older versions stored fewer fields
        raise TrainingError(
            f"'{folder}' is of another training.", remedy="Give --fresh to begin anew, or another --out."
        )
    return [list(map(float, row)) for row in table["scores"]]
