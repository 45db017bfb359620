"""Learner of the linear gate: a logistic regression over TF-IDF and dialogue shape, trained in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from typing import TypeAlias

from pydantic import Field as Setting

from dragoman.core.examples import Example
from dragoman.gate.features import DIALOGUE, Features, Field
from dragoman.gate.linear import HEAD, KIND, LABEL, Linear, write_linear
from dragoman.models.part import Part, write_part
from dragoman.train.contract import Job, Progress
from dragoman.train.gates.inputs import gold_reply
from dragoman.train.labelled_turns import gate_labels, gate_side
from dragoman.train.loop.measures import cross_fitted
from dragoman.train.recipe_tables import RecipeTable, refuse_focal, typed
from dragoman.train.registry import learners
from dragoman.train.spec import BalanceSpec

Read: TypeAlias = tuple[dict[Field, list[str]], dict[str, float]]


class LinearInput(RecipeTable):
    """Options of `Features`; `language` defaults to that of the training set."""

    fields: tuple[Field, ...] = DIALOGUE
    earlier: int = Setting(default=4, ge=0)
    ngrams: int = Setting(default=2, ge=1, le=5)
    structure: bool = True
    language: str | None = None

    def features(self, job: Job) -> Features:
        language = self.language or next((dataset.language for dataset in job.train.sets), "en")
        return Features(self.fields, self.earlier, self.ngrams, self.structure, language)


class LinearModelTable(RecipeTable):
    """`strength` is scikit-learn's C; terms in fewer than `least` turns are dropped."""

    strength: float = Setting(default=2.0, gt=0)
    least: int = Setting(default=2, ge=1)
    most_terms: int = Setting(default=50_000, ge=1)
    """Most terms per field, by frequency."""


@learners.register(KIND)
class GateLinear:
    """Learns when to retrieve, without torch and without a pre-trained model."""

    def fit(self, job: Job) -> Part:
        from dragoman.train.export.export_and_calibrate import Held, fit_head, head_metrics, made_from

        model = typed(LinearModelTable, job.recipe.model, "model")
        features = typed(LinearInput, job.recipe.input, "input").features(job)
        refuse_focal(job.recipe.balance, "A linear gate")
        job = replace(job, train=gate_side(job.train, "training"), dev=gate_side(job.dev, "dev"))
        trainer = Trainer(features, model, job.recipe.balance, seed=job.recipe.train.seed)
        held_out, places = _held_out(job, trainer)
        job.report(Progress("Learning", len(set(places)), len(set(places)) + 1))
        learned = trainer.fit(job.train.examples)
        scores = [[_score(learned, example)] for example in job.dev.examples]
        truth = gate_labels(job.train.examples)
        folds = ([[score] for score in held_out], truth) if places else None
        held = Held((LABEL,), (), gate_labels(job.dev.examples), folds=folds)
        head = fit_head(held, scores, job.recipe.calibrate)
        metrics = head_metrics(head, replace(held, folds=None), scores)
        if places:
            honest = cross_fitted(held_out, [value > 0.5 for value in truth], places, job.recipe.calibrate)
            metrics |= {f"folds/{name}": value for name, value in honest.items() if not isnan(value)}
        job.folder.mkdir(parents=True, exist_ok=True)
        names = write_linear(learned, job.folder)
        made = made_from(job, metrics) | {"terms": {field: len(terms) for field, terms in learned.terms.items()}}
        job.report(Progress("Learning", len(set(places)) + 1, len(set(places)) + 1))
        return write_part(Part(job.folder, KIND, {HEAD: head}, {"features": features.to_json()}, {}, made), names)


