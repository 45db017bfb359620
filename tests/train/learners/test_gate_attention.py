"""The attention gate from training to use: what it learns, what it reads, that it repeats, what it refuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from dragoman.core.errors import ConfigError, TrainingError  # noqa: E402
from dragoman.core.examples import Example, Gold  # noqa: E402
from dragoman.core.values import Context, Evidence, Passage, Source  # noqa: E402
from dragoman.gate.attention import AttentionGate, AttentionReading  # noqa: E402
from dragoman.gate.inputs import GateInput  # noqa: E402
from dragoman.models.onnx.attention_scorer import AttentionScorer, TextPiece  # noqa: E402
from dragoman.models.part import Head, Part, open_part  # noqa: E402
from dragoman.train.contract import Corpus, Job  # noqa: E402
from dragoman.train.registry import learners  # noqa: E402
from dragoman.train.spec import Recipe  # noqa: E402

SOURCES = (Source("DOCUMENTS"),)
OPEN = ("when does the {} open", "how much is the {}", "who built the {}", "where is the {}")
SHUT = ("thanks for the {}", "i love the {}", "ok , the {} then", "haha the {}")
THINGS = ("tower", "museum", "castle", "harbour", "garden", "bridge")


def examples(*, reply: bool = False) -> tuple[Example, ...]:
    found = []
    for i, thing in enumerate(THINGS * 2):
        for j, (yes, pattern) in enumerate([*((True, p) for p in OPEN), *((False, p) for p in SHUT)]):
            context = Context.of("hello", "hi there", pattern.format(thing), dialogue=f"d{i}")
            passage = Passage(f"p{i}", "DOCUMENTS", f"The {thing} opens at nine.")
            said = f"It is the {thing}." if reply else None
            found.append(Example(f"{i}/{j}", context, SOURCES, (passage,), Gold(retrieve=yes, reply=said)))
    return tuple(found)


def job(folder: Path, *, model: dict[str, Any] | None = None, given: dict[str, Any] | None = None, **more: Any) -> Job:
    turns = examples(reply=True)
    recipe = Recipe(
        kind="gate.attention",
        input=given or {},
        model={"width": 64, "layers": 1, "max_tokens": 32, "least": 1, **(model or {})},
        train={
            "epochs": 4,
            "batch": 16,
            "rate": 3e-3,
            "metric": "loss",
            "precision": "float32",
            **more.pop("train", {}),
        },
        calibrate={"folds": more.pop("folds", 0)},
        export={"int8": "never"},
    )
    return Job(recipe, Corpus((), turns[:64]), Corpus((), turns[64:]), folder, **more)


def fit(made: Job) -> Part:
    return learners.create("gate.attention").fit(made)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contx")
    fit(job(folder, folds=2, train={"epochs": 10}))
    return folder


@pytest.mark.slow
def test_it_learns_what_can_be_learned(trained: Path) -> None:
    part = open_part(trained, kind="gate.attention")
    assert part.made["metrics"]["f1"] > 0.9
    assert part.made["metrics"]["folds/f1"] > 0.9


@pytest.mark.slow
def test_the_trained_gate_decides(trained: Path) -> None:
    gate = AttentionGate(part=str(trained))
    asked, thanked = gate.decide([Context.of("when does the castle open"), Context.of("thanks for the castle")])
    assert asked.retrieve and not thanked.retrieve
    assert 0 <= thanked.probability < asked.probability <= 1
    assert not gate.reads_evidence


@pytest.mark.slow
def test_a_turn_fares_the_same_in_whatever_batch(trained: Path) -> None:
    gate = AttentionGate(part=str(trained))
    turns = [example.context for example in examples()[:20]] + [Context.of(""), Context(())]
    together = [verdict.probability for verdict in gate.decide(turns)]
    alone = [gate.decide([turn])[0].probability for turn in turns]
    assert together == pytest.approx(alone, abs=1e-4)


@pytest.mark.slow
def test_a_threshold_of_ones_own_stands_in_for_the_parts(trained: Path) -> None:
    (verdict,) = AttentionGate(part=str(trained), threshold=0.0).decide([Context.of("thanks for the castle")])
    assert verdict.retrieve


@pytest.mark.slow
def test_no_turns_are_no_verdicts(trained: Path) -> None:
    assert AttentionGate(part=str(trained)).decide([]) == []


def _torch_scores(part: Part, turns: Sequence[Sequence[Any]]) -> list[float]:
    from dragoman.models.onnx.attention_scorer import WordVocabulary
    from dragoman.models.torch.attention_encoder import AttentionEncoder, EncoderShape
    from dragoman.models.torch.trunk import read_weights
    from dragoman.train.gates.attention_task import attention_scores

    encoder = AttentionEncoder(EncoderShape(**part.options["shape"]))
    read_weights(encoder, part.folder / "best.safetensors")
    rows = WordVocabulary(part.folder / "tokenizer.json", part.options["max_tokens"]).rows(turns)
    return list(attention_scores(encoder, rows)[:, 0].tolist())


@pytest.mark.slow
def test_the_exported_model_agrees_with_torch(trained: Path) -> None:
    part = open_part(trained)
    reading = AttentionReading.from_json(part.options["reading"])
    turns = [reading.pieces(GateInput(example.context)) for example in examples()[:16]] + [
        (TextPiece(""),),
        (TextPiece("tower", 1),),
    ]
    assert AttentionScorer(part).scores(turns) == pytest.approx(_torch_scores(part, turns), abs=1e-4)


@pytest.mark.slow
def test_attention_runs_as_one_operation_with_the_scores_of_the_file_as_it_is(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dragoman.models.onnx import session
    from dragoman.models.onnx.int8_graph import narrowed

    rewritten = narrowed(trained / "model.onnx") or b""
    assert b"Attention" in rewritten and b"Softmax" not in rewritten
    part = open_part(trained)
    reading = AttentionReading.from_json(part.options["reading"])
    turns = [reading.pieces(GateInput(example.context)) for example in examples()[:16]] + [(TextPiece(""),)]
    ours = AttentionScorer(part).scores(turns)
    monkeypatch.setattr(session, "narrowed", lambda path: None)
    assert AttentionScorer(part).scores(turns) == pytest.approx(ours, abs=1e-5)


@pytest.mark.slow
def test_the_part_exports_again_to_the_same_scores(trained: Path) -> None:
    from dragoman.train.export.trunk import export_part

    turns = [example.context for example in examples()[:8]]
    before = [verdict.probability for verdict in AttentionGate(part=str(trained)).decide(turns)]
    export_part(trained)
    after = [verdict.probability for verdict in AttentionGate(part=str(trained)).decide(turns)]
    assert after == pytest.approx(before, abs=1e-5)


def _weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(folder / "best.safetensors"))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights(trained: Path, tmp_path: Path, without_export: None) -> None:
    fit(job(tmp_path, train={"epochs": 10}))
    again = _weights(tmp_path)
    assert all(torch.equal(tensor, again[name]) for name, tensor in _weights(trained).items())


@pytest.fixture
def without_export(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tracing takes seconds: where only what is learned matters, the model is left unwritten and scored by torch."""
    import dragoman.train.gates.attention_export as place
    from dragoman.models.onnx import attention_scorer
    from dragoman.train.export.torch_to_onnx import Exported
    from dragoman.train.gates.attention_task import attention_scores
    from dragoman.train.learners import gate_attention

    held: dict[str, Any] = {}

    def write(encoder: Any, folder: Path, **options: Any) -> Exported:
        held["encoder"] = encoder
        (folder / "model.onnx").write_bytes(b"")
        return Exported(32, 0)

    class Scorer:
        def __init__(self, part: Part) -> None:
            self._words = attention_scorer.WordVocabulary(
                part.folder / "tokenizer.json", int(part.options["max_tokens"])
            )

        def scores(self, turns: Sequence[Sequence[Any]]) -> list[float]:
            return attention_scores(held["encoder"], self._words.rows(turns))[:, 0].tolist()

    monkeypatch.setattr(place, "export_attention", write)
    monkeypatch.setattr(gate_attention, "AttentionScorer", Scorer)


