"""The exported model of a trained part against torch: in full to a ten-thousandth, in eight bits within a bound."""

from __future__ import annotations

import shutil

import numpy as np

from dragoman.models.onnx.scorer import Scorer
from dragoman.models.part import open_part
from dragoman.models.torch.trunk import score
from dragoman.train.export.trunk import export_part, rebuilt

EXACT = 1e-4
NARROW = 0.05
"""How far a probability may be moved by eight bits, on random weights that are larger than trained ones."""


def assert_agrees(folder, texts, head, scratch):
    """Torch, the full model and the one that was written say the same of texts."""
    trunk, tokens, _ = rebuilt(folder)
    said = score(trunk, tokens, texts, head)
    written = Scorer(open_part(folder)).scores(texts, head)
    assert np.abs(_probability(written) - _probability(said)).max() < NARROW
    full = shutil.copytree(folder, scratch / f"full-{head}")
    export_part(full, int8="never")
    assert np.abs(Scorer(open_part(full)).scores(texts, head) - np.asarray(said)).max() < EXACT


def _probability(scores):
    return 1 / (1 + np.exp(-np.asarray(scores)))