class Trainer:
    """Fits the regression with scikit-learn; the result runs without it."""

    def __init__(self, features: Features, model: LinearModelTable, balance: BalanceSpec, *, seed: int = 1) -> None:
        self._features = features
        self._model = model
        self._balance = balance
        self._seed = seed
        self._known: dict[str, Read] = {}

    def fit(self, examples: Sequence[Example]) -> Linear:
        """Fit a model to labelled turns."""
        from scipy.sparse import hstack
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.linear_model import LogisticRegression

        read = [self._read(example) for example in examples]
        columns, terms, idfs = [], {}, {}
        for field in self._features.fields:
            counted = _weighed([counts_by_field[field] for counts_by_field, _ in read], self._model)
            terms[field], idfs[field] = counted.names, counted.idf
            columns.append(counted.matrix)
        shapes: list[str] = []
        if self._features.structure:
            vectoriser = DictVectorizer()
            columns.append(vectoriser.fit_transform([shape for _, shape in read]))
            shapes = vectoriser.get_feature_names_out().tolist()
        truth = [bool(example.gold.retrieve) for example in examples]
        regression = LogisticRegression(
            C=self._model.strength, class_weight=self._class_weight(), max_iter=5000, tol=1e-6, random_state=self._seed
        ).fit(hstack(columns).tocsr(), truth)
        weights = iter(regression.coef_[0].tolist())
        idf_by_field = {
            field: {name: (idf, next(weights)) for name, idf in zip(terms[field], idfs[field], strict=True)}
            for field in self._features.fields
        }
        return Linear(
            self._features, idf_by_field, {name: next(weights) for name in shapes}, float(regression.intercept_[0])
        )

    def _read(self, example: Example) -> Read:
        """Return a turn's features, computed once for all folds."""
        if example.id not in self._known:
            self._known[example.id] = self._features.of(example.context, _reply(self._features, example))
        return self._known[example.id]

    def _class_weight(self) -> str | dict[bool, float] | None:
        weight = self._balance.weight
        if isinstance(weight, str):
            return None if weight == "none" else weight
        return {False: 1.0, True: weight}


class _Weighed:
    """TF-IDF matrix of one field over all turns, with the names and idf of its columns."""

    def __init__(self, matrix: object, names: list[str], idf: list[float]) -> None:
        self.matrix = matrix
        self.names = names
        self.idf = idf


def _weighed(documents: Sequence[Sequence[str]], model: LinearModelTable) -> _Weighed:
    from collections import Counter

    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

    frequent = Counter(term for terms in documents for term in set(terms))
    if max(frequent.values(), default=0) < model.least:  # a field that nobody fills, such as an agent that never spoke
        return _Weighed(csr_matrix((len(documents), 0)), [], [])
    vectoriser = TfidfVectorizer(analyzer=list, min_df=model.least, max_features=model.most_terms)
    matrix = vectoriser.fit_transform(documents)
    return _Weighed(matrix, vectoriser.get_feature_names_out().tolist(), vectoriser.idf_.tolist())


def _held_out(job: Job, trainer: Trainer) -> tuple[list[float], list[int]]:
    """Return each training turn's score by a model of the other folds, and its fold; empty without folds."""
    from dragoman.train.calibration.cross_fitting import fold_of

    examples, count = job.train.examples, job.recipe.calibrate.folds
    dialogues = len({example.context.dialogue or example.id for example in examples})
    folds = min(count, dialogues)
    if folds < 2:
        return [], []
    places = fold_of(examples, folds, job.recipe.train.seed)
    scores = [0.0] * len(examples)
    for fold in range(folds):
        job.report(Progress("Learning", fold, folds + 1))
        others = [example for example, place in zip(examples, places, strict=True) if place != fold]
        if len({example.gold.retrieve for example in others}) < 2:
            return [], []  # all of one label lie in one fold: dev alone has to do
        model = trainer.fit(others)
        for row, place in enumerate(places):
            if place == fold:
                scores[row] = _score(model, examples[row])
    return scores, places


def _score(model: Linear, example: Example) -> float:
    return model.score(example.context, _reply(model.features, example))[0]


def _reply(features: Features, example: Example) -> str:
    return gold_reply(example) if features.reads_reply else ""
