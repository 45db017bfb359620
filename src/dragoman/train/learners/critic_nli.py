"""Learner of the NLI critic: a pre-trained encoder over pairs of evidence and reply, consistent or not.

As SAFARI (App. C) and UniMS-RAG do it: gold evidence with its reply is consistent, evidence of elsewhere is not; and
harder: evidence of the same place, and pairs of which one side was edited. The best weights are chosen on dev, where
the papers chose them on test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import Field

from dragoman.core.errors import TrainingError
from dragoman.critic.nli import HEAD, KIND
from dragoman.models.part import Part
from dragoman.train.contract import Corpus, Job
from dragoman.train.critic.groundings import (
    NEGATIVES,
    GroundedReply,
    LabelledPair,
    Negative,
    every_kind,
    groundings,
    labelled,
)
from dragoman.train.recipe_tables import RecipeTable, TrunkTable, typed
from dragoman.train.registry import learners

if TYPE_CHECKING:
    from dragoman.models.onnx.scorer import Scorer

_FEWEST = 8


class NliInput(RecipeTable):
    """Training pairs: number and kinds of negatives per positive."""

    negatives: int = Field(default=4, ge=1)
    shares: dict[Negative, float] = Field(default_factory=lambda: dict.fromkeys(NEGATIVES, 1.0))
    """Relative frequency of each kind of negative; 0 or missing: never."""
    echo: float = Field(default=0.5, ge=0, le=1)
    """Share of positives that are added again with a number or name exchanged on both sides."""
    single: bool = True
    """Whether each of several pieces of evidence is a pair of its own too, as the refiner will ask."""


@learners.register(KIND)
class NliLearner:
    """Trains a `critic.nli` part. Needs sets with gold evidence and gold replies."""

    def fit(self, job: Job) -> Part:
        from dragoman.train.export.export_and_calibrate import Held, export_and_calibrate
        from dragoman.train.loop.text_task import TextTask
        from dragoman.train.loop.training_loop import fit

        inputs, model = typed(NliInput, job.recipe.input, "input"), typed(TrunkTable, job.recipe.model, "model")
        seed = job.recipe.train.seed
        rows = labelled(
            found_pairs(job.train, "train", single=inputs.single),
            negatives=inputs.negatives,
            shares=inputs.shares,
            echo=inputs.echo,
            seed=seed,
        )
        judge = Judge(every_kind(found_pairs(job.dev, "dev", single=inputs.single), seed=seed), job)
        _check(rows, judge.rows)
        trunk, tokens = model.open({HEAD: 1}, seed=seed)
        task = TextTask(
            trunk,
            tokens,
            [row.texts for row in rows],
            [float(row.consistent) for row in rows],
            head=HEAD,
            dev_texts=judge.texts,
            dev_labels=[float(row.consistent) for row in judge.rows],
            recipe=job.recipe,
            device=job.device,
            measure=lambda scores: judge.measured([float(score) for score in scores[:, 0]]),
        )
        fit(task, job)
        chosen = judge.chosen
        held = Held((HEAD,), [judge.texts[i] for i in chosen], [float(judge.rows[i].consistent) for i in chosen])
        return export_and_calibrate(
            trunk,
            tokens,
            job,
            kind=KIND,
            heads={HEAD: held},
            options={},
            max_tokens=model.max_tokens,
            measure=judge.deciding,
            base=model.base,
            completed=judge.told,
        )


class Judge:
    """Dev's rows and their measures."""

    def __init__(self, rows: Sequence[LabelledPair], job: Job) -> None:
        from dragoman.train.critic.measures import balanced

        self.rows = rows
        self.texts = [row.texts for row in rows]
        self.chosen = balanced(rows, seed=job.recipe.train.seed)
        self._recipe = job.recipe

    def measured(self, scores: Sequence[float]) -> Mapping[str, float]:
        """Return the figures of scores, calibrated on a balanced sample of rows."""
        from dragoman.train.calibration.fitting import fit_calibration
        from dragoman.train.critic.measures import figures, probabilities

        labels = [self.rows[i].consistent for i in self.chosen]
        fitted = fit_calibration([scores[i] for i in self.chosen], labels, self._recipe.calibrate.method)
        return figures(self.rows, probabilities(scores, fitted))

    def deciding(self, scorer: Scorer) -> float:
        """Return the measure that decides on eight-bit weights."""
        return self.measured(scorer.scores(self.texts, HEAD)[:, 0].tolist())["accuracy"]

    def told(self, part: Part, scorer: Scorer) -> Part:
        """Add dev's measures of the exported model to the part."""
        from dragoman.train.critic.measures import figures

        all_figures = figures(self.rows, scorer.probabilities(self.texts, HEAD))
        counts = {kind: sum(row.kind == kind for row in self.rows) for kind in dict.fromkeys(r.kind for r in self.rows)}
        metrics = {**part.made["metrics"], **{name: round(value, 6) for name, value in all_figures.items()}}
        return replace(part, made={**part.made, "metrics": metrics, "dev_pairs": counts})


def found_pairs(corpus: Corpus, side: str, *, single: bool) -> list[GroundedReply]:
    grounded = groundings(corpus, single=single)
    if not grounded:
        raise TrainingError(
            f"No turn of the {side} data has both gold evidence and a reply, so there is nothing to hold replies to.",
            remedy="Give a set with evidence and replies, as KBP, DSTC11 or a JSONL with `evidence` and `reply`.",
        )
    return grounded


def _check(rows: Sequence[LabelledPair], dev: Sequence[LabelledPair]) -> None:
    """Raise an error for data that cannot train a critic."""
    for side, pairs in (("training", rows), ("dev", dev)):
        yes = sum(row.consistent for row in pairs)
        if min(yes, len(pairs) - yes) < _FEWEST:
            raise TrainingError(
                f"The {side} data gives {yes} consistent pairs and {len(pairs) - yes} others: {_FEWEST} of each are "
                "the least.",
                remedy="Give more dialogues: evidence of elsewhere needs other dialogues to come from.",
            )
