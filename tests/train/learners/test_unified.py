"""The learner of unified models: from labelled turns to a part that the roles run."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from dragoman.core.errors import ConfigError, InputError, TrainingError, UnknownNameError, WeightsError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Passage, Source
from dragoman.models.part import open_part
from dragoman.models.unified.loading import open_unified
from dragoman.train.contract import Corpus, Job
from dragoman.train.learners.unified import UnifiedLearner, _UnifiedTraining
from dragoman.train.spec import Recipe
from dragoman.train.unified.task import UnifiedTask

SOURCES = (Source("TIMES", "when boats leave"), Source("PRICES", "what boats cost", needs=("TIMES",)))
CANDIDATES = (
    Passage("a", "TIMES", "The boat leaves at nine."),
    Passage("b", "TIMES", "The train leaves at ten."),
    Passage("c", "PRICES", "The boat is free.", parent="a"),
    Passage("d", "PRICES", "The train is not.", parent="b"),
)
KINDS = (("when boat", ("TIMES",), ("a",)), ("hello the", (), ()), ("price boat", ("TIMES", "PRICES"), ("a", "c")))


def examples(count, side):
    found = []
    for n in range(count):
        said, plan, evidence = KINDS[n % 3]
        context = Context.of(f"{said} {n}?", dialogue=f"{side}-{n}")
        found.append(Example(f"{side}-{n}", context, SOURCES, CANDIDATES, Gold(bool(plan), plan, evidence, "Yes.")))
    return tuple(found)


@pytest.fixture(scope="module")
def jobs(tiny_causal):
    def make(folder, *, train=None, dev=None, model=None, input=None, loop=None, **tables):
        recipe = {
            "kind": "unified",
            "input": {"window": 256, "candidate": 24, "response": 16, "turns": 2, **(input or {})},
            "model": {"base": str(tiny_causal), "tokens": "rows", "rank": 4, "batch_tokens": 2048, **(model or {})},
            "train": {"epochs": 1, "batch": 8, "rate": 0.01, "metric": "score", **(loop or {})},
            **tables,
        }
        sides = [Corpus((), examples(24, "train")), Corpus((), examples(12, "dev"))]
        chosen = [sides[0] if train is None else train, sides[1] if dev is None else dev]
        folder.mkdir(exist_ok=True)
        return Job(Recipe.model_validate(recipe), *chosen, folder)

    return make


@pytest.fixture
def job(jobs, tmp_path):
    return lambda **options: jobs(tmp_path / "out", **options)


@pytest.fixture(scope="module")
def learned(jobs, tmp_path_factory):
    """A part that was trained until it plans."""
    given = {"loop": {"epochs": 12, "rate": 0.02}, "model": {"weights": "full", "loss": {"over": "options"}}}
    return UnifiedLearner().fit(jobs(tmp_path_factory.mktemp("learned"), **given))


def test_a_model_learns_to_plan_and_the_part_runs(learned):
    metrics = learned.made["metrics"]
    assert metrics["plan/f1"] > 0.9 and metrics["check/f1"] > 0.9
    opened = open_unified(learned.folder, runtime="torch", device="cpu")
    orders = ((), ("TIMES",), ("TIMES", "PRICES"))
    unseen = [Context.of("when boat 77?"), Context.of("hello the 78?"), Context.of("price boat 79?")]
    plans = opened.runtime.plan(unseen, orders)
    assert [max(one, key=one.get) for one in plans] == [("TIMES",), (), ("TIMES", "PRICES")]


def test_the_part_says_all_that_running_it_needs(learned, tiny_causal):
    part = open_part(learned.folder, kind="unified")
    assert part.options["shape"]["sources"] == ["TIMES", "PRICES"]
    assert part.options["base"] == str(tiny_causal) and len(part.options["base_sha256"]) == 64
    assert part.options["weights"] == "full" and set(part.files) == {"model.safetensors"}
    assert part.options["end"] == 1 and part.options["talks"] is True
    assert set(part.options["offsets"]) == {"context", "check", "average"}
    head = part.head("similarity")
    assert head.labels == ("similar",) and "similar" in head.calibrations
    assert {"offsets/context/before", "offsets/context/folds"} <= set(part.made["metrics"])


def test_a_part_whose_turns_have_no_reply_without_evidence_does_not_talk(job):
    mute = [one if one.gold.plan else replace(one, gold=replace(one.gold, reply=None)) for one in examples(24, "train")]
    part = UnifiedLearner().fit(job(train=Corpus((), tuple(mute)), model={"rank": 2}))
    assert part.options["talks"] is False


@pytest.mark.slow
def test_the_end_of_responses_is_fitted_where_that_is_wanted(job):
    part = UnifiedLearner().fit(job(model={"rank": 2, "endings": 4}))
    metrics = part.made["metrics"]
    assert abs(metrics["ending/after"] - 1) <= abs(metrics["ending/before"] - 1)
    assert open_unified(part.folder, runtime="torch", device="cpu").ending == part.options["ending"]
    assert not (part.folder / "work").exists()


@pytest.mark.slow
def test_a_part_that_was_stopped_while_its_end_was_fitted_is_not_finished(jobs, tmp_path, monkeypatch):
    from dragoman.train.unified import length_bias

    fit_ending = length_bias.fit_length_bias
    given = {"model": {"rank": 2, "endings": 4}}

    def stopped(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(length_bias, "fit_length_bias", stopped)
    with pytest.raises(KeyboardInterrupt):
        UnifiedLearner().fit(jobs(tmp_path / "stopped", **given))
    assert not (tmp_path / "stopped" / "part.json").exists()
    monkeypatch.setattr(length_bias, "fit_length_bias", fit_ending)
    again = UnifiedLearner().fit(jobs(tmp_path / "stopped", **given))
    whole = UnifiedLearner().fit(jobs(tmp_path / "whole", **given))
    assert (again.files, again.options) == (whole.files, whole.options)


@pytest.mark.parametrize(
    ("style", "layout", "tokens"), [("unims", "paper", "rows"), ("unims", "plain", "rows"), ("safari", "plain", "text")]
)
def test_other_layouts_and_grammars_train(job, style, layout, tokens):
    part = UnifiedLearner().fit(job(model={"style": style, "layout": layout, "tokens": tokens, "rank": 2}))
    assert part.options["shape"]["layout"] == layout and part.options["spelling"]["way"] == tokens
    assert ("hit@1" in part.made["metrics"]) == (style == "unims")
    assert set(part.options["offsets"]) == {"context"}


def test_the_same_seed_learns_the_same_weights_and_a_finished_training_is_not_repeated(jobs, tmp_path):
    first = UnifiedLearner().fit(jobs(tmp_path / "one"))
    second = UnifiedLearner().fit(jobs(tmp_path / "two"))
    assert first.files == second.files  # by their hashes
    log = (tmp_path / "one" / "log.jsonl").read_text()
    again = UnifiedLearner().fit(jobs(tmp_path / "one"))
    assert again.files == first.files and (tmp_path / "one" / "log.jsonl").read_text() == log


@pytest.mark.slow
def test_the_mean_of_several_runs_is_the_mean_of_their_weights(jobs, tmp_path):
    given = {"weights": "full", "runs": 2}
    part = UnifiedLearner().fit(jobs(tmp_path / "mean", model=given))
    runs = [load_file(tmp_path / "mean" / f"run-{n}" / "best.safetensors") for n in (1, 2)]
    name = next(name for name in runs[0] if "q_proj" in name)
    assert not torch.equal(runs[0][name], runs[1][name])  # each took turns in an order of its own
    mean = ((runs[0][name].double() + runs[1][name].double()) / 2).float()
    assert torch.equal(load_file(part.folder / "model.safetensors")[name], mean.bfloat16())
    alone = UnifiedLearner().fit(jobs(tmp_path / "alone", model={"weights": "full"}))
    assert torch.equal(load_file(tmp_path / "alone" / "best.safetensors")[name], runs[0][name])
    log = (tmp_path / "mean" / "run-2" / "log.jsonl").read_text()
    logged = [json.loads(line)["dev"]["loss"] for line in log.splitlines() if '"dev"' in line]
    assert part.made["metrics"]["loss"] not in (alone.made["metrics"]["loss"], *logged)  # dev was read by the mean
    again = UnifiedLearner().fit(jobs(tmp_path / "mean", model=given))
    assert again.files == part.files and (tmp_path / "mean" / "run-2" / "log.jsonl").read_text() == log


@pytest.mark.slow
def test_runs_of_an_adapter_are_measured_on_the_same_turns(jobs, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(UnifiedTask, "outcomes", _noting(UnifiedTask.outcomes, seen))
    part = UnifiedLearner().fit(jobs(tmp_path / "mean", model={"rank": 2, "runs": 2, "measured": 4, "dropout": 0.1}))
    assert len(seen) == 3 and len({*seen}) == 1 and len(seen[0]) == 4
    name = "adapter_model.safetensors"
    adapters = [load_file(tmp_path / "mean" / f"run-{n}" / "best.safetensors") for n in (1, 2)]
    key = next(key for key in adapters[0] if "lora_B" in key and adapters[0][key].abs().sum() > 0)
    saved = load_file(part.folder / name)
    made = _product(saved, key.replace(".default", ""))
    wanted = (_product(adapters[0], key) + _product(adapters[1], key)) / 2
    missed = torch.linalg.svdvals(wanted)[2:].square().sum().sqrt()
    assert torch.linalg.matrix_norm(made - wanted) <= 1.01 * missed + 1e-7  # nothing of rank two is nearer


def _product(adapter, key):
    return adapter[key].double() @ adapter[key.replace("lora_B", "lora_A")].double()


def _noting(outcomes, seen):
    def noting(self, examples):
        seen.append(tuple(example.id for example in examples))
        return outcomes(self, examples)

    return noting


def test_what_lies_beside_an_adapter_is_small(job):
    part = UnifiedLearner().fit(job(model={"rank": 2}))
    assert set(part.files) == {"adapter_config.json", "adapter_model.safetensors", "rows.safetensors"}
    assert sum((part.folder / name).stat().st_size for name in part.files) < 40_000


@pytest.mark.slow
def test_recomputing_activations_changes_nothing(jobs, tmp_path):
    plain = UnifiedLearner().fit(jobs(tmp_path / "plain"))
    saved = UnifiedLearner().fit(jobs(tmp_path / "saved", model={"checkpointing": True}))
    assert saved.made["metrics"]["loss"] == pytest.approx(plain.made["metrics"]["loss"], abs=1e-4)


def test_a_loss_that_is_no_number_stops_with_its_rows(job, monkeypatch):
    from dragoman.train.unified.task import UnifiedTask

    monkeypatch.setattr(UnifiedTask, "loss", lambda self, batch: torch.tensor(float("nan"), requires_grad=True))
    with pytest.raises(TrainingError, match="The loss is nan in epoch 1, batch 1"):
        UnifiedLearner().fit(job())


def test_labels_of_other_data_are_refused(job, tmp_path):
    from dragoman.train.relevance.labelling import label_relevance
    from dragoman.train.relevance.methods import HardLabels

    corpus = Corpus((), examples(24, "train"))
    file = tmp_path / "labels.jsonl"
    label_relevance(corpus, HardLabels(), file)
    UnifiedLearner().fit(job(input={"relevance": str(file)}))
    changed = replace(corpus, examples=(replace(corpus.examples[0], candidates=CANDIDATES[:1]), *corpus.examples[1:]))
    with pytest.raises(InputError, match="do not fit the data"):
        UnifiedLearner().fit(job(train=changed, input={"relevance": str(file)}))


def test_label_files_are_looked_for_where_data_is(job, tmp_path, monkeypatch):
    from dragoman.train.relevance.labelling import label_relevance
    from dragoman.train.relevance.methods import HardLabels

    (tmp_path / "data").mkdir()
    label_relevance(Corpus((), examples(24, "train")), HardLabels(), tmp_path / "data" / "labels.jsonl")
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path / "data"))
    training = _UnifiedTraining(job(input={"relevance": ("labels.jsonl",)}))
    found = training._relevance(examples(24, "train"))
    assert found[("train-0", "a")] == 1.0
    with pytest.raises(InputError, match=r"There is no lables.jsonl nor .*data/lables.jsonl"):
        _UnifiedTraining(job(input={"relevance": "lables.jsonl"}))


def test_a_slip_in_the_metric_is_told_before_anything_is_loaded(job):
    with pytest.raises(UnknownNameError, match=r"plan/f2.*plan/f1"):
        UnifiedLearner().fit(job(loop={"metric": "plan/f2"}, model={"base": "nowhere"}))
    assert _UnifiedTraining(job(loop={"metric": "hit@1/PRICES"}))


def test_what_cannot_work_is_refused_before_anything_is_loaded(job):
    with pytest.raises(ConfigError, match="A window of 64 tokens has no room"):
        UnifiedLearner().fit(job(input={"window": 64, "candidate": 60}))
    with pytest.raises(ConfigError, match="no evidence mask"):
        UnifiedLearner().fit(job(model={"style": "safari", "layout": "paper"}))
    with pytest.raises(ConfigError, match="Weights of four bits cannot all be trained"):
        UnifiedLearner().fit(job(model={"weights": "full", "quantise": "4bit"}))
    with pytest.raises(TrainingError, match="only 3 training turns with a plan"):
        UnifiedLearner().fit(job(train=Corpus((), examples(3, "train"))))


def test_a_window_longer_than_the_bases_is_refused(job):
    with pytest.raises(ConfigError, match=r"input\.window = 2048 is more than the 1024 tokens"):
        UnifiedLearner().fit(job(input={"window": 2048}))


def test_a_tokenizer_that_splits_a_similarity_says_what_to_do(job, monkeypatch):
    from dragoman.models.unified.vocabularies import HfVocabulary

    monkeypatch.setattr(HfVocabulary, "encode", lambda self, text: [5, *map(ord, text)])
    with pytest.raises(WeightsError, match=r'splits the similarity .* model\.tokens = "rows"'):
        UnifiedLearner().fit(job(model={"tokens": "text"}))


def test_a_base_without_pad_and_eos_trains(jobs, tiny_causal, tmp_path):
    import shutil

    bare = tmp_path / "bare"
    shutil.copytree(tiny_causal, bare)
    for name in ("tokenizer_config.json", "config.json", "generation_config.json", "special_tokens_map.json"):
        if (bare / name).is_file():
            table = json.loads((bare / name).read_text())
            table = {key: value for key, value in table.items() if not key.startswith(("eos", "pad"))}
            (bare / name).write_text(json.dumps(table | ({"pad_token_id": None} if name == "config.json" else {})))
    part = UnifiedLearner().fit(jobs(tmp_path / "out", model={"base": str(bare)}))
    spelt = {name: ids for _, name, ids in part.options["spelling"]["ids"]}
    assert part.options["end"] in (spelt["EOS"][0], 1, 2)
    assert part.made["metrics"]["response/loss"] > 0
