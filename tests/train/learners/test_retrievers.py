"""Bi- and cross-encoders learned from turns with evidence, exported, and used by the retrievers."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.train.agreeing import assert_agrees

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Passage, Request, Scope, Source
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.part import open_part
from dragoman.models.torch.trunk import embed
from dragoman.retriever import DenseRetriever, RerankRetriever
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import analyse
from dragoman.train.contract import Corpus, Job
from dragoman.train.export.trunk import export_part, rebuilt
from dragoman.train.registry import learners
from dragoman.train.spec import Recipe

MEANT = {"boat": "ferry", "cup": "tea", "ruin": "castle", "fish": "market", "train": "station", "bed": "hotel"}
WORDS = " ".join(("what of the is here there open", *MEANT, *MEANT.values()))
NOTES = Source("NOTES", private=True)
SCOPE = Scope("t", "d")


def corpus(count, seed, *, marked=False):
    """What is asked for shares no word with what is right: it must be learned. Or, `marked`, the right one is open,
    which even a random net with one layer learns from pairs in a moment."""
    dice = random.Random(seed)
    examples = []
    for i in range(count):
        asked = dice.choice(list(MEANT))
        offered = [*dice.sample([name for name in MEANT if name != asked], 3), asked]
        dice.shuffle(offered)
        dialogue = f"s{seed}-{i}"
        pool = tuple(
            Passage(
                f"{dialogue}/{name}",
                "NOTES",
                f"the {MEANT[name]} is {'open' if marked and name == asked else 'here'}",
                position=place,
            )
            for place, name in enumerate(offered)
        )
        context = Context.of(
            "what is there", "here", f"what of the {asked}", scope=Scope("t", dialogue), dialogue=dialogue
        )
        gold = Gold(True, ("NOTES",), (f"{dialogue}/{asked}",))
        examples.append(Example(f"{dialogue}#1", context, (NOTES,), pool, gold))
    return Corpus((), tuple(examples))


def job(folder, base, kind, *, model=None, train=None, given=None, **recipe):
    tables = {
        "kind": kind,
        "input": {"query": "last", "dependency": "off", **(given or {})},
        "model": {"base": str(base), "max_tokens": 24, "dropout": 0.0, **(model or {})},
        "train": {"epochs": 4, "batch": 8, "rate": 3e-3, "metric": "hit@1", "save": 3, **(train or {})},
        **recipe,
    }
    marked = kind == "retriever.cross"
    return Job(Recipe.model_validate(tables), corpus(60, 1, marked=marked), corpus(40, 2, marked=marked), folder)


@pytest.fixture(scope="module")
def base(make_bert):
    return make_bert(words=WORDS, layers=1)


@pytest.fixture(scope="module")
def bi(base, tmp_path_factory):
    given = job(
        tmp_path_factory.mktemp("bi"),
        base,
        "retriever.bi",
        model={"words": 1, "mined": 1},
        train={"epochs": 8, "rate": 1e-2},
        given={"query": "mix"},
    )
    return learners.create("retriever.bi").fit(given)


@pytest.fixture(scope="module")
def cross(base, tmp_path_factory):
    given = job(tmp_path_factory.mktemp("cross"), base, "retriever.cross", train={"epochs": 4})
    return learners.create("retriever.cross").fit(given)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "query"), [("retriever.bi", "mix"), ("retriever.cross", "last")])
def test_the_mean_of_several_runs_is_the_mean_of_their_weights(kind, query, base, tmp_path):
    def made(name, runs):
        given = job(tmp_path / name, base, kind, model={"runs": runs}, train={"epochs": 1}, given={"query": query})
        return given, learners.create(kind).fit(given)

    given, part = made("mean", 2)
    runs = [load_file(tmp_path / "mean" / f"run-{n}" / "best.safetensors") for n in (1, 2)]
    name = next(name for name in runs[0] if name.endswith("query.weight"))
    assert not torch.equal(runs[0][name], runs[1][name])  # each took questions in an order of its own
    trunk, *_ = rebuilt(part.folder)
    learned = dict(trunk.named_parameters())[name]
    assert torch.allclose(learned, (runs[0][name] + runs[1][name]) / 2, atol=1e-6)
    _, alone = made("alone", 1)
    assert torch.equal(load_file(tmp_path / "alone" / "best.safetensors")[name], runs[0][name])
    assert "hit@1" in part.made["metrics"]
    log = (tmp_path / "mean" / "run-2" / "log.jsonl").read_text()
    assert learners.create(kind).fit(given).files == part.files
    assert (tmp_path / "mean" / "run-2" / "log.jsonl").read_text() == log
    assert alone.files != part.files


def hits(retrieve, turns):
    """The share of turns whose first passage is the right one."""
    found = [retrieve(example) for example in turns.examples]
    right = [pieces[0].id == example.gold.evidence[0] for pieces, example in zip(found, turns.examples, strict=True)]
    return sum(right) / len(right)


def dense(encoder, example, **options):
    store = InMemoryStore(analyse=analyse)
    rows = example.candidates
    store.put(example.context.scope, rows, encoder.encode([row.indexed for row in rows]))
    return DenseRetriever(store=store, encoder=encoder, analyse=analyse, **options)


@pytest.mark.slow
def test_a_learned_bi_encoder_finds_what_shares_no_word(bi):
    folder = str(bi.folder)
    encoder = OnnxEncoder(weights=folder)

    def retrieve(example):
        return dense(encoder, example, part=folder).retrieve([Request(example.context, (NOTES,), k=4)])[0]

    assert hits(retrieve, corpus(30, 3)) >= 0.9, "a quarter by chance"


@pytest.mark.slow
def test_relevance_is_calibrated_on_turns_that_were_not_trained_on(bi):
    """One of four is right: that is the mean relevance, and what is right has more of it."""
    folder = str(bi.folder)
    encoder = OnnxEncoder(weights=folder)
    right, wrong = [], []
    for example in corpus(20, 4).examples:
        for piece in dense(encoder, example, part=folder).retrieve([Request(example.context, (NOTES,), k=4)])[0]:
            (right if piece.id in example.gold.evidence else wrong).append(piece.relevance)
    assert np.mean(right + wrong) == pytest.approx(0.25, abs=0.08)
    assert np.mean(right) > 2 * np.mean(wrong)


@pytest.mark.slow
def test_the_encoder_reads_a_part_as_it_was_trained(bi):
    """The exported vectors are torch's, up to eight bits, at the part's own length."""
    trunk, tokens, _ = rebuilt(bi.folder)
    texts = ["what of the boat", "the ferry is here " * 20]
    expected = embed(trunk, tokens, texts).numpy()
    found = OnnxEncoder(weights=str(bi.folder)).encode(texts)
    assert (found * expected).sum(1) == pytest.approx([1.0, 1.0], abs=5e-3)


@pytest.mark.slow
def test_a_mix_is_learned_and_stored_with_the_part(bi):
    shares = bi.options["mix"]
    assert set(shares) == {"last", "history", "given"}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert all(abs(shares[name] - 1 / 3) > 1e-5 for name in ("last", "history")), "the shares moved"


def going_on(count, seed):
    """Two passages about what is asked, in words of their own; what is right is the one that no reply has told."""
    dice = random.Random(seed)
    examples = []
    for i in range(count):
        asked = dice.choice(list(MEANT))
        dialogue, told = f"g{seed}-{i}", dice.randrange(2)
        texts = [f"the {MEANT[asked]} is open", f"the {MEANT[asked]} is here"]
        pool = tuple(Passage(f"{dialogue}/{place}", "NOTES", text, position=place) for place, text in enumerate(texts))
        context = Context.of(
            f"what of the {asked}", texts[told], f"what of the {asked}", scope=Scope("t", dialogue), dialogue=dialogue
        )
        gold = Gold(True, ("NOTES",), (f"{dialogue}/{1 - told}",))
        examples.append(Example(f"{dialogue}#1", context, (NOTES,), pool, gold))
    return Corpus((), tuple(examples))


@pytest.mark.slow
@pytest.mark.parametrize(("said", "least", "most"), [(True, 0.9, 1.0), (False, 0.3, 0.7)])
def test_what_was_said_already_is_learned_to_count_less(base, tmp_path, said, least, most):
    given = job(
        tmp_path,
        base,
        "retriever.bi",
        model={"said": said, "layers": 1},
        train={"epochs": 8, "rate": 1e-2, "head_rate": 1e-2},
    )
    part = learners.create("retriever.bi").fit(replace(given, train=going_on(80, 1), dev=going_on(40, 2)))
    assert ("said" in part.options) == said
    assert not said or part.options["said"]["NOTES"]["slope"] > 0.2, "it began there"
    encoder = OnnxEncoder(weights=str(part.folder))

    def retrieve(example):
        return dense(encoder, example, part=str(part.folder)).retrieve([Request(example.context, (NOTES,), k=2)])[0]

    assert least <= hits(retrieve, going_on(40, 3)) <= most


@pytest.mark.slow
def test_a_part_says_how_it_is_asked_and_what_it_measured(bi, cross):
    assert bi.options["query"] == "mix"
    assert cross.options["query"] == "last"
    for part in (bi, cross):
        assert part.options["dependency"] == "off"
        assert part.made["metrics"]["hit@1"] >= 0.9
        assert {"hit@1/NOTES", "hit@1/NOTES/all", "mrr", "ece", "loss"} <= set(part.made["metrics"])
        assert open_part(part.folder).heads == part.heads


@pytest.mark.slow
def test_a_trained_folder_can_be_exported_anew(bi):
    part, exported = export_part(bi.folder, int8="always")
    assert exported.bits == 8
    assert part.heads == bi.heads


@pytest.mark.slow
def test_a_learned_cross_encoder_puts_the_right_passage_first(cross):
    folder = str(cross.folder)

    class Everything:
        def retrieve(self, requests):
            from dragoman.core.values import Evidence

            return [[Evidence(passage, 0.5) for passage in self.rows] for _ in requests]

    inner = Everything()
    retriever = RerankRetriever(inner=inner, part=folder)

    def retrieve(example):
        inner.rows = example.candidates
        return retriever.retrieve([Request(example.context, (NOTES,), k=2)])[0]

    assert hits(retrieve, corpus(30, 3, marked=True)) >= 0.9


@pytest.mark.slow
def test_the_exported_cross_encoder_says_what_torch_says(cross, tmp_path):
    pairs = [("what of the boat", "the ferry is open"), ("what of the boat", "the tea is here")]
    assert_agrees(cross.folder, pairs, "relevance", tmp_path)


class StoppedError(Exception):
    """Stands for a kill."""


@pytest.mark.parametrize("kind", ["retriever.bi", "retriever.cross"])
def test_a_training_that_was_stopped_after_mining_ends_with_the_same_weights(kind, base, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "dragoman.train.export.export_and_calibrate.export_and_calibrate", lambda trunk, tokens, job, **given: trunk
    )
    monkeypatch.setattr(f"dragoman.train.learners.{kind.replace('.', '_')}.by_source", lambda part, *rest: part)
    model = {"words": 1, "mined": 2, "own": 2}

    def trained(folder, report=lambda progress: None):
        given = replace(job(tmp_path / folder, base, kind, model=model, train={"epochs": 2, "batch": 8}), report=report)
        (tmp_path / folder).mkdir(exist_ok=True)
        return learners.create(kind).fit(given).state_dict()

    def stop(progress):
        if progress.done == 13:  # in the middle of the second epoch, past a checkpoint
            raise StoppedError

    whole = trained("whole")
    with pytest.raises(StoppedError):
        trained("halved", stop)
    assert list((tmp_path / "halved" / "mined").glob("1.json"))
    halved = trained("halved")
    assert all(torch.equal(whole[name], halved[name]) for name in whole)


def test_the_same_seed_gives_the_same_negatives(base, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "dragoman.train.export.export_and_calibrate.export_and_calibrate", lambda trunk, tokens, job, **given: trunk
    )
    monkeypatch.setattr("dragoman.train.learners.retriever_bi.by_source", lambda part, *rest: part)
    mined = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        given = job(tmp_path / name, base, "retriever.bi", model={"mined": 2}, train={"epochs": 2})
        learners.create("retriever.bi").fit(given)
        mined.append(json.loads((tmp_path / name / "mined" / "1.json").read_text())["mined"])
    assert mined[0] == mined[1]


@pytest.mark.parametrize("kind", ["retriever.bi", "retriever.cross"])
def test_an_unknown_key_of_the_recipe_is_refused(kind, base, tmp_path):
    with pytest.raises(ConfigError, match="'lisp'"):
        learners.create(kind).fit(job(tmp_path, base, kind, model={"lisp": 1}))


def test_a_cross_encoder_with_a_mix_is_refused(base, tmp_path):
    with pytest.raises(ConfigError, match="mix"):
        learners.create("retriever.cross").fit(job(tmp_path, base, "retriever.cross", given={"query": "mix"}))


@pytest.mark.parametrize("kind", ["retriever.bi", "retriever.cross"])
def test_data_without_evidence_is_refused(kind, base, tmp_path):
    given = job(tmp_path, base, kind)
    blind = tuple(replace(example, gold=Gold(True)) for example in given.train.examples)
    with pytest.raises(TrainingError, match="training data"):
        learners.create(kind).fit(replace(given, train=replace(given.train, examples=blind)))


@pytest.mark.filterwarnings("ignore:mkldnn_matmul")  # a processor without such numbers
def test_a_bi_encoders_cosines_keep_all_digits_where_the_trunk_has_fewer(base, tmp_path, monkeypatch):
    """Under autocast a product is rounded to eight bits, in which near cosines are alike."""
    from dragoman.train.loop import weight_average
    from dragoman.train.ranking import bi_encoder

    seen, contrastive = [], bi_encoder.contrastive

    def watched(scores, right, wrong):
        seen.append(scores.dtype)
        return contrastive(scores, right, wrong)

    def fit(task, job, folder=None):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            task.loss(task.batches(0)[0])
        raise KeyboardInterrupt

    monkeypatch.setattr(bi_encoder, "contrastive", watched)
    monkeypatch.setattr(weight_average, "fit", fit)
    with pytest.raises(KeyboardInterrupt):
        learners.create("retriever.bi").fit(job(tmp_path, base, "retriever.bi"))
    assert set(seen) == {torch.float32}


def test_what_a_bi_encoder_does_not_train_has_no_dropout(base):
    from dragoman.models.torch.trunk import load_trunk
    from dragoman.train.ranking.bi_encoder import Towers

    trunk, _ = load_trunk(base, {})
    trunk.freeze()
    towers = Towers(trunk, temperature=0.05, mix=False)
    towers.train()
    assert towers.training
    assert not towers.encoder.embeddings.training
