"""Torch and ONNX give the same scores: full weights to a ten-thousandth, eight bits within what is stated here."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from dragoman.core.errors import WeightsError
from dragoman.models.onnx.scorer import Scorer
from dragoman.models.part import Head, Part, open_part, write_part
from dragoman.models.torch.trunk import load_trunk, score
from dragoman.train.contract import Corpus, Job
from dragoman.train.export.export_and_calibrate import keep
from dragoman.train.export.torch_to_onnx import MODEL, Exported, narrow_where_it_holds
from dragoman.train.export.trunk import TOKENIZER, export_part, export_trunk, rebuilt, save_shape
from dragoman.train.model_card import size
from dragoman.train.spec import Recipe

TEXTS = ["hello", "what is the price of a room", "thanks a lot", ("who are you", "a hotel"), "x " * 90]
HEADS = {"gate": Head(("retrieve",)), "plan": Head(("a", "b", "c"))}
BOUND = 0.05
"""How far a probability may be moved by eight bits, on random weights that are larger than trained ones."""


@pytest.fixture(scope="module")
def trained(make_bert):
    trunk, tokens = load_trunk(make_bert(width=128, layers=1), {"gate": 1, "plan": 3}, max_tokens=48)
    return trunk.eval(), tokens


@pytest.fixture(scope="module")
def full(trained, tmp_path_factory):
    """The folder of a training that exported its full weights."""
    folder = tmp_path_factory.mktemp("full")
    trunk, tokens = trained
    save_shape(trunk, tokens, folder, max_tokens=48)
    keep(trunk, Job(Recipe(kind="gate.encoder"), Corpus((), ()), Corpus((), ()), folder))
    exported = export_trunk(trunk, tokens, folder, int8="never")
    write_part(
        Part(folder, "gate.encoder", HEADS, {"max_tokens": 48}, made={"bits": exported.bits}), (MODEL, TOKENIZER)
    )
    return folder


@pytest.fixture
def copied(full, tmp_path):
    for path in full.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def onnx_scores(folder, head):
    return Scorer(Part(folder, "gate.encoder", HEADS, {"max_tokens": 48}, {MODEL: "", TOKENIZER: ""})).scores(
        TEXTS, head
    )


@pytest.mark.parametrize("head", ["gate", "plan"])
def test_full_weights_give_torchs_scores(trained, full, head):
    expected = score(*trained, TEXTS, head).numpy()
    assert np.abs(onnx_scores(full, head) - expected).max() < 1e-4
    assert expected.std() > 0.01


def test_eight_bits_give_nearly_torchs_probabilities(trained, copied):
    before = (copied / MODEL).stat().st_size
    exported = narrow_where_it_holds(copied, int8="always", tolerance=0.0, measure=None)
    expected = torch.sigmoid(score(*trained, TEXTS, "plan")).numpy()
    found = 1 / (1 + np.exp(-onnx_scores(copied, "plan")))
    assert np.abs(found - expected).max() < BOUND
    assert not np.array_equal(found, expected)
    assert exported.bits == 8
    assert exported.bytes == (copied / MODEL).stat().st_size < 0.6 * before


def test_eight_bits_are_taken_back_where_the_measure_falls(copied):
    content = (copied / MODEL).read_bytes()
    measured = iter([0.9, 0.8])
    exported = narrow_where_it_holds(copied, int8="auto", tolerance=0.05, measure=lambda: next(measured))
    assert (exported.bits, exported.full, exported.narrow) == (32, 0.9, 0.8)
    assert (copied / MODEL).read_bytes() == content
    assert not list(copied.glob(".*"))


def test_eight_bits_stay_where_the_measure_holds(copied):
    measured = iter([0.9, 0.89])
    exported = narrow_where_it_holds(copied, int8="auto", tolerance=0.05, measure=lambda: next(measured))
    assert (exported.bits, exported.narrow) == (8, 0.89)
    assert not list(copied.glob(".*"))


def test_measure_that_is_not_a_number_does_not_speak_for_eight_bits(copied):
    measured = iter([0.9, float("nan")])
    assert narrow_where_it_holds(copied, int8="auto", tolerance=0.05, measure=lambda: next(measured)).bits == 32


def test_trunk_is_built_again_from_its_folder(trained, full):
    trunk, tokens, table = rebuilt(full)
    assert torch.allclose(score(trunk, tokens, TEXTS, "plan"), score(*trained, TEXTS, "plan"), atol=1e-6)
    assert table["max_tokens"] == 48


def test_exporting_again_keeps_to_what_was_decided(copied, monkeypatch):
    decided = []

    def exporting(trunk, tokens, folder, *, output, int8):
        decided.append(int8)
        return narrow_where_it_holds(folder, int8=int8, tolerance=0.0, measure=None)

    monkeypatch.setattr("dragoman.train.export.trunk.export_trunk", exporting)
    export_part(copied)
    part, exported = export_part(copied, int8="always")
    export_part(copied)
    assert decided == ["never", "always", "always"]
    assert exported.bits == part.made["bits"] == 8
    assert open_part(copied) == part


def test_card_and_figures_say_what_was_exported_and_what_was_fitted(copied, monkeypatch):
    def exporting(trunk, tokens, folder, *, output, int8):
        return Exported(8 if int8 == "always" else 32, (folder / MODEL).stat().st_size)

    monkeypatch.setattr("dragoman.train.export.trunk.export_trunk", exporting)
    (copied / "gate").mkdir()
    inner = Part(copied / "gate", "gate.encoder", HEADS, {"max_tokens": 48}, made={"bits": 32}, shares="..")
    write_part(inner, (MODEL, TOKENIZER))
    card = "# Mine\n\n- Size: 1.0 MB, weights in 32 bits\n- Licence: CC0\n"
    (copied / "README.md").write_text(card)
    (copied / "metrics.json").write_text('{"metrics": {"f1": 0.5}, "bytes": 1}')
    part, _ = export_part(copied, int8="always")
    changed = (copied / "README.md").read_text().splitlines()
    assert changed[2] == f"- Size: {size(part) / 1e6:.1f} MB, weights in 8 bits"
    assert changed[3].startswith("- Exported again") and changed[3].endswith("those of the weights in 32 bits")
    assert json.loads((copied / "metrics.json").read_text()) == {"metrics": {"f1": 0.5}, "bytes": size(part)}
    assert open_part(copied / "gate").made["bits"] == 8
    export_part(copied)
    assert (copied / "README.md").read_text().splitlines() == changed
    export_part(copied, int8="never")
    assert (copied / "README.md").read_text() == card.replace("1.0 MB", f"{size(part) / 1e6:.1f} MB")


def test_part_without_the_weights_it_was_trained_as_cannot_be_exported(copied):
    (copied / "trunk.json").unlink()
    with pytest.raises(WeightsError, match=r"holds no weights to export from.*train it again"):
        export_part(copied)


def test_part_that_runs_as_it_is_has_nothing_to_export(tmp_path):
    (tmp_path / "weights.npz").write_bytes(b"")
    write_part(Part(tmp_path, "gate.linear", {"gate": Head(("retrieve",))}), ("weights.npz",))
    with pytest.raises(WeightsError, match="nothing to export"):
        export_part(tmp_path)


def test_folder_of_no_training_is_told(tmp_path):
    with pytest.raises(WeightsError, match="holds no trained model"):
        rebuilt(tmp_path)


@pytest.mark.slow
def test_export_mends_a_damaged_model(copied):
    (copied / MODEL).write_bytes(b"broken")
    with pytest.raises(WeightsError, match="damaged"):
        open_part(copied)
    export_part(copied)
    assert open_part(copied).kind == "gate.encoder"


@pytest.mark.slow
def test_export_keeps_the_parts_that_share_a_model_in_use(copied):
    inner = copied / "gate"
    inner.mkdir()
    write_part(
        Part(inner, "gate.encoder", {"gate": HEADS["gate"]}, {"max_tokens": 48}, shares=".."), (MODEL, TOKENIZER)
    )
    export_part(copied, int8="always")
    assert open_part(inner).files == open_part(copied).files
    part, exported = export_part(inner, int8="never")  # by the part: the model is the same
    assert (part.folder.resolve(), exported.bits) == (copied.resolve(), 32)
    assert open_part(inner).files == open_part(copied).files
