"""Learner of a gate over a pre-trained encoder: fine-tuned, or frozen with a logistic regression over fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field as Setting

from dragoman.core.errors import ConfigError, TrainingError, UnknownNameError
from dragoman.core.examples import Example
from dragoman.core.values import Context
from dragoman.gate.encoder import FIELDS, HEAD, KIND, LABEL, Field, field_head, field_texts, gate_scores, gate_texts
from dragoman.models.part import Head, Part
from dragoman.train.calibration.cross_fitting import Scores, held_out_scores
from dragoman.train.contract import Corpus, Job, Progress
from dragoman.train.gates.inputs import gold_reply
from dragoman.train.gates.teacher import refuse_folds, soft_labels, teacher_probabilities
from dragoman.train.labelled_turns import gate_labels, gate_side
from dragoman.train.recipe_tables import TrunkTable, ViewTable, refuse_focal, typed
from dragoman.train.registry import learners
from dragoman.train.spec import BalanceSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dragoman.models.torch.trunk import Text, Tokens, Trunk
    from dragoman.train.export.export_and_calibrate import Held

_STRENGTHS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1.0)
"""Candidates for scikit-learn's C, chosen on dev."""


class EncoderGateInput(ViewTable):
    """The view of a turn; with `reply`, also a reply that was drafted without looking anything up ([contx;resp])."""

    reply: bool = False


class EncoderGateModelTable(TrunkTable):
    """`frozen` keeps the encoder as it is and fits a logistic regression over its vectors of `fields`.

    `teacher` is a trained gate whose probabilities are mixed into the labels, with `teacher_share` of the weight. Where
    auxiliary data is given, the encoder first learns from it for `aux_epochs`, from `aux_turns` of it (0: all).
    """

    frozen: bool = False
    fields: tuple[Field, ...] = Setting(default=FIELDS, min_length=1)
    teacher: str | None = None
    teacher_share: float = Setting(default=0.5, ge=0, le=1)
    aux_epochs: int = Setting(default=1, ge=1)
    aux_turns: int = Setting(default=0, ge=0)

    def softened(self, labels: list[float], turns: Sequence[Context]) -> list[float]:
        """Return the labels, mixed with the teacher's probabilities if there is one."""
        if self.teacher is None:
            return labels
        return soft_labels(labels, teacher_probabilities(self.teacher, turns), self.teacher_share)


@learners.register(KIND)
class GateEncoder:
    """Learns when to retrieve from the text of the last turns."""

    auxiliary = True

    def fit(self, job: Job) -> Part:
        model = typed(EncoderGateModelTable, job.recipe.model, "model")
        inputs = typed(EncoderGateInput, job.recipe.input, "input")
        _refuse(job, model, inputs)
        aux = None if job.aux is None else gate_side(job.aux, "auxiliary")
        job = replace(job, train=gate_side(job.train, "training"), dev=gate_side(job.dev, "dev"), aux=aux)
        options = {"view": inputs.view(job).to_json()} | ({"reply": True} if inputs.reply else {})
        return _Frozen(job, model, options).part() if model.frozen else _Tuned(job, model, options).part()


def _refuse(job: Job, model: EncoderGateModelTable, inputs: EncoderGateInput) -> None:
    """Raise an error for contradictory options before training."""
    from dragoman.train.loop.text_measures import YES_MEASURES

    metric = job.recipe.train.metric
    if metric not in YES_MEASURES:
        raise UnknownNameError("train.metric", metric, YES_MEASURES, remedy="Set one of these.")
    refuse_folds(model.teacher, job.recipe.calibrate.folds)
    if not model.frozen:
        return
    if inputs.reply:
        raise ConfigError("A frozen encoder reads no reply.", remedy="Set model.frozen or input.reply to false.")
    if job.aux is not None:
        raise ConfigError(
            "A frozen encoder learns nothing from auxiliary data.",
            remedy="Leave --data aux out, or set model.frozen to false.",
        )
    refuse_focal(job.recipe.balance, "A frozen encoder")


