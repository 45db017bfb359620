"""Linear gate: logistic regression over TF-IDF terms and dialogue shape; a fraction of a millisecond a turn."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from threading import Lock

from dragoman.core.errors import WeightsError
from dragoman.core.protocols import Reader
from dragoman.core.registry import gates
from dragoman.core.values import Context, Evidence, Verdict
from dragoman.gate.features import Features, Field
from dragoman.gate.inputs import unaided_drafts
from dragoman.models.part import Head, Part, open_part

KIND = "gate.linear"
HEAD = "gate"
LABEL = "retrieve"
WEIGHTS = "weights.npz"
TERMS = "terms.json"


@dataclass(frozen=True, slots=True)
class Linear:
    """Logistic regression: an idf and a weight for each term of a field, and a weight for each shape feature."""

    features: Features
    terms: Mapping[Field, Mapping[str, tuple[float, float]]]
    shapes: Mapping[str, float]
    intercept: float

    def score(self, context: Context, reply: str = "") -> tuple[float, str]:
        """Return the log-odds of retrieval and the feature with the largest contribution in that direction."""
        field_terms, shape = self.features.of(context, reply)
        shape_scores = {name: value * self.shapes[name] for name, value in shape.items() if name in self.shapes}
        parts: dict[str, Mapping[str, float]] = {"shape": shape_scores}
        for field, terms in field_terms.items():
            parts[field] = self._weighed(self.terms[field], terms)
        # fsum is exact, so the order of the terms does not matter
        total = math.fsum([self.intercept, *chain.from_iterable(part.values() for part in parts.values())])
        most = max if total >= 0 else min
        extremes = [most(part.values()) for part in parts.values() if part]
        if not extremes:
            return total, "nothing known"
        outermost = most(extremes)
        where, what = most(
            (where, what) for where, part in parts.items() for what, value in part.items() if value == outermost
        )
        return total, f"{where}: {what}"

    @staticmethod
    def _weighed(vocabulary: Mapping[str, tuple[float, float]], terms: Sequence[str]) -> dict[str, float]:
        """Return the contribution of each vocabulary term: its tf-idf, normalised to unit length, times its weight."""
        counts = Counter(filter(vocabulary.__contains__, terms))
        pairs = [vocabulary[term] for term in counts]
        values = [count * idf for count, (idf, _) in zip(counts.values(), pairs, strict=True)]
        length = math.hypot(*values)
        return {term: value / length * weight for term, value, (_, weight) in zip(counts, values, pairs, strict=True)}


@gates.register("linear.v1")
class LinearGate:
    """Gate with a trained logistic regression; `part` is the folder that `dragoman train` wrote.

    A part trained on replies (`resp`) needs a `reader` that drafts one without evidence.
    """

    def __init__(
        self,
        *,
        part: str,
        reader: Reader | None = None,
        folder: Path | None = None,
        threshold: float | None = None,
    ) -> None:
        self._part = part
        self._reader = reader
        self._folder = folder
        self._threshold = threshold
        self._loaded: tuple[Linear, Head] | None = None
        self._lock = Lock()

    @property
    def threshold(self) -> float:
        """The probability at which the gate opens."""
        return self._load()[1].threshold() if self._threshold is None else self._threshold

    def warm_up(self) -> None:
        """Read the weights."""
        self._load()

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        if not turns:
            return []
        model, head = self._load()
        threshold = self.threshold
        verdicts = []
        for context, reply in zip(turns, self._replies(model, turns), strict=True):
            score, most = model.score(context, reply)
            probability = head.probability(score)
            verdicts.append(Verdict(probability >= threshold, probability, f"linear, above all {most}"))
        return verdicts

    def _replies(self, model: Linear, turns: Sequence[Context]) -> list[str]:
        return unaided_drafts(self._reader, turns) if model.features.reads_reply else [""] * len(turns)

    def _load(self) -> tuple[Linear, Head]:
        with self._lock:
            if self._loaded is None:
                part = open_part(self._part, kind=KIND, folder=self._folder)
                self._loaded = read_linear(part), part.head(HEAD)
            return self._loaded


def read_linear(part: Part) -> Linear:
    """Read the model of a part."""
    import numpy as np

    try:
        names = json.loads(part.file(TERMS).read_text(encoding="utf-8"))
        with np.load(part.file(WEIGHTS), allow_pickle=False) as stored:
            arrays = {name: stored[name].tolist() for name in stored.files}
        features = Features.from_json(part.options["features"])
        terms = {
            field: {
                term: (idf, weight)
                for term, idf, weight in zip(
                    names[field], arrays[f"{field}.idf"], arrays[f"{field}.weight"], strict=True
                )
            }
            for field in features.fields
        }
        shapes = dict(zip(names["shape"], arrays["shape.weight"], strict=True))
        return Linear(features, terms, shapes, float(arrays["intercept"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WeightsError(
            f"The linear gate '{part.folder}' cannot be read: {error!r}.", remedy="Train it again."
        ) from error


def write_linear(model: Linear, folder: Path) -> tuple[str, ...]:
    """Write a model's files into a folder and return their names."""
    import numpy as np

    names: dict[str, list[str]] = {field: list(terms) for field, terms in model.terms.items()}
    arrays = {"shape.weight": np.array(list(model.shapes.values())), "intercept": np.array(model.intercept)}
    for field, terms in model.terms.items():
        arrays[f"{field}.idf"] = np.array([idf for idf, _ in terms.values()])
        arrays[f"{field}.weight"] = np.array([weight for _, weight in terms.values()])
    np.savez_compressed(folder / WEIGHTS, **arrays)  # type: ignore[arg-type] # no array is called allow_pickle
    names["shape"] = list(model.shapes)
    (folder / TERMS).write_text(json.dumps(names, ensure_ascii=False) + "\n", encoding="utf-8")
    return WEIGHTS, TERMS
