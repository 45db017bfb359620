"""RAGate-MHA: learner of a small attention encoder over words, from scratch or from a larger encoder's vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field as Option

from dragoman.core.errors import ConfigError
from dragoman.core.examples import Example
from dragoman.gate.attention import HEAD, KIND, LABEL, MARKS, AttentionReading
from dragoman.gate.features import WINDOW
from dragoman.gate.inputs import GateInput, Inputs
from dragoman.models import weights
from dragoman.models.onnx.attention_scorer import AttentionScorer, TextPiece, WordVocabulary
from dragoman.models.part import Head, Part, write_part
from dragoman.train.calibration.cross_fitting import held_out_scores
from dragoman.train.contract import Corpus, Job, Progress
from dragoman.train.gates.bm25_evidence import found_knowledge
from dragoman.train.gates.inputs import gold_reply
from dragoman.train.gates.teacher import refuse_folds, soft_labels, teacher_probabilities
from dragoman.train.gates.vocabulary import MASK, piece_tokenizer, piece_vectors, projected, word_tokenizer
from dragoman.train.labelled_turns import gate_labels, gate_side
from dragoman.train.recipe_tables import RecipeTable, ViewTable, typed
from dragoman.train.registry import learners
from dragoman.train.spec import LAST

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.models.torch.attention_encoder import AttentionEncoder

TOKENIZER = "tokenizer.json"
_SPREAD = 0.1
"""The standard deviation of embeddings that come from another encoder: as large as the places' and segments' grow."""


class AttentionInput(ViewTable):
    """The papers' variants: contx; contx and know, in one row or, with `cross`, as queries and keys; contx and resp."""

    fields: tuple[Literal["contx", "resp", "know"], ...] = Option(default=("contx",), min_length=1)
    k: int = Option(default=3, ge=1)
    cross: bool = False
    marks: bool = True
    segments: bool = True
    window: int = Option(default=WINDOW, ge=0)
    """How many of the last turns `marks` are of: as many as an agent shows; 0: the whole dialogue's."""

    def reading(self, job: Job) -> AttentionReading:
        inputs = Inputs(self.fields, self.view(job), self.k)
        return AttentionReading(inputs, self.marks, self.segments, self.cross, self.window)


class AttentionModelTable(RecipeTable):
    """The encoder's size, where its words come from, and what it learns before and beside the labels.

    words: "own" takes those of the training turns, "pieces" the base's word pieces that occur there, "all" every one.
    embeddings: of pieces, by the base: "table" is its own table, "alone" what it makes of each piece read by itself;
        both are projected to the width.
    pretrain: before the labels, from the text of the training and auxiliary turns: "tokens" finds hidden words,
        "vectors" gives each turn the base's vector of it.
    teacher: a trained gate whose probabilities are mixed into the labels with `teacher_share`, at a temperature; it
        labels the auxiliary turns too, each of which counts `aux_share` of a labelled one.
    """

    width: Literal[64, 128, 256] = 64
    layers: int = Option(default=2, ge=1, le=8)
    heads: Literal[2, 4] = 4
    max_tokens: int = Option(default=128, ge=8)
    dropout: float = Option(default=0.1, ge=0, lt=1)
    words: Literal["own", "pieces", "all"] = "own"
    least: int = Option(default=2, ge=1)
    """How often a word of the training turns must occur to be in the vocabulary; rarer ones teach the unknown word."""
    embeddings: Literal["none", "table", "alone"] = "none"
    base: str = "all-minilm-l6-v2"
    pretrain: Literal["none", "tokens", "vectors"] = "none"
    pretrain_epochs: int = Option(default=5, ge=1)
    pretrain_rate: float = Option(default=1e-3, gt=0)
    aux_turns: int = Option(default=0, ge=0)
    """Take so many of the auxiliary turns, evenly; 0: all."""
    teacher: str | None = None
    teacher_share: float = Option(default=0.5, ge=0, le=1)
    temperature: float = Option(default=1.0, gt=0)
    aux_share: float = Option(default=1.0, ge=0)


@learners.register(KIND)
class GateAttention:
    """Learns when to retrieve, by attention over words."""

    auxiliary = True

    def fit(self, job: Job) -> Part:
        model = typed(AttentionModelTable, job.recipe.model, "model")
        reading = typed(AttentionInput, job.recipe.input, "input").reading(job)
        _refuse(job, model)
        job = replace(job, train=gate_side(job.train, "training"), dev=gate_side(job.dev, "dev"))
        return _AttentionTraining(job, model, reading).part()


@dataclass(frozen=True, slots=True)
class _TurnPieces:
    """Turns as pieces, and their texts for the base."""

    pieces: tuple[tuple[TextPiece, ...], ...]
    texts: tuple[str, ...]


