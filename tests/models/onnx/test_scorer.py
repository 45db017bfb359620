"""A part on onnxruntime: the scores of its heads, one by one the same as together, loaded when first needed."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dragoman.core.errors import UnknownNameError, WeightsError
from dragoman.models.calibration import Logistic
from dragoman.models.onnx.scorer import LazyScorer, Scorer
from dragoman.models.part import Head, Part, open_part

TEXTS = ["hello", "what is the price of a room", "thanks", "who are you", "the weather is good", ("hello", "a room")]
HEADS = {
    "gate": Head(("retrieve",), {"retrieve": Logistic(0.5, 1.0)}, {"retrieve": 0.4}),
    "plan": Head(("a", "b", "c")),
}


@pytest.fixture(scope="module")
def part(make_part):
    return open_part(make_part("gate.encoder", HEADS))


def test_scores_have_a_column_a_label(part):
    scorer = Scorer(part)
    assert scorer.scores(TEXTS, "gate").shape == (6, 1)
    assert scorer.scores(TEXTS, "plan").shape == (6, 3)


def test_score_does_not_depend_on_what_is_scored_beside_it(part):
    scorer = Scorer(part, batch=2)
    together = scorer.scores(TEXTS, "plan")
    alone = np.concatenate([scorer.scores([text], "plan") for text in TEXTS])
    assert np.abs(together - alone).max() < 1e-4
    assert np.abs(together - together.mean(0)).max() > 0.1  # they differ, or nothing was compared


def test_probabilities_are_calibrated(part):
    scorer = Scorer(part)
    scores = scorer.scores(TEXTS, "gate")[:, 0]
    expected = 1 / (1 + np.exp(-(0.5 * scores + 1.0)))
    assert scorer.probabilities(TEXTS, "gate") == pytest.approx(expected.tolist(), abs=1e-5)


def test_nothing_to_score_is_an_empty_table(part):
    assert Scorer(part).scores([], "plan").shape == (0, 3)


def test_text_without_end_is_cut(part):
    scorer = Scorer(part)
    # thirty tokens are read, beside the two that stand at both ends
    assert np.array_equal(scorer.scores(["hello " * 5000], "gate"), scorer.scores(["hello " * 30], "gate"))


def test_two_threads_load_one_model(part):
    scorer = Scorer(part)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: scorer.scores(TEXTS, "gate"), range(4)))
    assert all(np.array_equal(found[0], other) for other in found)


def test_unknown_head_is_told(part):
    with pytest.raises(UnknownNameError, match="gte"):
        Scorer(part).scores(TEXTS, "gte")


def test_head_that_the_model_lacks_is_told(make_part):
    part = open_part(make_part("gate.encoder", {"other": Head(("x",))}))
    with pytest.raises(WeightsError, match="has no head 'other'"):
        Scorer(part).scores(TEXTS, "other")


def test_head_with_other_labels_than_the_model_is_told(make_part):
    part = open_part(make_part("planner.classifier", {"plan": Head(("a", "b"))}))
    with pytest.raises(WeightsError, match="3 scores for 2 labels"):
        Scorer(part).scores(TEXTS, "plan")


def test_scorer_is_made_without_looking_at_a_file(tmp_path):
    Scorer(Part(tmp_path / "nowhere", "gate.encoder", HEADS))
    LazyScorer(tmp_path / "nowhere", kind="gate.encoder")


def test_lazy_scorer_opens_its_part_once_and_checks_its_kind(make_part):
    folder = make_part("gate.encoder", HEADS)
    lazy = LazyScorer(folder, kind="gate.encoder")
    assert lazy.get() is lazy.get()
    with pytest.raises(WeightsError, match=r"not a planner\.classifier"):
        LazyScorer(folder, kind="planner.classifier").get()


def test_part_is_run_without_torch(make_part):
    import subprocess

    folder = make_part("gate.encoder", HEADS, view={})
    code = (
        "import sys\n"
        "from dragoman.gate.encoder import EncoderGate\n"
        "from dragoman.core.values import Context\n"
        f"print(EncoderGate(part={str(folder)!r}).decide([Context.of('hello')])[0].probability > 0)\n"
        "print('torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
