"""Last step of every training over a trunk: export it, calibrate the exported model, write the part.

Calibration and thresholds are fitted on the scores of the exported model, the one that runs, so that they account for
eight-bit weights. Torch is imported inside functions, since the linear gate uses this module without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal

from dragoman.core.errors import UnknownNameError
from dragoman.models.onnx.scorer import Scorer
from dragoman.models.part import Head, Part, write_part
from dragoman.train.calibration.fitting import chosen_threshold, common_threshold, fit_calibration
from dragoman.train.contract import Corpus, Job, Progress
from dragoman.train.loop.measures import binary
from dragoman.train.spec import CalibrationSpec
from dragoman.train.training_folder import BEST

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray
    from dragoman.models.torch.trunk import Text, Tokens, Trunk
    from dragoman.train.loop.text_task import Kind, Labels

_LIBRARIES = ("dragoman", "torch", "transformers", "onnx", "onnxruntime", "tokenizers")
_NARROW = 8


@dataclass(frozen=True, slots=True)
class Held:
    """Held-out data of a head for calibration and measures: dev's texts and truth, and scores and truth of folds.

    `scores` computes dev's scores (N, labels) where they are not simply the head's scores of `texts`. `folds` has
    scores (M, labels) and truth. `sets` names the dataset of each text, where one threshold must suit several.
    `threshold` replaces the recipe's.
    """

    labels: tuple[str, ...]
    texts: Sequence[Text]
    truth: Labels
    kind: Kind = "binary"
    scores: Callable[[Scorer], FloatArray] | None = None
    folds: tuple[Sequence[Sequence[float]], Labels] | None = None
    sets: Sequence[str] | None = None
    threshold: float | None = None


def export_and_calibrate(
    trunk: Trunk,
    tokens: Tokens,
    job: Job,
    *,
    kind: str,
    heads: Mapping[str, Held],
    options: Mapping[str, Any],
    max_tokens: int,
    output: Literal["heads", "states"] = "heads",
    measure: Callable[[Scorer], float] | None = None,
    metrics: Mapping[str, float] | None = None,
    more_heads: Mapping[str, Head] | None = None,
    base: str = "",
    completed: Callable[[Part, Scorer], Part] | None = None,
) -> Part:
    """Write the part of a trained trunk into the job's folder.

    `options` are those of the component that runs it; `max_tokens` is added. `measure` (higher is better), or else the
    recipe's metric of the first head, decides between eight-bit and full weights. `more_heads` are outputs without
    calibration; `metrics` are added to those of the heads. The training folder also gets the files that
    `dragoman export` needs. `part.json` is written last: `completed` may change the part, or write beside it, before
    that; it gets the part and its scorer, which has cached dev's scores.
    """
    from dragoman.train.export.dev_reader import ReadOnce
    from dragoman.train.export.torch_to_onnx import MODEL
    from dragoman.train.export.trunk import TOKENIZER, export_trunk, save_shape

    job.report(Progress("Exporting", 0, 1))
    made_of = {**options, "max_tokens": max_tokens}
    plain = {name: Head(held.labels) for name, held in heads.items()} | dict(more_heads or {})
    draft = Part(job.folder, kind, plain, made_of, dict.fromkeys((MODEL, TOKENIZER), ""))
    save_shape(trunk, tokens, job.folder, max_tokens=max_tokens, output=output)
    if not (job.folder / BEST).is_file():
        keep(trunk, job)
    deciding = measure or (_deciding(job, heads) if heads else None)
    read: list[ReadOnce] = []  # the full model's, then the eight-bit one's

    def decided() -> float:
        assert deciding is not None
        read.append(ReadOnce(draft, job))
        return deciding(read[-1])

    exported = export_trunk(
        trunk,
        tokens,
        job.folder,
        output=output,
        int8=job.recipe.export.int8,
        tolerance=job.recipe.export.tolerance,
        measure=None if deciding is None else decided,
    )
    scorer = read[0 if exported.bits > _NARROW else -1] if read else ReadOnce(draft, job)
    fitted: dict[str, Head] = dict(more_heads or {})
    all_metrics: dict[str, float] = dict(metrics or {})
    for name, held in heads.items():
        scores = _scores(scorer, name, held)
        fitted[name] = fit_head(held, scores, job.recipe.calibrate)
        prefix = f"{name}/" if len(heads) > 1 else ""
        all_metrics |= {f"{prefix}{key}": value for key, value in head_metrics(fitted[name], held, scores).items()}
    more = {"base": base, "bits": exported.bits, "bytes": exported.bytes}
    export = {"full": exported.full, "narrow": exported.narrow}
    made = (
        made_from(job, all_metrics)
        | more
        | {"export": {key: value for key, value in export.items() if value is not None}}
    )
    part = replace(draft, heads=fitted, made=made)
    if completed is not None:
        scorer.part = part
        part = completed(part, scorer)
    job.report(Progress("Exporting", 1, 1))
    return write_part(part, (MODEL, TOKENIZER))


def fit_head(held: Held, scores: Sequence[Sequence[float]] | FloatArray, spec: CalibrationSpec) -> Head:
    """Fit a calibration and a threshold for each label, on dev's scores and, where given, the folds'."""
    calibrations, thresholds = {}, {}
    for place, label in enumerate(held.labels):
        values, true = column(scores, place), truth_of(held.truth, place)
        if held.folds is not None:
            values, true = values + column(held.folds[0], place), true + truth_of(held.folds[1], place)
        calibrations[label] = fitted = fit_calibration(values, true, spec.method)
        probabilities = [fitted.probability(score) for score in values]
        if held.threshold is not None:
            thresholds[label] = held.threshold
        elif held.sets is not None and spec.threshold == "f1" and held.folds is None:
            thresholds[label] = common_threshold(probabilities, true, held.sets)
        else:
            thresholds[label] = chosen_threshold(probabilities, true, spec.threshold)
    return Head(held.labels, calibrations, thresholds)


def head_metrics(head: Head, held: Held, scores: Sequence[Sequence[float]] | FloatArray) -> dict[str, float]:
    """Dev's metrics of a calibrated head, with the label's name as a prefix where it has several.

    Metrics at a threshold fitted on dev alone are a little too good; `folds/...` are those of the folds.
    """
    metrics: dict[str, float] = {}
    for place, label in enumerate(held.labels):
        prefix = f"{label}/" if len(held.labels) > 1 else ""
        sides = [("", scores, held.truth)]
        if held.folds is not None:
            sides.append(("folds/", *held.folds))
        for side, side_scores, truth in sides:
            probabilities = [head.probability(score, label) for score in column(side_scores, place)]
            measured = binary(probabilities, truth_of(truth, place), head.threshold(label))
            metrics |= {f"{side}{prefix}{name}": value for name, value in measured.items()}
    metrics |= _together(head, held, scores)
    return {name: value for name, value in metrics.items() if not math.isnan(value)}


def made_from(job: Job, metrics: Mapping[str, float]) -> dict[str, Any]:
    """The origin of a part: recipe, data with hashes, metrics on dev, versions, licence."""
    sides = {"train": job.train, "dev": job.dev, "aux": job.aux}
    versions = {}
    for library in _LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:  # run from its source
            continue
    return {
        "recipe": job.recipe.model_dump(mode="json"),
        "licence": job.recipe.licence,
        "data": {name: data_entry(corpus) for name, corpus in sides.items() if corpus is not None},
        "metrics": {name: round(float(value), 6) for name, value in metrics.items()},
        "versions": versions,
    }


def data_entry(corpus: Corpus) -> dict[str, Any]:
    """The data entry of a part: number of examples and files."""
    return {"examples": len(corpus.examples), "files": [dict(origin) for origin in corpus.origin]}


def keep(trunk: Trunk, job: Job) -> None:
    """Write a trunk's weights as the best ones, for a training without the loop."""
    from safetensors.torch import save_file

    job.folder.mkdir(parents=True, exist_ok=True)
    partial = job.folder / f".{BEST}"
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in trunk.state_dict().items()}, partial)
    partial.replace(job.folder / BEST)


