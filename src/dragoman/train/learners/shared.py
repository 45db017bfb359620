"""Learner of one trunk with several heads: gate, gate with reply, relevance, consistency; trains the shipped model.

Each head trains on the examples with its labels; the resulting parts have their own folders and share one model file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import Field

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.critic import nli
from dragoman.gate import encoder as gate
from dragoman.models.part import PARENT, Part, write_part
from dragoman.retriever import trained
from dragoman.train.checks import check_sides
from dragoman.train.contract import Corpus, Job, Task
from dragoman.train.labelled_turns import gate_labels, gate_side
from dragoman.train.recipe_tables import RecipeTable, TrunkTable, typed
from dragoman.train.registry import learners

if TYPE_CHECKING:
    from dragoman.models.onnx.scorer import Scorer
    from dragoman.models.torch.trunk import Tokens, Trunk
    from dragoman.train.export.export_and_calibrate import Held

Name: TypeAlias = Literal["gate", "reply", "relevance", "critic"]
KIND = "shared"
_HEADS: Mapping[Name, str] = {"gate": gate.HEAD, "reply": "reply", "relevance": trained.HEAD, "critic": nli.HEAD}
_KINDS: Mapping[Name, str] = {"gate": gate.KIND, "reply": gate.KIND, "relevance": trained.CROSS, "critic": nli.KIND}
_DECIDING: Mapping[Name, str] = {"gate": "auc", "reply": "auc", "relevance": "hit@1", "critic": "accuracy"}


class SharedInput(RecipeTable):
    """Heads, their weights, and their own recipe tables (`tables.gate.input.turns = 4`)."""

    heads: dict[Name, float] = Field(min_length=1)
    tables: dict[Name, dict[str, dict[str, Any]]] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Study:
    """One head: its task and rows, calibration data, and options of its part."""

    task: Task
    rows: int
    held: Held
    options: Mapping[str, Any]
    measure: Callable[[Scorer], float]


@learners.register(KIND)
class SharedLearner:
    """Trains a model with several heads, and a part for each."""

    def fit(self, job: Job) -> Part:
        from dragoman.train.export.export_and_calibrate import export_and_calibrate
        from dragoman.train.loop.multi_task import MEAN, MixedTask
        from dragoman.train.loop.training_loop import fit

        inputs, model = typed(SharedInput, job.recipe.input, "input"), typed(TrunkTable, job.recipe.model, "model")
        for name in inputs.heads:
            sides = [_replied(side) if name == "reply" else side for side in (job.train, job.dev)]
            check_sides(_KINDS[name], *sides)
        trunk, tokens = model.open({_HEADS[name]: 1 for name in inputs.heads}, seed=job.recipe.train.seed)
        studies: dict[Name, Study] = {
            name: _STUDIES[name](_own(job, inputs.tables.get(name, {})), trunk, tokens) for name in inputs.heads
        }
        task = MixedTask(
            trunk,
            {name: (study.task, study.rows) for name, study in studies.items()},
            deciding={name: _DECIDING[name] for name in studies},
            weights={str(name): weight for name, weight in inputs.heads.items()},
            seed=job.recipe.train.seed,
        )
        metrics = fit(task, job)

        def completed(whole: Part, _: Scorer) -> Part:  # before the whole: a finished folder has all of its parts
            for name, study in studies.items():
                _write(whole, name, study)
            return whole

        return export_and_calibrate(
            trunk,
            tokens,
            job,
            kind=KIND,
            heads={_HEADS[name]: study.held for name, study in studies.items()},
            options={},
            max_tokens=model.max_tokens,
            measure=lambda scorer: sum(study.measure(scorer) for study in studies.values()) / len(studies),
            metrics={name: value for name, value in metrics.items() if "/" in name or name == MEAN},
            base=model.base,
            completed=completed,
        )


def _write(whole: Part, name: Name, study: Study) -> Part:
    """Write the part of one head, which shares the model."""
    head = whole.head(_HEADS[name])
    own = {gate.HEAD: "reply"} if name == "reply" else {}
    inner = gate.HEAD if name == "reply" else _HEADS[name]
    metrics = {
        key.partition("/")[2]: value
        for key, value in whole.made["metrics"].items()
        if key.partition("/")[0] in (name, _HEADS[name])
    }
    folder = whole.folder / name
    folder.mkdir(exist_ok=True)
    options = {**study.options, "max_tokens": whole.options["max_tokens"]} | ({"outputs": own} if own else {})
    made = {**whole.made, "metrics": metrics}
    return write_part(Part(folder, _KINDS[name], {inner: head}, options, {}, made, shares=PARENT), tuple(whole.files))


def _own(job: Job, tables: Mapping[str, Mapping[str, Any]]) -> Job:
    """Return the job with a head's own recipe tables."""
    recipe = job.recipe.model_copy(
        update={
            "input": dict(tables.get("input", {})),
            "model": dict(tables.get("model", {})),
            "balance": job.recipe.balance.model_copy(update=dict(tables.get("balance", {}))),
            "train": job.recipe.train.model_copy(update=dict(tables.get("train", {}))),
        }
    )
    return replace(job, recipe=recipe)


