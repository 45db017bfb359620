"""The bi-encoder: one vector a text, cosine for relevance (UniMS-RAG Eq. 5 and 6, its DPR)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pydantic import Field

from dragoman.models.part import FILE, Part
from dragoman.train.contract import Job
from dragoman.train.ranking.pairs import RankingPairs
from dragoman.train.ranking.recipe_part import LABEL, Input, Model, analyser, asked, by_source, labels, offered, small
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
"""Candidates of dev by which the exported model is calibrated, and eight bits are judged."""


class BiModel(Model):
    """The trunk as two towers: `listwise` weighs Eq. 5 over the turn's own candidates beside that over the batch."""

    temperature: float = Field(default=0.05, gt=0)
    """Where the learned temperature begins."""
    listwise: float = Field(default=1.0, ge=0)
    said: bool = False
    """Learn, a source at a time, what a passage loses where the agent has said as much already."""


@learners.register(KIND)
class BiEncoderLearner:
    """Makes a part whose weights `encoder.onnx` runs, and which `retriever.dense` and `.hybrid` take as `part`."""

    auxiliary = True

    def fit(self, job: Job) -> Part:
        from dragoman.train.export.export_and_calibrate import Held, export_and_calibrate
        from dragoman.train.loop.checkpoint import identity
        from dragoman.train.loop.weight_average import AveragedRun, fit_runs
        from dragoman.train.ranking.bi_encoder import BiTask, Towers
        from dragoman.train.ranking.negatives import Mined

        inputs = typed(Input, job.recipe.input, "input")
        spec = typed(BiModel, job.recipe.model, "model")
        train, dev = asked(job, inputs)
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
        reading = _Reading(judged, spec, _shares(towers), towers.said())
        return export_and_calibrate(
            towers,
            task.tokens,
            job,
            kind=KIND,
            heads={"relevance": Held((LABEL,), (), [float(right) for right in labels(judged)], scores=reading.cosines)},
            options={**inputs.model_dump(), "pooling": spec.pooling, "mix": _shares(towers), **_told(towers)},
            max_tokens=spec.max_tokens,
            output="states",
            measure=reading.hit,
            metrics=metrics or task.measure(),
            base=spec.base,
            completed=lambda part, _: by_source(part, judged, reading.last, job),
        )


class _Reading:
    """What the exported model makes of dev, on the runtime that it will run on."""

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
        """The cosine of every question with each candidate that is offered, (N, 1)."""
        import numpy as np

        vectors = self._vectors(scorer)
        questions = enumerate(self._dev.questions)
        rows = [score for nth, each in questions for score in vectors.scores(nth, each.candidates).tolist()]
        self.last = [rows[row] for row in offered(self._dev)]
        return np.array(self.last, dtype=np.float32).reshape(-1, 1)

    def hit(self, scorer: Scorer) -> float:
        """Hit@1 over what is offered."""
        return self._vectors(scorer).measured()["hit@1"]

    def _vectors(self, scorer: Scorer) -> PairVectors:
        """What the scorer's model makes of dev, which it reads once."""
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


def _told(towers: Towers) -> dict[str, object]:
    """What the part's options say of passages that were said already; nothing where that was not learned."""
    penalties = {name: asdict(learned) for name, learned in towers.said().items()}
    return {"said": penalties} if penalties else {}
