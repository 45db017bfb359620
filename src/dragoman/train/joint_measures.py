"""Measures of a joint scorer: each head on each set with its label, and the mean that selects the model."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dragoman.datasets.pair_rows import ENTAILMENTS, VERDICTS, PairRow
from dragoman.models.joint import ANSWERS, BEARS, ENTAILS, NEEDS, VERDICT

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

MEAN = "mean"
_LEAST = 8


def measured(rows: Sequence[PairRow], scores: Mapping[str, FloatArray]) -> dict[str, float]:
    """Return the measures by `set/head/measure`, and their mean for model selection."""
    measures: dict[str, float] = {}
    deciding: list[float] = []
    for name in dict.fromkeys(row.set for row in rows):
        own = [number for number, row in enumerate(rows) if row.set == name]
        for head in (ANSWERS, BEARS, NEEDS):
            some = [number for number in own if getattr(rows[number], head) is not None]
            truth = [float(getattr(rows[number], head)) > 0.5 for number in some]
            if min(sum(truth), len(truth) - sum(truth)) < _LEAST:
                continue
            head_scores = [float(scores[head][number][0]) for number in some]
            measures[f"{name}/{head}/auc"] = auc(head_scores, truth)
            groups = [rows[number].group for number in some]
            measures |= {f"{name}/{head}/{key}": value for key, value in ranked(head_scores, truth, groups).items()}
        for head, classes in ((VERDICT, VERDICTS), (ENTAILS, ENTAILMENTS)):
            some = [number for number in own if getattr(rows[number], head) is not None]
            if len(some) >= _LEAST:
                labels = [str(getattr(rows[number], head)) for number in some]
                predicted = [classes[int(scores[head][number].argmax())] for number in some]
                measures |= {f"{name}/{head}/{key}": value for key, value in _classified(labels, predicted).items()}
    for key, value in measures.items():
        if key.endswith(("verdict/macro", "entails/macro", "needs/auc", "answers/auc", "bears/auc")):
            deciding.append(value)
    measures[MEAN] = math.fsum(deciding) / len(deciding) if deciding else math.nan
    return measures


def by_kind(rows: Sequence[PairRow], scores: Mapping[str, FloatArray]) -> dict[str, tuple[float, int]]:
    """Return the accuracy of the verdict and the count by kind of row."""
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for number, row in enumerate(rows):
        if row.verdict is not None:
            total[row.kind] += 1
            right[row.kind] += VERDICTS[int(scores[VERDICT][number].argmax())] == row.verdict
    return {kind: (right[kind] / total[kind], total[kind]) for kind in sorted(total)}


def auc(scores: Sequence[float], truth: Sequence[bool]) -> float:
    """Return the area under the ROC curve; ties count half."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(list(truth), list(scores)))


def ranked(scores: Sequence[float], truth: Sequence[bool], groups: Sequence[str]) -> dict[str, float]:
    """Return hit@1 and nDCG@3 over the groups with a right and a wrong row."""
    lists: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for score, right, group in zip(scores, truth, groups, strict=True):
        lists[group].append((score, right))
    hits, gains = [], []
    for rows in lists.values():
        rights = sum(right for _, right in rows)
        if not 0 < rights < len(rows):
            continue
        order = sorted(rows, key=lambda row: -row[0])
        hits.append(float(order[0][1]))
        best = math.fsum(1 / math.log2(place + 2) for place in range(min(3, rights)))
        gains.append(math.fsum(right / math.log2(place + 2) for place, (_, right) in enumerate(order[:3])) / best)
    if len(hits) < _LEAST:
        return {}
    return {"hit@1": math.fsum(hits) / len(hits), "ndcg@3": math.fsum(gains) / len(gains), "lists": float(len(hits))}


def _classified(labels: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Return accuracy and its mean over classes; for `unsupported`, both other classes are right."""
    right: Counter[str] = Counter()
    total = Counter(labels)
    for label, prediction in zip(labels, predicted, strict=True):
        right[label] += prediction == label or (label == "unsupported" and prediction != "entailed")
    shares = [right[label] / total[label] for label in total]
    return {"accuracy": sum(right.values()) / len(labels), "macro": math.fsum(shares) / len(shares)}