class _Tuned:
    """The whole encoder is trained, with one head."""

    def __init__(self, job: Job, model: EncoderGateModelTable, options: dict[str, Any]) -> None:
        self._job = job
        self._model = model
        self._options = options

    def part(self) -> Part:
        from dragoman.train.export.export_and_calibrate import export_and_calibrate

        job = self._job
        if job.aux is not None:
            self._begin(job.aux)
        folds = held_out_scores(job, self._fold) if job.recipe.calibrate.folds else None
        trunk, tokens = self._trained(job, job.folder)
        texts = example_texts(job.dev.examples, self._options)
        return export_and_calibrate(
            trunk,
            tokens,
            job,
            kind=KIND,
            heads={HEAD: _held(job, folds, texts=texts)},
            options=self._options,
            max_tokens=self._model.max_tokens,
            base=self._model.base,
        )

    def _begin(self, aux: Corpus) -> None:
        """Train on the auxiliary turns first, with equal weights and the main set's dev."""
        job, most = self._job, self._model.aux_turns
        examples = aux.examples if not most else aux.examples[:: max(1, -(-len(aux.examples) // most))]
        loop = job.recipe.train.model_copy(update={"epochs": self._model.aux_epochs})
        recipe = job.recipe.model_copy(update={"train": loop, "balance": BalanceSpec()})
        first = replace(job, train=replace(aux, examples=examples), recipe=recipe, aux=None)
        self._trained(first, job.folder / "aux", taught=False)

    def _fold(self, job: Job, folder: Path, held: Sequence[Example]) -> Sequence[Sequence[float]]:
        from dragoman.models.torch.trunk import score

        trunk, tokens = self._trained(job, folder)
        texts = example_texts(held, self._options)
        scores: list[list[float]] = score(trunk, tokens, texts, HEAD, device=job.device).tolist()
        return scores

    def _trained(self, job: Job, folder: Path, *, taught: bool = True) -> tuple[Trunk, Tokens]:
        from dragoman.train.loop.text_task import TextTask
        from dragoman.train.loop.training_loop import fit

        trunk, tokens = self._fresh() if job.aux is None else self._begun()
        turns = [example.context for example in job.train.examples]
        labels = gate_labels(job.train.examples)
        if taught:
            labels = self._model.softened(labels, turns)
        task = TextTask(
            trunk,
            tokens,
            example_texts(job.train.examples, self._options),
            labels,
            head=HEAD,
            dev_texts=example_texts(job.dev.examples, self._options),
            dev_labels=gate_labels(job.dev.examples),
            recipe=job.recipe,
            device=job.device,
        )
        fit(task, job, folder=folder)
        return trunk, tokens

    def _fresh(self) -> tuple[Trunk, Tokens]:
        return self._model.open({HEAD: 1}, seed=self._job.recipe.train.seed)

    def _begun(self) -> tuple[Trunk, Tokens]:
        from dragoman.models.torch.trunk import read_weights
        from dragoman.train.training_folder import BEST

        trunk, tokens = self._fresh()
        read_weights(trunk, self._job.folder / "aux" / BEST)
        return trunk, tokens


def example_texts(examples: Sequence[Example], options: Mapping[str, Any]) -> list[Text]:
    """Return the gate's input texts of labelled turns."""
    turns = [example.context for example in examples]
    if not options.get("reply"):
        return gate_texts(turns, options)
    return gate_texts(turns, options, [gold_reply(example) for example in examples])


class _Frozen:
    """Logistic regression over the concatenated vectors of each field by the frozen encoder.

    Its weights become one head per field, whose scores are added; the exported model is the trunk with these heads.
    """

    def __init__(self, job: Job, model: EncoderGateModelTable, options: dict[str, Any]) -> None:
        self._job = job
        self._model = model
        self._options = {**options, "fields": list(model.fields)}
        heads = {field_head(field): 1 for field in model.fields}
        self._trunk, self._tokens = model.open(heads, seed=job.recipe.train.seed)

    def part(self) -> Part:
        from dragoman.train.export.export_and_calibrate import export_and_calibrate, keep

        job, model = self._job, self._model
        examples = (*job.train.examples, *job.dev.examples)
        vectors = self._vectors(examples)
        place = {id(example): row for row, example in enumerate(examples)}

        def fold(inner: Job, folder: Path, held: Sequence[Example]) -> Sequence[Sequence[float]]:
            weights, bias = self._regression(inner, vectors, place)
            scores = vectors[[place[id(example)] for example in held]] @ weights + bias
            return [[float(score)] for score in scores]

        folds = held_out_scores(job, fold) if job.recipe.calibrate.folds else None
        self._set_heads(*self._regression(job, vectors, place))
        keep(self._trunk, job)
        turns = [example.context for example in job.dev.examples]
        held = replace(_held(job, folds, texts=()), scores=lambda scorer: gate_scores(scorer, turns))
        return export_and_calibrate(
            self._trunk,
            self._tokens,
            job,
            kind=KIND,
            heads={HEAD: held},
            more_heads={field_head(field): Head((LABEL,)) for field in model.fields},
            options=self._options,
            max_tokens=model.max_tokens,
            base=model.base,
        )

    def _vectors(self, examples: Sequence[Example]) -> NDArray[np.float64]:
        """Return the vectors of all fields of all turns, (N, fields x D)."""
        import numpy as np

        from dragoman.models.torch.trunk import embed

        turns = [example.context for example in examples]
        by_field = []
        self._trunk.to(self._job.device)
        for done, field in enumerate(self._model.fields):
            self._job.report(Progress("Encoding", done, len(self._model.fields)))
            texts = field_texts(turns, self._options, field)
            vectors = embed(self._trunk, self._tokens, texts, device=self._job.device, unit=False)
            by_field.append(vectors.double().numpy())
        self._job.report(Progress("Encoding", len(by_field), len(by_field)))
        return np.concatenate(by_field, axis=1)

    def _regression(
        self, job: Job, vectors: NDArray[np.float64], place: dict[int, int]
    ) -> tuple[NDArray[np.float64], float]:
        """Fit weights and bias with the best C on dev."""
        import torch
        from sklearn.linear_model import LogisticRegression

        from dragoman.train.loop.text_measures import yes_measures
        from dragoman.train.loop.text_task import positive_weight

        rows, labels = self._learned_from(job, place)
        dev = vectors[[place[id(example)] for example in job.dev.examples]]
        dev_labels = torch.tensor(gate_labels(job.dev.examples))
        centre, spread = vectors[rows].mean(0), vectors[rows].std(0) + 1e-6
        hard = gate_labels(job.train.examples)
        positive = float(positive_weight(torch.tensor(hard), job.recipe.balance))
        # a soft label is both labels at once, each with its share of the weight
        both = [*labels, *(1 - label for label in labels)]
        counts = [share * (positive if i < len(labels) else 1.0) for i, share in enumerate(both)]
        truth = [1] * len(labels) + [0] * len(labels)
        present = [i for i, count in enumerate(counts) if count > 0]
        if len({truth[i] for i in present}) < 2:
            raise TrainingError(
                "All turns of one label lie in one fold, so that nothing can be learned without it.",
                remedy="Set calibrate.folds = 0 (dev alone is calibrated on), or label more dialogues.",
            )
        standardised = ((vectors[rows] - centre) / spread)[[i % len(labels) for i in present]]
        best: tuple[float, NDArray[np.float64], float] | None = None
        for strength in _STRENGTHS:
            fitted = LogisticRegression(C=strength, max_iter=2000, random_state=job.recipe.train.seed).fit(
                standardised, [truth[i] for i in present], sample_weight=[counts[i] for i in present]
            )
            weights = fitted.coef_[0] / spread
            bias = float(fitted.intercept_[0] - centre @ weights)
            measured = yes_measures(torch.tensor(dev @ weights + bias), dev_labels)
            value = -measured["loss"] if job.recipe.train.metric == "loss" else measured[job.recipe.train.metric]
            if best is None or value > best[0]:
                best = value, weights, bias
        assert best is not None
        return best[1], best[2]

    def _learned_from(self, job: Job, place: dict[int, int]) -> tuple[list[int], list[float]]:
        labels = gate_labels(job.train.examples)
        turns = [example.context for example in job.train.examples]
        return [place[id(example)] for example in job.train.examples], self._model.softened(labels, turns)

    def _set_heads(self, weights: NDArray[np.float64], bias: float) -> None:
        import torch

        width = self._trunk.width
        with torch.no_grad():
            for i, field in enumerate(self._model.fields):
                head = self._trunk.heads[field_head(field)]
                head.weight.copy_(torch.from_numpy(weights[i * width : (i + 1) * width]))  # type: ignore[operator]
                head.bias.fill_(bias if i == 0 else 0.0)  # type: ignore[operator]


def _held(job: Job, folds: Scores | None, *, texts: Sequence[Text]) -> Held:
    from dragoman.train.export.export_and_calibrate import Held

    pooled = None if folds is None else (folds, gate_labels(job.train.examples))
    return Held((LABEL,), texts, gate_labels(job.dev.examples), folds=pooled)
