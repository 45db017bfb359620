"""Learner of the joint scorer: answer sentences, relevant facts, verdicts, and support of claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import Field

from dragoman.core.errors import TrainingError
from dragoman.datasets.pair_rows import ENTAILMENTS, VERDICTS, PairRow
from dragoman.datasets.pairs import row_of
from dragoman.models.joint import ANSWERS, BEARS, ENTAILS, HEADS, KIND, NEEDS, VERDICT
from dragoman.models.part import Head, Part
from dragoman.train.contract import Corpus, Job
from dragoman.train.recipe_tables import RecipeTable, TrunkTable, typed
from dragoman.train.registry import learners

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray
    from dragoman.models.onnx.scorer import Scorer

_CALIBRATED = 2_500
"""Dev rows per head for calibration of the exported model."""
_TEMPERATURES = tuple(0.4 * 1.06**step for step in range(50))
_LICENCES = {
    "houses": "Apache-2.0 (invented)",
    "exercises": "Apache-2.0 (written for it; half of the labels by a fine-tuned Qwen2.5-Coder-1.5B, Apache-2.0)",
    "squad": "CC BY-SA 4.0",
    "policyqa": "MIT",
    "clapnq": "Apache-2.0",
    "boolq": "CC BY-SA 3.0",
    "strategyqa": "MIT",
    "sharc": "CC BY-SA 3.0",
    "ikat": "MIT",
    "personamem": "MIT",
    "nli": "SNLI CC BY-SA 4.0, MNLI OANC, SciTail Apache-2.0, e-SNLI MIT, CommitmentBank CC BY-SA 3.0",
    "halueval": "MIT",
    "fever_symmetric": "CC BY-SA 3.0",
}
"""Licences of the sets that `benchmarks/judge/joint_rows.py` reads, for the card of the part."""


class JointInput(RecipeTable):
    """Repeats of each set in an epoch, and weights of the heads' losses."""

    repeats: dict[str, int] = Field(default_factory=dict)
    weights: dict[str, float] = Field(default_factory=dict)


@learners.register(KIND)
class JointLearner:
    """Trains a `joint` part from files of pair rows."""

    def fit(self, job: Job) -> Part:
        from dragoman.train.export.export_and_calibrate import Held, export_and_calibrate
        from dragoman.train.joint_task import JointTask, texts_of
        from dragoman.train.loop.training_loop import fit

        inputs, model = typed(JointInput, job.recipe.input, "input"), typed(TrunkTable, job.recipe.model, "model")
        rows, dev = _rows(job.train, "training"), _rows(job.dev, "dev")
        trunk, tokens = model.open({name: len(labels) for name, labels in HEADS.items()}, seed=job.recipe.train.seed)
        task = JointTask(
            trunk,
            tokens,
            rows,
            dev,
            recipe=job.recipe,
            device=job.device,
            repeats=inputs.repeats,
            weights=inputs.weights,
        )
        metrics = fit(task, job)
        held = {
            head: Held((head,), [texts_of(row) for row in some], [float(getattr(row, head)) for row in some])
            for head in (ANSWERS, BEARS, NEEDS)
            if (some := _some(dev, head))
        }
        verdicts, claims = _some(dev, VERDICT), _some(dev, ENTAILS)

        def accuracy(scorer: Scorer) -> float:
            scores = scorer.scores([texts_of(row) for row in verdicts], VERDICT)
            return _accuracy(scores, [VERDICTS.index(row.verdict) for row in verdicts if row.verdict])

        def completed(part: Part, scorer: Scorer) -> Part:
            temperatures = {}
            for head, some, classes in ((VERDICT, verdicts, VERDICTS), (ENTAILS, claims, ENTAILMENTS)):
                named = [row for row in some if getattr(row, head) in classes]
                if named:
                    scores = scorer.scores([texts_of(row) for row in named], head)
                    temperatures[head] = _temperature(scores, [classes.index(getattr(row, head)) for row in named])
            return replace(part, options={**part.options, "temperatures": temperatures})

        return export_and_calibrate(
            trunk,
            tokens,
            job,
            kind=KIND,
            heads=held,
            options={},
            max_tokens=model.max_tokens,
            measure=accuracy,
            metrics={name: value for name, value in metrics.items() if "/" in name or name == "mean"},
            more_heads={name: Head(labels) for name, labels in HEADS.items() if name not in held},
            base=model.base,
            completed=lambda part, scorer: _described(completed(part, scorer), rows, dev),
        )


def _rows(corpus: Corpus, side: str) -> list[PairRow]:
    rows = [row_of(example.meta) for example in corpus.examples if "row" in example.meta]
    if not rows:
        raise TrainingError(
            f"The {side} data holds no pair rows.", remedy="Give a file of them: see datasets/pair_rows.py."
        )
    return rows


def _some(rows: Sequence[PairRow], head: str) -> list[PairRow]:
    """Return dev rows with a head's label, evenly sampled."""
    having = [row for row in rows if getattr(row, head) is not None]
    step = max(1, len(having) // _CALIBRATED)
    return having[::step]


def _accuracy(scores: FloatArray, truth: Sequence[int]) -> float:
    predicted = scores.argmax(axis=-1)
    return sum(int(prediction) == right for prediction, right in zip(predicted, truth, strict=True)) / max(
        1, len(truth)
    )


def _temperature(scores: FloatArray, truth: Sequence[int]) -> float:
    """Return the temperature with the least loss on dev."""
    import numpy as np

    from dragoman.models.joint import softmax

    rows = np.arange(len(truth))

    def loss(temperature: float) -> float:
        chosen = softmax(scores.astype(np.float64), temperature)[rows, list(truth)]
        return float(-np.log(np.clip(chosen, 1e-12, None)).mean())

    best: float = min(_TEMPERATURES, key=loss)
    return round(best, 4)


def _described(part: Part, rows: Sequence[PairRow], dev: Sequence[PairRow]) -> Part:
    """Add the number of rows and the licence of each set to the part."""
    counts, devs = Counter(row.set for row in rows), Counter(row.set for row in dev)
    sets = {
        name: {"train": counts[name], "dev": devs[name], "licence": _LICENCES.get(name, "")}
        for name in sorted({*counts, *devs})
    }
    return replace(part, made={**part.made, "sets": sets})
