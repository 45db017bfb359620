"""Learner of a planner over a pre-trained encoder: one label per source, each with its threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example
from dragoman.models.part import Part
from dragoman.planner.classifier import HEAD, KIND
from dragoman.text.view import View
from dragoman.train.calibration.cross_fitting import held_out_scores
from dragoman.train.contract import Corpus, Job
from dragoman.train.labelled_turns import plan_side
from dragoman.train.recipe_tables import TrunkTable, ViewTable, typed
from dragoman.train.registry import learners

if TYPE_CHECKING:
    from dragoman.models.torch.trunk import Tokens, Trunk


@learners.register(KIND)
class PlannerClassifier:
    """Learns which sources a turn needs from the text of the last turns."""

    def fit(self, job: Job) -> Part:
        model = typed(TrunkTable, job.recipe.model, "model")
        view = typed(ViewTable, job.recipe.input, "input").view(job)
        job = replace(job, train=plan_side(job.train, "training"), dev=plan_side(job.dev, "dev"))
        return _Fitting(job, model, view, source_names(job.train)).part()


class _Fitting:
    def __init__(self, job: Job, model: TrunkTable, view: View, names: tuple[str, ...]) -> None:
        self._job = job
        self._model = model
        self._view = view
        self._names = names

    def part(self) -> Part:
        from dragoman.train.export.export_and_calibrate import Held, export_and_calibrate

        job = self._job
        folds = None
        if job.recipe.calibrate.folds:
            folds = held_out_scores(job, self._fold), self._labels(job.train.examples)
        trunk, tokens = self._trained(job, job.folder)
        truth = self._labels(job.dev.examples)
        held = Held(self._names, self._texts(job.dev.examples), truth, kind="multi", folds=folds)
        return export_and_calibrate(
            trunk,
            tokens,
            job,
            kind=KIND,
            heads={HEAD: held},
            options={"view": self._view.to_json()},
            max_tokens=self._model.max_tokens,
            base=self._model.base,
        )

    def _fold(self, job: Job, folder: Path, held: Sequence[Example]) -> Sequence[Sequence[float]]:
        from dragoman.models.torch.trunk import score

        trunk, tokens = self._trained(job, folder)
        scores: list[list[float]] = score(trunk, tokens, self._texts(held), HEAD, device=job.device).tolist()
        return scores

    def _trained(self, job: Job, folder: Path) -> tuple[Trunk, Tokens]:
        from dragoman.train.loop.text_task import TextTask
        from dragoman.train.loop.training_loop import fit

        trunk, tokens = self._model.open({HEAD: len(self._names)}, seed=job.recipe.train.seed)
        task = TextTask(
            trunk,
            tokens,
            self._texts(job.train.examples),
            self._labels(job.train.examples),
            head=HEAD,
            kind="multi",
            dev_texts=self._texts(job.dev.examples),
            dev_labels=self._labels(job.dev.examples),
            recipe=job.recipe,
            device=job.device,
        )
        fit(task, job, folder=folder)
        return trunk, tokens

    def _texts(self, examples: Sequence[Example]) -> list[str]:
        return [self._view.text(example.context) for example in examples]

    def _labels(self, examples: Sequence[Example]) -> list[list[float]]:
        return [[float(name in (example.gold.plan or ())) for name in self._names] for example in examples]


def source_names(corpus: Corpus) -> tuple[str, ...]:
    """Return the labels: the sources of the training turns, in order of first occurrence.

    A source in no plan has no positives; it is left out and never chosen.
    """
    offered = dict.fromkeys(source.name for example in corpus.examples for source in example.sources)
    planned = {name for example in corpus.examples for name in example.gold.plan or ()}
    names = tuple(name for name in offered if name in planned) or tuple(sorted(planned))
    if not names:
        raise TrainingError(
            f"None of the {len(corpus.examples)} training turns asks a source: each plan is empty.",
            remedy="Label turns with the sources that they need as well.",
        )
    if missing := sorted(planned - set(names)):
        raise TrainingError(
            f"A plan asks '{missing[0]}', which no turn offers as a source.",
            remedy="Declare the source, or mend the plan.",
        )
    return names
