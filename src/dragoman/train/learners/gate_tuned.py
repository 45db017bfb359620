"""RAGate-PEFT: learner of a low-rank adapter on a causal language model that decides on retrieval."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field as Between

from dragoman.core.examples import Example
from dragoman.core.protocols import LanguageModel
from dragoman.core.values import Prompt
from dragoman.gate.inputs import DRAFT_TOKENS, Field, Inputs
from dragoman.gate.tuned import HEAD, KIND, LABEL, OPTIONS, PROMPT, tuned_prompts
from dragoman.models import weights as catalogue
from dragoman.models.adapter_chooser import LIGHT_ADAPTER, Chooser
from dragoman.models.base_weights import base_digest, is_gguf
from dragoman.models.llamacpp.model import LlamaCppModel
from dragoman.models.part import Head, Part, write_part
from dragoman.models.torch.model import HfModel, require_torch
from dragoman.train.contract import Job, Progress
from dragoman.train.gates.inputs import gate_examples, kept_drafts
from dragoman.train.labelled_turns import gate_labels, gate_side
from dragoman.train.recipe_tables import RecipeTable, ViewTable, typed
from dragoman.train.registry import learners

if TYPE_CHECKING:
    from dragoman.train.gates.answer_task import AnswerTask

_AT_ONCE = 64


class TunedInput(ViewTable):
    """Input of the gate: fields of `gate/inputs.py`, the view of the dialogue, and the maximal length of a prompt."""

    fields: tuple[Field, ...] = ("contx",)
    turns: int = Between(default=6, ge=0)
    order: Literal["newest", "oldest"] = "oldest"
    k: int = Between(default=3, ge=1)
    tokens: int = Between(default=512, ge=128)
    drafter: str = ""
    """Language model that drafts `syn-resp`; default: the base."""
    draft_tokens: int = Between(default=DRAFT_TOKENS, ge=1)


class TunedModelTable(RecipeTable):
    """Base, adapter, and the loss at the answer token."""

    base: str = "smollm2-135m-instruct"
    quantise: Literal["auto", "4bit", "none"] = "auto"
    rank: int = Between(default=16, ge=1)
    alpha: int = Between(default=64, ge=1)
    dropout: float = Between(default=0.05, ge=0, lt=1)
    targets: Literal["all-linear"] | tuple[str, ...] = "all-linear"
    over: Literal["vocabulary", "options"] = "vocabulary"
    """The loss is over all words at the answer, as a language model's own, or over the two options alone."""
    checkpointing: bool = False
    """Compute activations again instead of keeping them: slower, for bases that do not fit otherwise."""
    light: bool = True
    """Write the adapter for llama.cpp too, where the base is a GGUF file."""
    scored: Literal["torch", "llamacpp"] = "torch"
    """By which runtime's scores probabilities are calibrated. They differ little; llama.cpp has no GPU here."""


@learners.register(KIND)
class TunedGateLearner:
    """Trains an adapter part; it refers to the base's weights by SHA-256."""

    def fit(self, job: Job) -> Part:
        require_torch("Tuning a language model")
        job = replace(job, train=gate_side(job.train, "training"), dev=gate_side(job.dev, "dev"))
        return _TunedTraining(job).run()