@pytest.mark.parametrize("fields", [["contx", "resp"], ["contx", "know"]])
def test_variants_in_one_row_learn(tmp_path: Path, without_export: None, fields: list[str]) -> None:
    part = fit(job(tmp_path, given={"fields": fields}))
    assert part.made["metrics"]["f1"] > 0.9
    assert part.options["reading"]["inputs"]["fields"] == fields


def test_the_last_epoch_can_be_kept_whatever_dev_says(
    tmp_path: Path, without_export: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dragoman.train.gates import attention_task

    given = iter(range(3))
    monkeypatch.setattr(attention_task, "yes_measures", lambda scores, labels: {"auc": 0.9 - 0.1 * next(given)})
    fit(job(tmp_path, train={"metric": "last", "epochs": 3}))
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [(line["dev"]["last"], line["best"]) for line in lines if "dev" in line] == [(1, True), (2, True), (3, True)]


@pytest.mark.slow
def test_context_by_knowledge_decides_when_it_has_the_evidence(tmp_path: Path) -> None:
    part = fit(job(tmp_path, given={"fields": ["contx", "know"], "cross": True}, train={"epochs": 8}))
    gate = AttentionGate(part=str(part.folder))
    turns = [Context.of("when does the castle open"), Context.of("thanks for the castle")]
    assert gate.reads_evidence
    assert all(verdict.retrieve for verdict in gate.decide(turns))
    found = Evidence(Passage("p", "DOCUMENTS", "The castle opens at nine."), 0.8)
    asked, thanked = gate.decide(turns, [[found], [found]])
    assert asked.probability > thanked.probability
    known = TextPiece("the castle opens at nine", 12, apart=True)
    rows = [(TextPiece("castle", 1), known), (TextPiece("castle tower", 1),), (TextPiece("a b", 1), known, known)]
    assert AttentionScorer(part).scores(rows) == pytest.approx(_torch_scores(part, rows), abs=1e-4)
    bare = gate.decide(turns, [[], []])
    assert bare[0].probability != pytest.approx(asked.probability, abs=1e-6)


def test_tokens_can_be_learned_before_the_labels(tmp_path: Path, without_export: None) -> None:
    turns = Corpus((), tuple(replace(example, gold=Gold()) for example in examples()))
    made = job(tmp_path, model={"pretrain": "tokens", "pretrain_epochs": 3}, aux=turns)
    assert fit(made).made["metrics"]["f1"] > 0.9
    assert (tmp_path / "pretrain" / "best.safetensors").is_file()
    losses = [line for line in (tmp_path / "pretrain" / "log.jsonl").read_text().splitlines() if "epoch" in line]
    assert losses


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A tiny random encoder with a word-piece vocabulary of the words that are said here."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    folder = tmp_path / "base"
    said = sorted(
        {word for pattern in (*OPEN, *SHUT, *THINGS, "hello hi there user agent :") for word in pattern.split()}
    )
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "never", *said]
    made = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    BertModel(config).save_pretrained(folder)
    made.save(str(folder / "tokenizer.json"))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("words", "embeddings"), [("pieces", "alone"), ("all", "table")])
