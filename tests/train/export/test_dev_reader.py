"""The end of a training reads dev once with each model that it exports, and fits on what it has read."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from dragoman.models.onnx.scorer import Scorer
from dragoman.models.part import Head, Part
from dragoman.models.torch.trunk import load_trunk
from dragoman.train.contract import Corpus, Job
from dragoman.train.export import dev_reader, trunk
from dragoman.train.export import export_and_calibrate as finishing
from dragoman.train.export.dev_reader import STAGE, ReadOnce
from dragoman.train.export.export_and_calibrate import Held, export_and_calibrate, fit_head
from dragoman.train.export.torch_to_onnx import MODEL
from dragoman.train.export.trunk import TOKENIZER, export_trunk
from dragoman.train.spec import CalibrationSpec, Recipe

TEXTS = ("hello", "what is the price of a room", "thanks a lot", ("who are you", "a hotel"), "hello", "and to eat")
DIFFERENT = len(set(TEXTS))
HEAD = Head(("retrieve",))
CLOSE = {32: 1e-5, 8: 1e-3}
"""How far scores of one text may lie apart by what is read beside it, by the bits of the weights: sums over a batch
round by its size, and a product of bytes may fall on the next of 256 steps."""
HELD = Held(("retrieve",), TEXTS, [float(row % 2) for row in range(len(TEXTS))])


@pytest.fixture(scope="module")
def trained(make_bert):
    encoder, tokens = load_trunk(make_bert(width=128, layers=1), {"gate": 1}, max_tokens=48)
    return encoder.eval(), tokens


@pytest.fixture(scope="module")
def part(trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    export_trunk(*trained, folder, int8="never")
    return Part(folder, "gate.encoder", {"gate": HEAD}, {"max_tokens": 48}, {MODEL: "", TOKENIZER: ""})


@pytest.fixture
def traced(part, monkeypatch):
    """Let exports copy the traced model: tracing takes seconds."""
    monkeypatch.setattr(trunk, "to_onnx", lambda module, rows, names, path: shutil.copy(part.folder / MODEL, path))


@pytest.fixture
def read(monkeypatch):
    """The texts that a model has read, in order."""
    found = []
    plain = Scorer.scores

    def told(self, texts, head):
        found.extend(texts)
        return plain(self, texts, head)

    monkeypatch.setattr(Scorer, "scores", told)
    return found


def job(folder, report=lambda progress: None, **export):
    nothing = Corpus((), ())
    return Job(Recipe(kind="gate.encoder", export=export), nothing, nothing, folder, report=report)


def finished(trained, folder, measure, **export):
    return export_and_calibrate(
        *trained,
        job(folder, **export),
        kind="gate.encoder",
        heads={"gate": HELD},
        options={},
        max_tokens=48,
        measure=measure,
        completed=lambda part, scorer: scorer.probabilities(TEXTS[:2], "gate") and part,
    )


def test_scores_are_those_of_a_plain_scorer_in_their_order(part, tmp_path):
    once, plain = (scorer.scores(TEXTS, "gate") for scorer in (ReadOnce(part, job(tmp_path)), Scorer(part)))
    np.testing.assert_allclose(once, plain, rtol=0, atol=CLOSE[32])


def test_nothing_to_read_has_no_scores(part, tmp_path):
    assert ReadOnce(part, job(tmp_path)).scores((), "gate").shape == (0, 1)


def test_no_text_is_read_twice(part, tmp_path, read):
    scorer = ReadOnce(part, job(tmp_path))
    scorer.scores(TEXTS[:3], "gate")
    scorer.scores(TEXTS, "gate")
    scorer.probabilities(TEXTS[::-1], "gate")
    assert len(read) == DIFFERENT


def test_how_far_it_is_is_told(part, tmp_path, monkeypatch):
    monkeypatch.setattr(dev_reader, "_AT_ONCE", 2)
    told = []
    ReadOnce(part, job(tmp_path, told.append)).scores(TEXTS, "gate")
    assert [(one.stage, one.done, one.total) for one in told] == [(STAGE, 0, 5), (STAGE, 2, 5), (STAGE, 4, 5)]


@pytest.mark.usefixtures("traced")
def test_each_model_reads_dev_once(trained, tmp_path, read):
    made = finished(trained, tmp_path, lambda scorer: float(scorer.scores(TEXTS, "gate").sum() * 0), int8="auto")
    assert made.made["bits"] == 8
    assert len(read) == 2 * DIFFERENT


@pytest.mark.slow
@pytest.mark.parametrize(("int8", "bits"), [("auto", 32), ("always", 8), ("never", 32)])
def test_what_is_fitted_on_is_what_was_kept(trained, tmp_path, monkeypatch, int8, bits):
    scored, fitted = [], []

    def falls(scorer):
        scored.append(scorer.scores(TEXTS, "gate"))
        return -float(len(scored))  # eight bits are worse

    monkeypatch.setattr(
        finishing, "fit_head", lambda held, scores, spec: fitted.append(scores) or fit_head(held, scores, spec)
    )
    made = finished(trained, tmp_path, falls, int8=int8)
    assert made.made["bits"] == bits
    (given,) = fitted
    kept = scored[0 if bits == 32 else -1]
    assert np.array_equal(given, kept)  # the very numbers: nothing was read again
    assert made.heads["gate"] == fit_head(HELD, kept, CalibrationSpec())
    np.testing.assert_allclose(kept, Scorer(made).scores(TEXTS, "gate"), rtol=0, atol=CLOSE[bits])
    if int8 != "never":
        other = scored[-1 if bits == 32 else 0]
        assert np.abs(kept - other).max() > CLOSE[bits]