class _TunedTraining:
    """State of one training."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._input = typed(TunedInput, job.recipe.input, "input")
        self._model = typed(TunedModelTable, job.recipe.model, "model")
        table = self._input
        self._inputs = Inputs(table.fields, table.view(job), table.k, table.draft_tokens)

    def run(self) -> Part:
        from dragoman.train.calibration.cross_fitting import held_out_scores
        from dragoman.train.loop.training_loop import fit

        job = self._job
        prompts = self._prompts()
        folds = None
        if job.recipe.calibrate.folds:
            scores = held_out_scores(job, lambda inner, folder, held: self._fold(inner, folder, held, prompts))
            folds = scores, gate_labels(job.train.examples)
        task = self._task(job, prompts)
        metrics = fit(task, job)
        self._save(task)
        del task
        if job.device != "cpu":
            gc.collect()  # the model is full of circles, and calibration may load another one
        return self._finish([prompts[id(example)] for example in job.dev.examples], metrics, folds)

    def _prompts(self) -> dict[int, Prompt]:
        """Return the prompt of each example, by identity."""
        job = self._job
        examples = [*job.train.examples, *job.dev.examples]
        drafts = self._drafts(examples) if "syn-resp" in self._input.fields else {}
        by_example: dict[int, Prompt] = {}
        for corpus in (job.train, job.dev):
            inputs = gate_examples(corpus, self._inputs, drafts)
            prompts = tuned_prompts(self._inputs, inputs)
            by_example |= {id(example): prompt for example, prompt in zip(corpus.examples, prompts, strict=True)}
        return by_example

    def _drafts(self, examples: Sequence[Example]) -> dict[str, str]:
        drafter = self._input.drafter or self._model.base
        model = _drafting(drafter, self._job.device)
        try:
            return kept_drafts(
                examples,
                model,
                self._job.folder,
                drafter=drafter,
                language=self._inputs.view.language,
                max_tokens=self._input.draft_tokens,
                report=self._job.report,
            )
        finally:
            model.close()

    def _task(self, job: Job, prompts: dict[int, Prompt]) -> AnswerTask:
        """Return the task of a job with a new adapter."""
        from dragoman.models.torch.causal_lm import ANSWER_ROOM, load_causal
        from dragoman.models.torch.lora import LoraSpec, add_adapter
        from dragoman.train.gates.answer_task import AnswerTask

        table = self._model
        causal = load_causal(table.base, device=job.device, quantise=table.quantise)
        causal.refuse_longer(self._input.tokens, "input.tokens")
        spec = LoraSpec(table.rank, table.alpha, table.dropout, table.targets)
        causal = add_adapter(causal, spec, seed=job.recipe.train.seed)
        if table.checkpointing:
            causal.recompute()
        room = self._input.tokens - ANSWER_ROOM
        encoded = [
            [causal.encode(prompts[id(example)].messages, room) for example in side]
            for side in (job.train.examples, job.dev.examples)
        ]
        return AnswerTask(
            causal,
            encoded[0],
            gate_labels(job.train.examples),
            dev_rows=encoded[1],
            dev_labels=gate_labels(job.dev.examples),
            options=OPTIONS,
            recipe=job.recipe,
            over=table.over,
        )

    def _fold(self, job: Job, folder: Path, held: Sequence[Example], prompts: dict[int, Prompt]) -> list[list[float]]:
        """Train without some turns, with early stopping on dev, and score them."""
        from dragoman.models.torch.causal_lm import ANSWER_ROOM
        from dragoman.train.loop.training_loop import fit

        task = self._task(job, prompts)
        fit(task, job, folder=folder)
        room = self._input.tokens - ANSWER_ROOM
        rows = [task.causal.encode(prompts[id(example)].messages, room) for example in held]
        return [[score] for score in task.scores(rows).tolist()]

    def _save(self, task: AnswerTask) -> None:
        from dragoman.models.llamacpp.gguf_adapter import write_gguf_adapter
        from dragoman.models.torch.lora import save_adapter

        save_adapter(task.causal, self._job.folder, base=self._model.base)
        base = catalogue.path(self._model.base)
        if self._model.light and is_gguf(base):
            write_gguf_adapter(self._job.folder, base)

    def _finish(
        self,
        prompts: Sequence[Prompt],
        metrics: Mapping[str, float],
        folds: tuple[Sequence[Sequence[float]], Sequence[float]] | None,
    ) -> Part:
        """Calibrate on the saved adapter's dev scores and write the part."""
        from dragoman.models.torch.lora import FILES
        from dragoman.train.export.export_and_calibrate import Held, fit_head, head_metrics, made_from

        job, table = self._job, self._model
        light = table.light and is_gguf(catalogue.path(table.base))
        names = (*FILES, LIGHT_ADAPTER) if light else FILES
        options = {
            "base": table.base,
            "base_sha256": base_digest(table.base),
            "inputs": self._inputs.to_json(),
            "tokens": self._input.tokens,
            "options": list(OPTIONS),
            "prompt": PROMPT,
        }
        part = Part(job.folder, KIND, {HEAD: Head((LABEL,))}, options, dict.fromkeys(names, ""))
        scores = self._scores(part, prompts)
        held = Held((LABEL,), (), gate_labels(job.dev.examples), folds=folds)
        head = fit_head(held, scores, job.recipe.calibrate)
        figures = head_metrics(head, held, scores)
        made = made_from(job, {"loss": metrics["loss"], **figures}) | {
            "base": table.base,
            "runtime": "llamacpp" if light else "torch",
        }
        return write_part(replace(part, heads={HEAD: head}, files={}, made=made), names)

    def _scores(self, part: Part, prompts: Sequence[Prompt]) -> list[list[float]]:
        runtime = self._model.scored if LIGHT_ADAPTER in part.files else "torch"
        chooser = Chooser(part, runtime=runtime, device="cuda" if self._job.device.startswith("cuda") else "cpu")
        scores: list[list[float]] = []
        try:
            for start in range(0, len(prompts), _AT_ONCE):
                self._job.report(Progress("Calibrating", start, len(prompts)))
                scores += [[score] for score in chooser.scores(prompts[start : start + _AT_ONCE])]
        finally:
            chooser.close()
        return scores


def _drafting(weights: str, device: str) -> Any:
    """The language model that writes drafts: llama.cpp on a CPU if the weights are a GGUF file, else torch."""
    if device == "cpu" and catalogue.path(weights).suffix == ".gguf":
        return LlamaCppModel(weights=weights)
    model: LanguageModel = HfModel(weights=weights, device="cpu" if device == "cpu" else "cuda", batch=32)
    return model
