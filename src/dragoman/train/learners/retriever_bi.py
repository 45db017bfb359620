"""The bi-encoder: one vector a text, cosine for relevance (UniMS-RAG Eq. 5 and 6, its DPR)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pydantic import Field

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
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from dragoman.core.protocols import FloatArray
    from dragoman.core.values import SourceName
    from dragoman.models.onnx.scorer import Scorer
    from dragoman.retriever.repetition_penalty import RepetitionPenalty
    from dragoman.train.ranking.bi_encoder import Towers
    from dragoman.train.ranking.vectors import PairVectors

KIND = "retriever.bi"
_CANDIDATES = 12_000
"""Dev candidates for the calibration of the exported model and the choice of bits."""


class BiModel(Model):
    """Trunk as two towers; `listwise` is the weight of Eq. 5 over the turn's own candidates."""

    temperature: float = Field(default=0.05, gt=0)
    """Initial temperature."""
    listwise: float = Field(default=1.0, ge=0)
    said: bool = False
    """Learn a repetition penalty for each source."""


@learners.register(KIND)
class BiEncoderLearner:
    """Trains a part whose weights `encoder.onnx` runs, for `part` of `retriever.dense` and `.hybrid`."""

    auxiliary = True

    def fit(self, job: Job) -> Part:
        from dragoman.train.export.export_and_calibrate import Held, export_and_calibrate
        from dragoman.train.loop.checkpoint import identity
        from dragoman.train.loop.weight_average import AveragedRun, fit_runs
        from dragoman.train.ranking.bi_encoder import BiTask, Towers
        from dragoman.train.ranking.negatives import Mined

        inputs = typed(Input, job.recipe.input, "input")
        spec = typed(BiModel, job.recipe.model, "model")
        train, dev = ranking_questions(job, inputs)
        analyse = analyser(job.train)
        sources = dict.fromkeys(question.source for question in train.questions) if spec.said else ()

        def make(run: AveragedRun) -> BiTask:
            trunk, tokens = spec.open({}, seed=job.recipe.train.seed)
            return BiTask(
                Towers(trunk, temperature=spec.temperature, mix=inputs.query == "mix", said=tuple(sources)),
                tokens,
                train,
                dev,
                recipe=run.job.recipe,
                negatives=spec.negatives(),
                listwise=spec.listwise,
                positives=spec.positives,
                mined=Mined(run.folder, identity(run.job)),
                analyse=analyse,
                device=job.device,
            )

        task, metrics = fit_runs(make, job, spec.runs)
        towers = task.model
        (job.folder / FILE).unlink(missing_ok=True)  # of an earlier training: its weights are gone
        judged = small(dev, analyse, most=_CANDIDATES, seed=job.recipe.train.seed)
        reading = _ExportedScores(judged, spec, _shares(towers), towers.said())
        return export_and_calibrate(
            towers,
            task.tokens,
            job,
            kind=KIND,
            heads={"relevance": Held((LABEL,), (), [float(right) for right in labels(judged)], scores=reading.cosines)},
            options={
                **inputs.model_dump(),
                "pooling": spec.pooling,
                "mix": _shares(towers),
                **_penalty_options(towers),
            },
            max_tokens=spec.max_tokens,
            output="states",
            measure=reading.hit,
            metrics=metrics or task.measure(),
            base=spec.base,
            completed=lambda part, _: by_source(part, judged, reading.last, job),
        )


class _ExportedScores:
    """Dev's scores by the exported model on its runtime."""

    def __init__(
        self,
        dev: RankingPairs,
        spec: BiModel,
        shares: Mapping[str, float],
        said: Mapping[SourceName, RepetitionPenalty],
    ) -> None:
        self._dev = dev
        self._spec = spec
        self._shares = shares
        self._said = said
        self._read: dict[Scorer, PairVectors] = {}
        self.last: list[float] = []

    def cosines(self, scorer: Scorer) -> FloatArray:
        """Return the cosines of questions with their offered candidates, (N, 1)."""
        import numpy as np

        vectors = self._vectors(scorer)
        questions = enumerate(self._dev.questions)
        rows = [score for nth, each in questions for score in vectors.scores(nth, each.candidates).tolist()]
        self.last = [rows[row] for row in offered_indices(self._dev)]
        return np.array(self.last, dtype=np.float32).reshape(-1, 1)

    def hit(self, scorer: Scorer) -> float:
        """Return hit@1 over offered candidates."""
        return self._vectors(scorer).measured()["hit@1"]

    def _vectors(self, scorer: Scorer) -> PairVectors:
        """Return dev's vectors by the scorer's model, computed once."""
        if scorer not in self._read:
            self._read[scorer] = self._encoded(scorer)
        return self._read[scorer]

    def _encoded(self, scorer: Scorer) -> PairVectors:
        import torch

        from dragoman.models.onnx.encoder import OnnxEncoder
        from dragoman.train.ranking.vectors import PairVectors

        encoder = OnnxEncoder(
            weights=str(scorer.part.folder), max_tokens=self._spec.max_tokens, pooling=self._spec.pooling, cache=0
        )

        def read(texts: Sequence[str]) -> Tensor:
            return torch.from_numpy(encoder.encode(texts))

        return PairVectors.of(self._dev, read, self._shares, self._said)


def _shares(towers: Towers) -> dict[str, float]:
    return {name: float(share.detach()) for name, share in towers.shares().items()}


def _penalty_options(towers: Towers) -> dict[str, object]:
    """Return the part's options of repetition penalties; empty if not learned."""
    penalties = {name: asdict(learned) for name, learned in towers.said().items()}
    return {"said": penalties} if penalties else {}
