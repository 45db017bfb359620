"""The bi-encoder: one vector a text, cosine for relevance (UniMS-RAG Eq. 5 and 6, its DPR)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from dragoman.models.part import FILE, Part
from dragoman.train.contract import Job
from dragoman.train.pairs import Pairs
from dragoman.train.rank_part import LABEL, Input, Model, analyser, asked, by_source, checked, labels, offered, small
from dragoman.train.registry import learners

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.core.protocols import FloatArray
    from dragoman.models.scorer import Scorer
    from dragoman.train.rank_bi import Towers

KIND = "retriever.bi"
_CANDIDATES = 12_000
"""Candidates of dev by which the exported model is calibrated, and eight bits are judged."""


class BiModel(Model):
    """The trunk as two towers: `listwise` weighs Eq. 5 over the turn's own candidates beside that over the batch."""

    temperature: float = Field(default=0.05, gt=0)
    """Where the learned temperature begins."""
    listwise: float = Field(default=1.0, ge=0)


@learners.register(KIND)
class BiEncoderLearner:
    """Makes a part whose weights `encoder.onnx` runs, and which `retriever.dense` and `.hybrid` take as `part`."""

    def fit(self, job: Job) -> Part:
        from dragoman.models.trunk import load_trunk
        from dragoman.train.checkpoint import identity
        from dragoman.train.finish import Held, finish
        from dragoman.train.loop import fit
        from dragoman.train.negatives import Mined
        from dragoman.train.rank_bi import BiTask, Towers

        given = checked(Input, job.recipe.input, "input")
        spec = checked(BiModel, job.recipe.model, "model")
        train, dev = asked(job, given)
        analyse = analyser(job.train)
        trunk, tokens = load_trunk(
            spec.base,
            {},
            max_tokens=spec.max_tokens,
            pooling=spec.pooling,
            layers=spec.layers,
            dropout=spec.dropout,
            seed=job.recipe.train.seed,
        )
        towers = Towers(trunk, temperature=spec.temperature, mix=given.query == "mix")
        task = BiTask(
            towers,
            tokens,
            train,
            dev,
            recipe=job.recipe,
            negatives=spec.negatives(),
            listwise=spec.listwise,
            positives=spec.positives,
            mined=Mined(job.folder, identity(job)),
            analyse=analyse,
            device=job.device,
        )
        metrics = fit(task, job)
        (job.folder / FILE).unlink(missing_ok=True)  # of an earlier training: its weights are gone
        judged = small(dev, analyse, most=_CANDIDATES, seed=job.recipe.train.seed)
        reading = _Reading(judged, spec, _shares(towers))
        return finish(
            towers,
            tokens,
            job,
            kind=KIND,
            heads={"relevance": Held((LABEL,), (), [float(right) for right in labels(judged)], scores=reading.cosines)},
            options={**given.model_dump(), "pooling": spec.pooling, "mix": _shares(towers)},
            max_tokens=spec.max_tokens,
            output="states",
            measure=reading.hit,
            metrics=metrics,
            base=spec.base,
            completed=lambda part: by_source(part, judged, reading.last, job),
        )


class _Reading:
    """What the exported model makes of dev, on the runtime that it will run on."""

    def __init__(self, dev: Pairs, spec: BiModel, shares: Mapping[str, float]) -> None:
        self._dev = dev
        self._spec = spec
        self._shares = shares
        self.last: list[float] = []

    def cosines(self, scorer: Scorer) -> FloatArray:
        """The cosine of every question with each candidate that is offered, (N, 1)."""
        import numpy as np

        queries, texts = self._vectors(scorer)
        rows = [
            float(texts[place] @ vector)
            for question, vector in zip(self._dev.questions, queries, strict=True)
            for place in question.candidates
        ]
        self.last = [rows[row] for row in offered(self._dev)]
        return np.array(self.last, dtype=np.float32).reshape(-1, 1)

    def hit(self, scorer: Scorer) -> float:
        """Hit@1 over what is offered."""
        import torch

        from dragoman.train.rank_bi import measured

        queries, texts = self._vectors(scorer)
        return measured(self._dev, torch.from_numpy(queries), torch.from_numpy(texts))["hit@1"]

    def _vectors(self, scorer: Scorer) -> tuple[FloatArray, FloatArray]:
        import numpy as np
        import torch

        from dragoman.models.onnx import OnnxEncoder
        from dragoman.train.rank_bi import query_matrix

        encoder = OnnxEncoder(
            weights=str(scorer.part.folder), max_tokens=self._spec.max_tokens, pooling=self._spec.pooling, cache=0
        )
        said = list(dict.fromkeys(text for question in self._dev.questions for text in question.said.values()))
        parts = dict(zip(said, torch.from_numpy(encoder.encode(said)), strict=True))
        queries = query_matrix(self._dev, parts, self._shares).numpy()
        return np.asarray(queries, dtype=np.float32), encoder.encode(self._dev.texts)


def _shares(towers: Towers) -> dict[str, float]:
    return {name: float(share.detach()) for name, share in towers.shares().items()}
