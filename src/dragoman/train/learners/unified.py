"""Learner of the unified model: one language model plans, scores evidence and answers (UniMS-RAG, SAFARI)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from dragoman.core.errors import ConfigError, TrainingError, UnknownNameError
from dragoman.core.examples import Example
from dragoman.core.tokens import Grammar
from dragoman.datasets.open import resolve
from dragoman.models import weights as catalogue
from dragoman.models.adapter_chooser import LIGHT_ADAPTER
from dragoman.models.base_weights import base_digest, is_gguf
from dragoman.models.part import PARENT, Part, open_part, write_part
from dragoman.models.torch.model import require_torch
from dragoman.models.unified.model import KIND, Order, TreeShape, TurnTokens
from dragoman.train.checks import LEAST
from dragoman.train.contract import Job, Progress
from dragoman.train.recipe_tables import typed
from dragoman.train.registry import learners
from dragoman.train.unified.calibration import SIMILARITY, plan_offsets, plan_share, similarity_calibrations
from dragoman.train.unified.sources import check_names, orders_of, rename_sources, sources_of
from dragoman.train.unified.tables import UnifiedInput, UnifiedModelTable

if TYPE_CHECKING:
    from dragoman.train.unified.candidates import Relevance
    from dragoman.train.unified.measures import TurnOutcome
    from dragoman.train.unified.sequences import Sequences
    from dragoman.train.unified.task import UnifiedTask

_TRIAL = "work"
"""Folder of a part that is not finished yet."""


@learners.register(KIND)
class UnifiedLearner:
    """Trains a part that planner.acting, retriever.evaluating and reader.unified share.

    `torchrun --nproc-per-node N -m dragoman train ..`, or accelerate's launcher, trains it on several GPUs.
    """

    parallel = True
    auxiliary = True

    def fit(self, job: Job) -> Part:
        require_torch("Training a language model")
        return _UnifiedTraining(job).run()


class _UnifiedTraining:
    """State of one training."""

    def __init__(self, job: Job) -> None:
        self._input = typed(UnifiedInput, job.recipe.input, "input")
        self._unnamed = (*job.train.examples, *(job.aux.examples if job.aux else ()))
        self._job = job = self._renamed(job)
        self._model = typed(UnifiedModelTable, job.recipe.model, "model")
        self._sources = sources_of([*job.train.examples, *(job.aux.examples if job.aux else ())])
        table = self._model
        if table.style == "safari" and table.layout == "paper":
            raise ConfigError("SAFARI's sequence has no evidence mask.", remedy='Set model.layout = "tree" or "plain".')
        if table.weights == "full" and table.quantise == "4bit":
            raise ConfigError(
                "Weights of four bits cannot all be trained.",
                remedy='Set model.weights = "lora", or model.quantise = "none".',
            )
        grammar = Grammar(tuple(source.name for source in self._sources), table.style)
        inputs = self._input
        view = inputs.view(job)
        self._shape = TreeShape(grammar, table.layout, view, inputs.window, inputs.candidate, inputs.response)
        self._refuse_small_window()
        self._refuse_unknown_metric()
        files = (inputs.relevance,) if isinstance(inputs.relevance, str) else inputs.relevance
        self._labels = tuple(resolve(file) for file in files)

    def _renamed(self, job: Job) -> Job:
        """Return the job with sources renamed as the recipe sets."""
        names = self._input.sources
        if not names:
            return job
        sides = [corpus for corpus in (job.train, job.dev, job.aux) if corpus is not None]
        offered = {source.name for corpus in sides for example in corpus.examples for source in example.sources}
        check_names(names, frozenset(offered))
        aux = None if job.aux is None else rename_sources(job.aux, names)
        return replace(job, train=rename_sources(job.train, names), dev=rename_sources(job.dev, names), aux=aux)

    def run(self) -> Part:
        from dragoman.models.unified.weights import save_weights
        from dragoman.train.loop.parallel import Ranks

        job, ranks = self._job, Ranks(self._job.device)
        task, turns, best = self._learned()
        if not ranks.is_first:
            ranks.wait()  # until the part is written
            return open_part(job.folder, kind=KIND)
        job.report(Progress("Calibrating", 0, 1))
        outcomes = task.final(best)
        names = save_weights(task.causal, job.folder, kept=self._model.weights, base=self._model.base)
        names += self._light(turns)
        part = write_part(self._ended(self._calibrated(outcomes, turns, names), names, task), names)
        ranks.wait()
        return part

    def _learned(self) -> tuple[UnifiedTask, TurnTokens, Mapping[str, float]]:
        from dragoman.train.loop.weight_average import AveragedRun, fit_runs

        converters: list[TurnTokens] = []

        def make(run: AveragedRun) -> UnifiedTask:
            task, turns = self._task(run.number)
            converters.append(turns)
            return task

        task, best = fit_runs(make, self._job, self._model.runs)
        return task, converters[-1], best

    def _task(self, run: int = 0) -> tuple[UnifiedTask, TurnTokens]:
        """Return the task; each `run` starts from the same weights with another order of turns."""
        from dragoman.models.torch.causal_lm import load_causal
        from dragoman.models.torch.lora import LoraSpec
        from dragoman.models.unified.token_spelling import spell
        from dragoman.models.unified.vocabularies import tokenizer_vocabulary
        from dragoman.models.unified.weights import Tuning, end_of, for_training, told_apart, vocabulary_rows
        from dragoman.train.unified.candidates import with_likely_labels
        from dragoman.train.unified.task import TaskSettings, UnifiedTask

        job, table = self._job, self._model
        four = table.quantise if table.weights == "lora" else "none"
        causal = load_causal(table.base, device=job.device, quantise=four, precision="float32")
        causal.refuse_longer(self._input.window, "input.window")
        vocabulary = tokenizer_vocabulary(causal.tokenizer, vocabulary_rows(causal))
        apart = told_apart(causal, vocabulary.reserved) if table.tokens == "reserved" else None
        spelling = spell(self._shape.grammar, table.tokens, vocabulary, apart=apart)
        turns = TurnTokens(self._shape, spelling, _remembering(vocabulary.encode), end_of(causal, spelling))
        spec = LoraSpec(table.rank, table.alpha, table.dropout, table.targets, table.layers)
        described = {source.name: source.description for source in self._sources}
        causal = for_training(
            causal,
            spelling,
            Tuning(table.weights, spec, table.checkpointing),
            seed=job.recipe.train.seed,
            sources=described,
            vocabulary=vocabulary,
        )
        train = job.recipe.train
        settings = TaskSettings(
            tokens=table.batch_tokens,
            batch=train.batch,
            epoch=self._input.epoch,
            seed=train.seed,
            run=run,
            attention=table.attention,
            compiled=table.compiled,
            over=table.loss.over,
            soft=table.loss.soft,
            weights=table.loss.model_dump(exclude={"soft", "over"}),
            measured=table.measured,
            whole=table.whole,
            most=table.candidates,
        )
        examples = [*job.train.examples, *(job.aux.examples if job.aux else ())]
        relevance = self._relevance(self._unnamed)
        if relevance is not None:
            examples = [with_likely_labels(example, relevance) for example in examples]
        sequences = self._sequences(turns, examples, relevance, run)
        return UnifiedTask(causal, turns, sequences, examples, dev=job.dev.examples, settings=settings), turns

    def _sequences(
        self, turns: TurnTokens, examples: Sequence[Example], relevance: Relevance | None, run: int
    ) -> Sequences:
        from dragoman.train.unified.sequences import Sequences
        from dragoman.train.unified.training_trees import DrawOptions

        job, inputs, loss = self._job, self._input, self._model.loss
        drawing = DrawOptions(
            job.recipe.train.seed,
            inputs.candidates,
            inputs.distractors,
            inputs.noise,
            check=loss.check > 0,
            closed=loss.over == "options",
            answer=loss.response > 0,
            share=inputs.share,
            run=run,
        )
        shared = {
            passage.id: passage for corpus in (job.train, job.dev, job.aux) if corpus for passage in corpus.passages
        }
        return Sequences(
            turns,
            drawing,
            orders=orders_of,
            shared=tuple(shared.values()),
            relevance=relevance,
            by_gold=self._by_gold(examples, relevance),
            weights=self._plan_weights(examples),
        )

    def _talks(self) -> bool:
        """Whether training had replies to turns without sources, also by likely plans from labels."""
        from dragoman.train.unified.candidates import with_likely_labels

        relevance = self._relevance(self._unnamed)
        learned = (
            example if relevance is None else with_likely_labels(example, relevance) for example in self._unnamed
        )
        return any(example.gold.plan == () and example.gold.reply for example in learned)

    def _relevance(self, examples: Sequence[Example]) -> Relevance | None:
        if not self._labels:
            return None
        from dragoman.train.relevance.label_file import read_relevance

        cut = any("cut" in origin for origin in self._job.dev.origin)
        return read_relevance(self._labels, examples, partial=cut, gold=self._input.unlabelled == "gold")

    def _by_gold(self, examples: Sequence[Example], relevance: Relevance | None) -> frozenset[str]:
        """Return the turns without relevance labels that are trained on gold."""
        if relevance is None or self._input.unlabelled != "gold":
            return frozenset()
        labelled = {turn for turn, _ in relevance}
        return frozenset(example.id for example in examples if example.id not in labelled)

    def _plan_weights(self, examples: Sequence[Example]) -> dict[Order, float]:
        """Return the weight of each plan: `balance.weight` is "none", "balanced", or a power between."""
        from dragoman.train.unified.losses import class_weights

        weight = self._job.recipe.balance.weight
        power = {"none": 0.0, "balanced": 1.0}[weight] if isinstance(weight, str) else float(weight)
        plans = [example.gold.plan for example in examples if example.gold.plan is not None]
        if len(plans) < LEAST:
            raise TrainingError(
                f"There are only {len(plans)} training turns with a plan.",
                remedy=f"Give at least {LEAST} with 'plan': the sources to ask, [] for none.",
            )
        return class_weights(plans, power=power)

    def _light(self, turns: TurnTokens) -> tuple[str, ...]:
        """Write the adapter for llama.cpp, if it can run the model."""
        from dragoman.models.llamacpp.gguf_adapter import write_gguf_adapter

        table, folder = self._model, self._job.folder
        base = catalogue.path(table.base)
        can = table.weights == "lora" and table.layout != "paper" and turns.spelling.way != "rows" and is_gguf(base)
        if table.light == "none" or not can:
            (folder / LIGHT_ADAPTER).unlink(missing_ok=True)
            return ()
        write_gguf_adapter(folder, base, precision=table.light)
        return (LIGHT_ADAPTER,)

    def _calibrated(self, outcomes: Sequence[TurnOutcome], turns: TurnTokens, names: tuple[str, ...]) -> Part:
        """Return the part with plan offsets and calibrations fitted on dev, before it is written."""
        from dragoman.train.export.export_and_calibrate import made_from
        from dragoman.train.unified.measures import measures

        job, table = self._job, self._model
        metrics = measures(outcomes, table.loss.model_dump(exclude={"soft", "over"}))
        dialogues = {example.id: example.context.dialogue for example in job.dev.examples}
        share = plan_share(outcomes)
        offsets, figures = plan_offsets(outcomes, dialogues, share=share)
        options: dict[str, Any] = {
            "shape": self._shape.to_json(),
            "spelling": turns.spelling.to_json(),
            "base": table.base,
            "base_sha256": base_digest(table.base),
            "end": turns.end,
            "offsets": offsets,
            "average": share,
            "weights": table.weights,
            "talks": self._talks(),
        }
        made = made_from(job, metrics | figures) | {
            "base": table.base,
            "runtime": "llamacpp" if LIGHT_ADAPTER in names else "torch",
        }
        heads = {SIMILARITY: similarity_calibrations(outcomes, job.recipe.calibrate.method)}
        return Part(job.folder, KIND, heads, options, made=made)

    def _ended(self, part: Part, names: tuple[str, ...], task: UnifiedTask) -> Part:
        """Add the fitted bias on the end of responses to a part, where `model.endings` asks for it.

        Meanwhile a copy of the part lies in a folder of its own and shares the files, so that a training that is
        stopped here does not count as finished.
        """
        from dragoman.models.unified.loading import Device, open_unified
        from dragoman.train.unified.length_bias import ENOUGH_TURNS, fit_length_bias

        turns = task.answered(max(self._model.endings, ENOUGH_TURNS)) if self._model.endings else []
        if not turns:
            return part
        job = self._job
        job.report(Progress("Fitting the end of responses", 0, 1))
        device: Device = "cuda" if job.device.startswith("cuda") else "cpu"
        trial = job.folder / _TRIAL
        trial.mkdir(exist_ok=True)
        write_part(replace(part, folder=trial, shares=PARENT), names)
        runtime = open_unified(trial, runtime="torch", device=device).runtime
        bias = fit_length_bias(runtime, turns, max_tokens=self._shape.response)
        rmtree(trial)
        low, high = bias.interval
        ratios = {"ending/before": bias.before, "ending/low": low, "ending/high": high, "ending/after": bias.after}
        made = {**part.made, "metrics": {**part.made["metrics"], **ratios}}
        return replace(part, options={**part.options, "ending": bias.value}, made=made)

    def _refuse_unknown_metric(self) -> None:
        """Raise an error for an unknown `train.metric` before training."""
        from dragoman.train.unified.measures import measure_names

        metric, names = self._job.recipe.train.metric, measure_names(self._shape.grammar.sources)
        if metric not in names:
            raise UnknownNameError("train.metric", metric, names, remedy="Set one of these.")

    def _refuse_small_window(self) -> None:
        """Raise an error for a window without room for the evidence, a response and a little of the dialogue."""
        inputs = self._input
        deep = 2 if any(source.needs for source in self._sources) else 1
        needed = max(deep * (inputs.candidate + 8), inputs.candidate + inputs.response) + 32
        if needed > inputs.window:
            raise ConfigError(
                f"A window of {inputs.window} tokens has no room for evidence of {inputs.candidate}, a response of "
                f"{inputs.response} and the dialogue.",
                remedy=f"Set input.window to {needed} or more, or lower input.candidate and input.response.",
            )


def _remembering(encode: Any) -> Any:
    """Cache the tokens of texts, which return in every epoch."""
    cache: dict[str, list[int]] = {}

    def remembered(text: str) -> list[int]:
        if text not in cache:
            cache[text] = encode(text)
        return cache[text]

    return remembered