def test_it_begins_with_what_an_encoder_knows(
    tmp_path: Path, base: Path, without_export: None, words: str, embeddings: str
) -> None:
    model = {"base": str(base), "words": words, "embeddings": embeddings, "pretrain": "vectors", "pretrain_epochs": 2}
    part = fit(job(tmp_path / "out", model=model))
    assert part.made["metrics"]["f1"] > 0.9
    assert part.made["base"] == str(base)
    vocabulary = json.loads((tmp_path / "out" / "tokenizer.json").read_text())["model"]["vocab"]
    assert ("never" in vocabulary) == (words == "all")
    assert "castle" in vocabulary


@pytest.mark.slow
def test_a_teacher_labels_turns_that_have_no_labels(
    tmp_path: Path, without_export: None, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dragoman.train.gates import attention_task

    seen: dict[str, Any] = {}
    whole = attention_task.AttentionTask.__init__

    def noted(self: Any, *given: Any, **options: Any) -> None:
        seen.update(options, labels=given[2])
        whole(self, *given, **options)

    monkeypatch.setattr(attention_task.AttentionTask, "__init__", noted)
    unlabelled = Corpus((), tuple(replace(example, gold=Gold()) for example in examples()[:16]))
    model = {"teacher": str(trained), "teacher_share": 0.5, "aux_share": 0.3}
    assert fit(job(tmp_path, model=model, aux=unlabelled)).made["metrics"]["f1"] > 0.9
    gate = AttentionGate(part=str(trained))
    believed = [verdict.probability for verdict in gate.decide([example.context for example in examples()[:64]])]
    assert seen["unlabelled"][1] == pytest.approx(believed[:16], abs=1e-5)
    assert seen["share"] == 0.3
    truth = [float(bool(example.gold.retrieve)) for example in examples()[:64]]
    wanted = [0.5 * label + 0.5 * soft for label, soft in zip(truth, believed, strict=True)]
    assert seen["labels"] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.slow
def test_folds_are_scored_in_units_of_their_own_model(
    tmp_path: Path, without_export: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fold whose model is ten times as sure, and says yes to everything, is calibrated like the others."""
    from dragoman.train.gates import attention_task

    whole, calls = attention_task.attention_scores, [0]

    def other_scale(model: Any, rows: Any, **options: Any) -> Any:
        found = whole(model, rows, **options)
        return 10 * found + 50 if "fold-0" in held[0] else found

    held = [""]
    loop = __import__("dragoman.train.loop.training_loop", fromlist=["fit"])
    fitted = loop.fit

    def noted(task: Any, made: Job, *, folder: Path | None = None) -> Any:
        held[0] = ""
        found = fitted(task, made, folder=folder)
        held[0] = str(folder)
        calls[0] += 1
        return found

    plain = fit(job(tmp_path / "plain", folds=2))
    monkeypatch.setattr(attention_task, "attention_scores", other_scale)
    monkeypatch.setattr(loop, "fit", noted)
    scaled = fit(job(tmp_path / "scaled", folds=2))
    assert calls[0] == 3
    for name in ("folds/f1", "folds/auc", "folds/ece"):
        assert scaled.made["metrics"][name] == pytest.approx(plain.made["metrics"][name], abs=1e-3)


def test_a_teacher_and_folds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="would not be honest"):
        fit(job(tmp_path, model={"teacher": "somewhere"}, folds=3))


def test_embeddings_need_the_bases_pieces(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="words are one's own"):
        fit(job(tmp_path, model={"embeddings": "table"}))


def test_knowledge_without_passages_is_refused(tmp_path: Path) -> None:
    made = job(tmp_path, given={"fields": ["contx", "know"]})
    bare = Corpus((), tuple(replace(example, candidates=()) for example in made.train.examples))
    with pytest.raises(TrainingError, match="nothing to read"):
        fit(replace(made, train=bare))


def test_one_class_is_refused(tmp_path: Path) -> None:
    made = job(tmp_path)
    yes = Corpus((), tuple(example for example in made.train.examples if example.gold.retrieve))
    with pytest.raises(TrainingError, match="same label"):
        fit(replace(made, train=yes))


def test_replies_that_only_some_turns_have_are_refused_since_they_tell_the_label(tmp_path: Path) -> None:
    made = job(tmp_path, given={"fields": ["contx", "resp"]})
    given = tuple(replace(e, gold=replace(e.gold, reply=e.gold.reply if e.gold.retrieve else None)) for e in examples())
    with pytest.raises(TrainingError, match=r"has no reply, and the gate is to read 'resp'"):
        fit(replace(made, train=Corpus((), given[:64])))


def test_a_teacher_that_would_have_to_look_something_up_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dragoman.train.gates import teacher

    part = Part(tmp_path, "gate.attention", {"gate": Head(("retrieve",))}, {"reading": {}})
    monkeypatch.setattr(teacher, "open_part", lambda place: part)
    monkeypatch.setattr(AttentionGate, "reads_evidence", True)
    with pytest.raises(TrainingError, match="decides by what was found"):
        teacher.teacher_probabilities(tmp_path, [Context.of("when?")])
