"""Learner of the cross-encoder, which reads query and passage together and scores the pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from dragoman.core.errors import ConfigError
from dragoman.models.part import FILE, Part
from dragoman.train.contract import Job
from dragoman.train.ranking.pairs import RankingPairs
from dragoman.train.ranking.recipe_part import (
    LABEL,
    Input,
    Model,
    analyser,
    by_source,
    labels,
    offered_indices,
    ranking_questions,
    small,
)
from dragoman.train.recipe_tables import typed
from dragoman.train.registry import learners

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray
    from dragoman.models.onnx.scorer import Scorer

KIND = "retriever.cross"
_CANDIDATES = 6_000
"""Dev candidates for the calibration of the exported model and the choice of bits."""
_MEASURED = 60_000
"""Dev candidates that are scored after each epoch."""


class CrossModel(Model):
    """Trunk over pairs; `judging` is the weight of binary cross-entropy beside the list-wise loss."""

    judging: float = Field(default=1.0, ge=0)


@learners.register(KIND)
class CrossEncoderLearner:
    """Trains a part with which `retriever.rerank` reranks another retriever's candidates."""

    auxiliary = True

    def fit(self, job: Job) -> Part:
        from dragoman.retriever.trained import HEAD
        from dragoman.train.export.export_and_calibrate import Held, export_and_calibrate
        from dragoman.train.loop.checkpoint import identity
        from dragoman.train.loop.weight_average import AveragedRun, fit_runs
        from dragoman.train.ranking.cross_encoder import CrossTask
        from dragoman.train.ranking.negatives import Mined

        inputs = typed(Input, job.recipe.input, "input")
        spec = typed(CrossModel, job.recipe.model, "model")
        if inputs.query == "mix":
            raise ConfigError(
                'A cross-encoder reads one text: query = "mix" is for vectors.', remedy='Use query = "history".'
            )
        seed = job.recipe.train.seed
        train, dev = ranking_questions(job, inputs)
        analyse = analyser(job.train)
        measured = small(dev, analyse, most=_MEASURED, seed=seed)

        def make(run: AveragedRun) -> CrossTask:
            trunk, tokens = spec.open({HEAD: 1}, seed=seed)
            return CrossTask(
                trunk,
                tokens,
                train,
                measured,
                recipe=run.job.recipe,
                negatives=spec.negatives(),
                judging=spec.judging,
                positives=spec.positives,
                mined=Mined(run.folder, identity(run.job)),
                analyse=analyse,
                device=job.device,
            )

        task, metrics = fit_runs(make, job, spec.runs)
        (job.folder / FILE).unlink(missing_ok=True)  # of an earlier training: its weights are gone
        judged = small(dev, analyse, most=_CANDIDATES, seed=seed)
        reading = ExportedReading(judged)
        held = Held((LABEL,), (), [float(right) for right in labels(judged)], scores=reading.scores)
        return export_and_calibrate(
            task.model,
            task.tokens,
            job,
            kind=KIND,
            heads={HEAD: held},
            options={**inputs.model_dump(), "pooling": spec.pooling},
            max_tokens=spec.max_tokens,
            measure=reading.hit,
            metrics=metrics or task.measure(),
            base=spec.base,
            completed=lambda part, _: by_source(part, judged, reading.last, job),
        )


class ExportedReading:
    """Dev's scores by the exported model on its runtime."""

    def __init__(self, dev: RankingPairs) -> None:
        self._dev = dev
        self.last: list[float] = []

    def scores(self, scorer: Scorer) -> FloatArray:
        """Return the scores of offered pairs, (N, 1)."""
        scores = self._all(scorer)[offered_indices(self._dev)]
        self.last = scores[:, 0].tolist()
        return scores

    def hit(self, scorer: Scorer) -> float:
        """Return hit@1 over offered candidates."""
        from dragoman.train.ranking.cross_encoder import ranking_measures

        return ranking_measures(self._dev, self._all(scorer)[:, 0].tolist())["hit@1"]

    def _all(self, scorer: Scorer) -> FloatArray:
        from dragoman.retriever.trained import HEAD
        from dragoman.train.ranking.cross_encoder import pair_texts

        return scorer.scores(pair_texts(self._dev), HEAD)