class _AttentionTraining:
    """One training: vocabulary and initial weights once, then the folds and the whole."""

    def __init__(self, job: Job, model: AttentionModelTable, reading: AttentionReading) -> None:
        self._job = job
        self._model = model
        self._reading = reading
        self._train = self._side(job.train)
        self._dev = self._side(job.dev)
        self._aux_examples = _some(job.aux.examples, model.aux_turns) if job.aux else ()
        self._aux = (
            self._side(replace(job.aux, examples=self._aux_examples), needed=False) if job.aux else _TurnPieces((), ())
        )
        self._place = {id(example): row for row, example in enumerate(job.train.examples)}

    def part(self) -> Part:
        job = self._job
        job.folder.mkdir(parents=True, exist_ok=True)
        self._write_words()
        self._vocabulary = WordVocabulary(job.folder / TOKENIZER, self._model.max_tokens)
        self._rows = self._vocabulary.rows(self._train.pieces)
        self._dev_rows = self._vocabulary.rows(self._dev.pieces)
        self._aux_rows = self._vocabulary.rows(self._aux.pieces)
        self._taught, self._aux_taught = self._teach()
        self._begin()
        folds = held_out_scores(job, self._fold) if job.recipe.calibrate.folds else None
        trained = self._trained(job, job.folder, range(len(self._rows)))
        return self._finished(trained, folds)

    def _side(self, corpus: Corpus, *, needed: bool = True) -> _TurnPieces:
        inputs = self._reading.inputs
        language = inputs.view.language
        know = found_knowledge(corpus, inputs.k, language=language, needed=needed) if inputs.reads_evidence else None
        replied = needed and "resp" in inputs.fields  # of which turns there is a reply would tell the label
        contexts = [
            GateInput(
                example.context,
                reply=gold_reply(example) if replied else example.gold.reply or "",
                evidence=know[i] if know else (),
            )
            for i, example in enumerate(corpus.examples)
        ]
        texts = tuple(" ".join(text for text in inputs.texts(one).values() if text) for one in contexts)
        return _TurnPieces(tuple(self._reading.pieces(one) for one in contexts), texts)

    def _write_words(self) -> None:
        """Build the tokenizer from the texts of training and auxiliary turns, without labels."""
        model = self._model
        texts = [piece.text for side in (self._train, self._aux) for pieces in side.pieces for piece in pieces]
        if model.words == "own":
            self._numbers: list[int] = []
            tokenizer = word_tokenizer(texts, marks=MARKS, least=model.least)
        else:
            base = weights.path(model.base)
            tokenizer, self._numbers = piece_tokenizer(base, texts, marks=MARKS, every=model.words == "all")
        self._mask = int(tokenizer.token_to_id(MASK))
        tokenizer.save(str(self._job.folder / TOKENIZER))

    def _teach(self) -> tuple[list[float], list[float]]:
        """Return the labels of training and auxiliary turns, mixed with the teacher's."""
        labels = gate_labels(self._job.train.examples)
        model = self._model
        if model.teacher is None:
            return labels, []
        from dragoman.train.gates.attention_task import softened

        examples = (*self._job.train.examples, *self._aux_examples)
        self._job.report(Progress("Asking the teacher", 0, len(examples)))
        opinions = softened(
            teacher_probabilities(model.teacher, [example.context for example in examples]), model.temperature
        )
        self._job.report(Progress("Asking the teacher", len(examples), len(examples)))
        return soft_labels(labels, opinions[: len(labels)], model.teacher_share), opinions[len(labels) :]

    def _begin(self) -> None:
        """Return the initial weights of every training here."""
        import torch

        from dragoman.models.torch.attention_encoder import AttentionEncoder, EncoderShape
        from dragoman.train.loop.randomness import own_chance

        model, job = self._model, self._job
        shape = EncoderShape(
            len(self._vocabulary),
            model.width,
            model.layers,
            model.heads,
            model.max_tokens,
            model.dropout,
            self._reading.cross,
        )
        with own_chance(job.recipe.train.seed):
            encoder = AttentionEncoder(shape)
        if model.embeddings != "none":
            vectors = piece_vectors(model.base, self._numbers, alone=model.embeddings == "alone", device=job.device)
            with torch.no_grad():
                encoder.words.weight.copy_(projected(vectors, model.width, spread=_SPREAD))
        if model.pretrain != "none":
            self._pretrain(encoder)
        self._shape = shape
        self._start = {name: tensor.detach().cpu().clone() for name, tensor in encoder.state_dict().items()}

    def _pretrain(self, encoder: AttentionEncoder) -> None:
        from dragoman.train.gates.attention_task import LanguageTask
        from dragoman.train.loop.training_loop import fit

        job, model = self._job, self._model
        loop = job.recipe.train.model_copy(
            update={
                "epochs": model.pretrain_epochs,
                "rate": model.pretrain_rate,
                "metric": "loss",
                "schedule": "linear",
                "patience": 0,
            }
        )
        recipe = job.recipe.model_copy(update={"train": loop})
        vectors = dev_vectors = None
        if model.pretrain == "vectors":
            vectors = self._base_vectors([*self._train.texts, *self._aux.texts])
            dev_vectors = self._base_vectors(self._dev.texts)
        task = LanguageTask(
            encoder,
            [*self._rows, *self._aux_rows],
            self._dev_rows,
            recipe=recipe,
            mask=self._mask,
            vectors=vectors,
            dev_vectors=dev_vectors,
            device=job.device,
        )
        fit(task, replace(job, recipe=recipe), folder=job.folder / "pretrain")

    def _base_vectors(self, texts: Sequence[str]) -> Tensor:
        from dragoman.models.torch.trunk import embed, load_trunk

        trunk, tokens = load_trunk(self._model.base, {}, max_tokens=self._model.max_tokens)
        return embed(trunk.to(self._job.device), tokens, texts, device=self._job.device)

    def _fold(self, job: Job, folder: Path, held: Sequence[Example]) -> Sequence[Sequence[float]]:
        """Return the scores of held-out turns, scaled by their model's scores on dev.

        A model that stopped early has smaller scores than others; pooled without scaling, the scores of the folds
        would reflect that more than the turns.
        """
        from dragoman.train.gates.attention_task import attention_scores, spread_of

        encoder = self._trained(job, folder, [self._place[id(example)] for example in job.train.examples])
        middle, spread = spread_of(attention_scores(encoder, self._dev_rows, device=job.device)[:, 0].tolist())
        rows = [self._rows[self._place[id(example)]] for example in held]
        scores = attention_scores(encoder, rows, device=job.device)[:, 0].tolist()
        return [[(score - middle) / spread] for score in scores]

    def _trained(self, job: Job, folder: Path, rows: Sequence[int]) -> AttentionEncoder:
        """Train an encoder on some of the training turns, and on auxiliary ones if a teacher labels them."""
        from dragoman.models.torch.attention_encoder import AttentionEncoder
        from dragoman.train.gates.attention_task import AttentionTask
        from dragoman.train.loop.training_loop import fit

        encoder = AttentionEncoder(self._shape)
        encoder.load_state_dict(self._start)
        task = AttentionTask(
            encoder,
            [self._rows[row] for row in rows],
            [self._taught[row] for row in rows],
            dev_rows=self._dev_rows,
            dev_labels=gate_labels(job.dev.examples),
            recipe=job.recipe,
            unlabelled=(self._aux_rows, self._aux_taught) if self._aux_taught else ((), ()),
            share=self._model.aux_share,
            device=job.device,
        )
        fit(task, job, folder=folder)
        return encoder

    def _finished(self, encoder: AttentionEncoder, folds: Sequence[Sequence[float]] | None) -> Part:
        import torch

        from dragoman.train.export.export_and_calibrate import Held, fit_head, head_metrics, made_from
        from dragoman.train.gates.attention_export import export_attention
        from dragoman.train.gates.attention_task import spread_of
        from dragoman.train.loop.text_measures import yes_measures

        job = self._job
        job.report(Progress("Exporting", 0, 1))
        options = {
            "reading": self._reading.to_json(),
            "max_tokens": self._model.max_tokens,
            "shape": self._shape.to_json(),
        }
        files = ("model.onnx", TOKENIZER)
        draft = Part(job.folder, KIND, {HEAD: Head((LABEL,))}, options, dict.fromkeys(files, ""))
        held = Held((LABEL,), (), gate_labels(job.dev.examples))

        def scores() -> list[list[float]]:
            return [[score] for score in AttentionScorer(draft).scores(self._dev.pieces)]

        def metric() -> float:
            measures = yes_measures(torch.tensor(scores())[:, 0], torch.tensor(gate_labels(job.dev.examples)))
            name = job.recipe.train.metric if job.recipe.train.metric != LAST else "auc"  # bits have no epoch
            return -measures[name] if name == "loss" else measures[name]

        spec = job.recipe.export
        exported = export_attention(encoder, job.folder, int8=spec.int8, tolerance=spec.tolerance, measure=metric)
        dev_scores = scores()
        if folds is not None:
            middle, spread = spread_of([score for (score,) in dev_scores])
            moved = [[middle + spread * score for score in row] for row in folds]
            held = replace(held, folds=(moved, gate_labels(job.train.examples)))
        head = fit_head(held, dev_scores, job.recipe.calibrate)
        made = made_from(job, head_metrics(head, held, dev_scores))
        made |= {"bits": exported.bits, "bytes": exported.bytes}
        if self._model.words != "own" or self._model.pretrain == "vectors":
            made["base"] = self._model.base
        job.report(Progress("Exporting", 1, 1))
        return write_part(Part(job.folder, KIND, {HEAD: head}, options, {}, made), files)


def _some(examples: Sequence[Example], most: int) -> tuple[Example, ...]:
    return tuple(examples if not most else examples[:: max(1, -(-len(examples) // most))])


def _refuse(job: Job, model: AttentionModelTable) -> None:
    """Raise an error for contradictory options."""
    if model.embeddings != "none" and model.words == "own":
        raise ConfigError(
            f"model.embeddings = '{model.embeddings}' are of the base's word pieces, and the words are one's own.",
            remedy='Set model.words = "pieces".',
        )
    refuse_folds(model.teacher, job.recipe.calibrate.folds)
