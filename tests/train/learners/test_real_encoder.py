"""The real MiniLM, fine-tuned for a few steps on the toy set, exported, and run in an agent."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.agent.build import load
from dragoman.core.values import Context
from dragoman.gate.encoder import gate_scores
from dragoman.models.onnx.scorer import Scorer
from dragoman.models.torch.trunk import score
from dragoman.train.export.trunk import export_trunk, rebuilt
from dragoman.train.recipe import load_recipe
from dragoman.train.run import train

pytestmark = [pytest.mark.integration, pytest.mark.slow]

BOUND = 0.05
"""How far eight bits may move a probability before calibration."""


@pytest.fixture(scope="module")
def gate(weights_home, tmp_path_factory):
    """A gate trained by the shipped recipe, but for a smaller model and a shorter, quicker training."""
    quick = ["train.epochs=2", "train.batch=16", "train.rate=3e-4", "input.turns=1", "model.layers=2"]
    recipe = load_recipe("gate-encoder", [*quick, "model.fixed=1", "model.max_tokens=32"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAGOMAN_HOME", str(weights_home))
        data = {"train": ["toy"], "dev": ["toy"]}
        return train(recipe, data, tmp_path_factory.mktemp("gate"), device="cpu", options={"dialogues": 30})


def test_few_steps_are_better_than_chance(gate):
    assert gate.made["metrics"]["auc"] > 0.7
    assert gate.made["base"] == "all-minilm-l6-v2"


@pytest.mark.slow
def test_torch_and_exported_model_agree(gate, tmp_path):
    trunk, tokens, _ = rebuilt(gate.folder)
    texts = ["User: Hello!", "User: When does the museum open? Agent: Hello!", "User: Thanks " * 30]
    expected = score(trunk, tokens, texts, "gate").numpy()
    narrow = Scorer(gate).scores(texts, "gate")
    assert np.abs(1 / (1 + np.exp(-narrow)) - torch.sigmoid(torch.tensor(expected)).numpy()).max() < BOUND
    export_trunk(trunk, tokens, tmp_path, int8="never")
    full = Scorer(type(gate)(tmp_path, gate.kind, gate.heads, gate.options, gate.files)).scores(texts, "gate")
    assert np.abs(full - expected).max() < 1e-4


def test_exported_part_decides_in_an_agent(gate, tmp_path):
    overrides = {"gate.kind": "encoder", "gate.part": str(gate.folder)}
    with load("harbour", overrides=overrides, state=tmp_path) as assistant:
        (note,) = assistant.ask("When does the museum open?").trace.of("gate")
    assert note.value.reason.startswith("probability ")
    asked = Context.of("When does the museum open?")
    expected = gate.head("gate").probability(float(gate_scores(Scorer(gate), [asked])[0, 0]))
    assert note.value.probability == pytest.approx(expected, abs=1e-4)