def _gate(job: Job, trunk: Trunk, tokens: Tokens, *, head: str = gate.HEAD, reply: bool = False) -> Study:
    from dragoman.train.export.export_and_calibrate import Held
    from dragoman.train.learners.gate_encoder import EncoderGateInput, example_texts
    from dragoman.train.loop.text_task import TextTask

    inputs = typed(EncoderGateInput, {**job.recipe.input, "reply": reply}, "input.tables.gate.input")
    sides = [_replied(side) if reply else side for side in (job.train, job.dev)]
    train, dev = gate_side(sides[0], "training"), gate_side(sides[1], "dev")
    options = {"view": inputs.view(job).to_json()} | ({"reply": True} if reply else {})
    texts, truth = example_texts(dev.examples, options), gate_labels(dev.examples)
    task = TextTask(
        trunk,
        tokens,
        example_texts(train.examples, options),
        gate_labels(train.examples),
        head=head,
        dev_texts=texts,
        dev_labels=truth,
        recipe=job.recipe,
        device=job.device,
    )
    held = Held((gate.LABEL,), texts, truth, sets=[example.context.scope.tenant for example in dev.examples])
    return Study(task, len(train.examples), held, options, lambda scorer: _auc(scorer, held, head))


def _reply(job: Job, trunk: Trunk, tokens: Tokens) -> Study:
    return _gate(job, trunk, tokens, head="reply", reply=True)


def _replied(corpus: Corpus) -> Corpus:
    """Return the turns of sets in which both classes have replies; elsewhere a reply reveals the label."""
    by_set: dict[str, set[bool]] = {}
    for example in corpus.examples:
        if example.gold.reply is not None and example.gold.retrieve is not None:
            by_set.setdefault(example.context.scope.tenant, set()).add(example.gold.retrieve)
    rows = [
        example
        for example in corpus.examples
        if example.gold.reply is not None and len(by_set.get(example.context.scope.tenant, ())) == 2
    ]
    if not rows:
        raise TrainingError(
            "No set has replies to turns that need something and to turns that do not.",
            remedy="Give one that has, or leave the head 'reply' out.",
        )
    return replace(corpus, examples=tuple(rows))


def _relevance(job: Job, trunk: Trunk, tokens: Tokens) -> Study:
    from dragoman.train.export.export_and_calibrate import Held
    from dragoman.train.learners.retriever_cross import CrossModel, ExportedReading
    from dragoman.train.loop.checkpoint import identity
    from dragoman.train.ranking.cross_encoder import CrossTask
    from dragoman.train.ranking.negatives import Mined
    from dragoman.train.ranking.recipe_part import LABEL, Input, analyser, labels, ranking_questions, small

    inputs = typed(Input, job.recipe.input, "input.tables.relevance.input")
    spec = typed(CrossModel, job.recipe.model, "input.tables.relevance.model")
    own = sorted(spec.model_fields_set & {*TrunkTable.model_fields, "runs"})
    if own:
        raise ConfigError(
            f"input.tables.relevance.model sets {', '.join(own)}, and all heads share one encoder.",
            remedy="Leave it out there: [model] says which encoder it is.",
        )
    seed = job.recipe.train.seed
    train, dev = ranking_questions(job, inputs)
    analyse = analyser(job.train)
    task = CrossTask(
        trunk,
        tokens,
        train,
        small(dev, analyse, most=30_000, seed=seed),
        recipe=job.recipe,
        negatives=spec.negatives(),
        judging=spec.judging,
        positives=spec.positives,
        mined=Mined(job.folder, identity(job)),
        analyse=analyse,
        device=job.device,
    )
    judged = small(dev, analyse, most=6_000, seed=seed)
    reading = ExportedReading(judged)
    held = Held((LABEL,), (), [float(right) for right in labels(judged)], scores=reading.scores)
    return Study(task, len(train.questions), held, inputs.model_dump(), reading.hit)


def _critic(job: Job, trunk: Trunk, tokens: Tokens) -> Study:
    from dragoman.train.critic.groundings import every_kind, labelled
    from dragoman.train.export.export_and_calibrate import Held
    from dragoman.train.learners.critic_nli import Judge, NliInput, found_pairs
    from dragoman.train.loop.text_task import TextTask

    inputs = typed(NliInput, job.recipe.input, "input.tables.critic.input")
    seed = job.recipe.train.seed
    rows = labelled(
        found_pairs(job.train, "train", single=inputs.single),
        negatives=inputs.negatives,
        shares=inputs.shares,
        echo=inputs.echo,
        seed=seed,
    )
    judge = Judge(every_kind(found_pairs(job.dev, "dev", single=inputs.single), seed=seed), job)
    task = TextTask(
        trunk,
        tokens,
        [row.texts for row in rows],
        [float(row.consistent) for row in rows],
        head=nli.HEAD,
        dev_texts=judge.texts,
        dev_labels=[float(row.consistent) for row in judge.rows],
        recipe=job.recipe,
        device=job.device,
        measure=lambda scores: judge.measured([float(score) for score in scores[:, 0]]),
    )
    chosen = judge.chosen
    truth = [float(judge.rows[i].consistent) for i in chosen]
    # as many consistent pairs as others: even odds decide
    held = Held((nli.HEAD,), [judge.texts[i] for i in chosen], truth, threshold=0.5)
    return Study(task, len(rows), held, {}, judge.deciding)


_STUDIES: Mapping[Name, Callable[[Job, Trunk, Tokens], Study]] = {
    "gate": _gate,
    "reply": _reply,
    "relevance": _relevance,
    "critic": _critic,
}


def _auc(scorer: Scorer, held: Held, head: str) -> float:
    from sklearn.metrics import roc_auc_score

    scores: Sequence[float] = scorer.scores(held.texts, head)[:, 0].tolist()
    return float(roc_auc_score([float(value) > 0.5 for value in held.truth], scores))  # type: ignore[arg-type]