def column(scores: Sequence[Sequence[float]] | FloatArray, place: int) -> list[float]:
    """One label's scores."""
    return [float(row[place]) for row in scores]


def truth_of(truth: Labels, place: int) -> list[bool]:
    """One label's truth."""
    return [bool((row if isinstance(row, int | float) else row[place]) > 0.5) for row in truth]


def _scores(scorer: Scorer, name: str, held: Held) -> FloatArray:
    return held.scores(scorer) if held.scores is not None else scorer.scores(held.texts, name)


def _deciding(job: Job, heads: Mapping[str, Held]) -> Callable[[Scorer], float]:
    name, held = next(iter(heads.items()))
    metric = job.recipe.train.metric

    def measure(scorer: Scorer) -> float:
        measures = _measured(held, _scores(scorer, name, held))
        if metric not in measures:
            raise UnknownNameError("train.metric", metric, measures)
        value = measures[metric]
        return -value if metric == "loss" else value

    return measure


def _measured(held: Held, scores: Sequence[Sequence[float]] | FloatArray) -> dict[str, float]:
    import torch

    from dragoman.train.loop.text_measures import measures_of

    tensor = torch.tensor([[float(value) for value in row] for row in scores])
    return measures_of(held.kind, tensor, torch.tensor(held.truth, dtype=torch.float32))


def _together(head: Head, held: Held, scores: Sequence[Sequence[float]] | FloatArray) -> dict[str, float]:
    """The measures over all labels; decisions use the head's own thresholds."""
    if held.kind == "binary":
        return {}
    from dragoman.train.loop.text_measures import decision_measures

    measures = _measured(held, scores)
    decisions = [
        [
            head.probability(float(score), label) >= head.threshold(label)
            for label, score in zip(held.labels, row, strict=True)
        ]
        for row in scores
    ]
    true = [[float(value) > 0.5 for value in row] for row in held.truth]  # type: ignore[union-attr]
    return {name: measures[name] for name in ("loss", "auc", "ap")} | decision_measures(decisions, true)
