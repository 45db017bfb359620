"""The learner of RAGate-PEFT: from labelled turns to a part that a gate runs."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Passage, Source
from dragoman.gate.tuned import TunedGate
from dragoman.models.part import open_part
from dragoman.testing import StubReader
from dragoman.train.contract import Corpus, Job
from dragoman.train.spec import Recipe

TIMES = Source("TIMES", "when boats leave")
SHARED = (Passage("a", "TIMES", "The boat leaves at nine."), Passage("b", "TIMES", "Tea is free."))


def turns(count, side):
    return tuple(
        Example(
            f"{side}-{n}",
            Context.of(f"{'when boat' if n % 2 else 'hello the'} {n}?", dialogue=f"{side}-{n}"),
            (TIMES,),
            gold=Gold(retrieve=bool(n % 2), reply="The boat leaves." if n % 2 else "Hello."),
        )
        for n in range(count)
    )


@pytest.fixture(scope="module")
def jobs(tiny_causal):
    def make(tmp_path, folder="out", *, train=None, dev=None, input=None, model=None, epochs=1, metric="auc", **tables):
        recipe = Recipe.model_validate(
            {
                "kind": "gate.tuned",
                "input": {"tokens": 256, **(input or {})},
                "model": {"base": str(tiny_causal), "rank": 2, "alpha": 8, "dropout": 0.0, **(model or {})},
                "train": {"epochs": epochs, "batch": 8, "rate": 0.02, "metric": metric},
                **tables,
            }
        )
        sides = [Corpus((), turns(24, "train"), SHARED), Corpus((), turns(12, "dev"), SHARED)]
        chosen = [sides[0] if train is None else train, sides[1] if dev is None else dev]
        return Job(recipe, *chosen, tmp_path / folder)

    return make


@pytest.fixture
def job(jobs, tmp_path):
    return lambda *args, **options: jobs(tmp_path, *args, **options)


@pytest.fixture(scope="module")
def learned(jobs, tmp_path_factory):
    """A part that was trained until it tells the turns apart."""
    folder = tmp_path_factory.mktemp("learned")
    return fit(jobs(folder, epochs=8, metric="loss", model={"over": "options"}))


def fit(job):
    from dragoman.train.learners.gate_tuned import TunedGateLearner

    return TunedGateLearner().fit(job)


def test_a_gate_learns_what_tells_the_turns_apart(learned, tiny_causal):
    part = open_part(learned.folder, kind="gate.tuned")
    assert part.made["metrics"]["auc"] == 1.0
    assert part.options["base"] == str(tiny_causal)
    gate = TunedGate(part=str(learned.folder))
    unseen = [Context.of("when boat 77?"), Context.of("hello the 78?")]
    assert [verdict.retrieve for verdict in gate.decide(unseen)] == [True, False]


def test_the_part_holds_the_adapter_and_not_the_base(learned):
    assert set(learned.files) == {"adapter_config.json", "adapter_model.safetensors"}
    assert (learned.folder / "adapter_model.safetensors").stat().st_size < 40_000


def test_the_gate_scores_as_the_learner_measured(learned):
    verdicts = TunedGate(part=str(learned.folder)).decide([example.context for example in turns(12, "dev")])
    said = [verdict.retrieve for verdict in verdicts]
    hits = sum(yes for n, yes in enumerate(said) if n % 2)
    expected = 2 * hits / (sum(said) + 6)
    assert learned.made["metrics"]["f1"] == pytest.approx(expected)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(["contx", "resp"], marks=pytest.mark.slow),
        pytest.param(["contx", "syn-resp", "ner"], marks=pytest.mark.slow),
        ["contx", "syn-resp", "ner", "know"],
        pytest.param(["contx", "syn-resp", "ner", "source"], marks=pytest.mark.slow),
    ],
    ids="-".join,
)
def test_the_papers_other_combinations_train_and_decide(job, fields):
    made = fit(job(input={"fields": fields, "draft_tokens": 3}))
    gate = TunedGate(part=str(made.folder), reader=StubReader(), sources=(TIMES,))
    assert gate.reads_evidence == ("know" in fields)
    assert len(gate.decide([Context.of("when boat 3?")], [()])) == 1
    assert (made.folder / "drafts.jsonl").is_file() == ("syn-resp" in fields)


def test_folds_score_every_training_turn_by_a_model_that_did_not_see_it(job):
    made = fit(job(calibrate={"folds": 2}))
    assert {"folds/f1", "folds/auc"} <= set(made.made["metrics"])
    scores = json.loads((made.folder / "fold-0" / "scores.json").read_text())["scores"]
    assert len(scores) == 12


def test_the_same_seed_learns_the_same_weights_and_a_finished_training_is_not_repeated(job):
    made = fit(job())
    log = (made.folder / "log.jsonl").read_text()
    assert fit(job()).files == made.files
    assert (made.folder / "log.jsonl").read_text() == log
    assert fit(job("again")).files["adapter_model.safetensors"] == made.files["adapter_model.safetensors"]


def test_one_class_and_wrong_tables_are_refused_before_anything_runs(job):
    alike = tuple(example for example in turns(60, "train") if example.gold.retrieve)
    with pytest.raises(TrainingError, match="same label"):
        fit(job(train=Corpus((), alike)))
    with pytest.raises(ConfigError, match="rnk"):
        fit(job(model={"rnk": 3}))
    with pytest.raises(ConfigError, match="fields"):
        fit(job(input={"fields": ["context"]}))


def test_the_recipe_that_ships_has_the_papers_adapter():
    import tomllib

    from dragoman.train.learners.gate_tuned import TunedInput, TunedModelTable
    from dragoman.train.recipe_tables import typed

    told = (files("dragoman.train") / "recipes" / "gate-tuned.toml").read_text(encoding="utf-8")
    recipe = Recipe.model_validate(tomllib.loads(told))
    model = typed(TunedModelTable, recipe.model, "model")
    assert (model.rank, model.alpha, model.targets, recipe.train.rate) == (16, 64, "all-linear", 2e-4)
    assert typed(TunedInput, recipe.input, "input").fields == ("contx",)


@pytest.mark.slow
@pytest.mark.integration
def test_smollm2_is_tuned_in_a_few_steps_and_runs_without_torch_in_llama_cpp(tmp_path):
    """The scores of the two runtimes are those of the same adapter."""
    from dragoman.gate.inputs import Inputs
    from dragoman.gate.tuned import tuned_prompts
    from dragoman.models.adapter_chooser import Chooser
    from dragoman.train.gates.inputs import gate_examples

    recipe = Recipe.model_validate(
        {"kind": "gate.tuned", "train": {"epochs": 2, "batch": 8, "rate": 5e-4, "warmup": 0.0, "metric": "auc"}}
    )
    made = fit(Job(recipe, Corpus((), turns(24, "train")), Corpus((), turns(12, "dev")), tmp_path))
    assert made.made["metrics"]["auc"] > 0.9
    assert "adapter.gguf" in made.files
    part = open_part(tmp_path)
    inputs = Inputs.from_json(part.options["inputs"])
    asked = tuned_prompts(inputs, gate_examples(Corpus((), turns(12, "dev")), inputs))
    light, heavy = Chooser(part), Chooser(part, runtime="torch")
    try:
        pairs = list(zip(light.scores(asked), heavy.scores(asked), strict=True))
    finally:
        light.close()
    spread = max(score for score, _ in pairs) - min(score for score, _ in pairs)
    assert max(abs(one - other) for one, other in pairs) < 0.25 * spread, pairs
