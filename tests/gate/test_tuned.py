"""RAGate-PEFT's gate: what the model is asked, and what becomes of its answer."""

from __future__ import annotations

import math

import pytest

from dragoman.core.errors import ConfigError, MissingExtraError, WeightsError
from dragoman.core.values import Context, Evidence, Passage, Source
from dragoman.gate.inputs import GateInput, Inputs
from dragoman.gate.tuned import TunedGate, tuned_prompts
from dragoman.models.calibration import Logistic
from dragoman.models.part import Head, Part, write_part
from dragoman.testing import GateConformance, StubReader
from dragoman.text.view import View

TURNS = [Context.of("When does the boat leave?"), Context.of("Hi.", "Hello!", "Thanks a lot, bye!")]
FOUND = [Evidence(Passage("a", "A", "The boat leaves at nine."), 0.9)]


@pytest.fixture
def made(tiny_causal, tmp_path):
    """Write a part with an adapter that knows nothing, and say where it lies."""

    def make(fields=("contx",), **options):
        import torch

        from dragoman.models.base_weights import base_digest
        from dragoman.models.torch.causal_lm import load_causal
        from dragoman.models.torch.lora import FILES, LoraSpec, add_adapter, save_adapter

        causal = add_adapter(load_causal(tiny_causal), LoraSpec(rank=2), seed=1)
        torch.manual_seed(4)
        for name, parameter in causal.model.named_parameters():
            if "lora_B" in name:
                parameter.data.normal_(0, 0.2)
        save_adapter(causal, tmp_path, base="tiny")
        told = {
            "base": str(tiny_causal),
            "base_sha256": base_digest(tiny_causal),
            "inputs": Inputs(fields, View(turns=4, order="oldest")).to_json(),
            "tokens": 512,
            "options": ["True", "False"],
            "prompt": "gate-tuned.v1",
            **options,
        }
        head = Head(("retrieve",), {"retrieve": Logistic(2.0, 0.5)}, {"retrieve": 0.4})
        write_part(Part(tmp_path, "gate.tuned", {"gate": head}, told), FILES)
        return str(tmp_path)

    return make


class TestTunedConforms(GateConformance):
    @pytest.fixture
    def gate(self, made):
        return TunedGate(part=made())


class TestTunedWithEvidenceConforms(GateConformance):
    @pytest.fixture
    def gate(self, made):
        return TunedGate(part=made(("contx", "syn-resp", "ner", "know", "source")), reader=StubReader())


def test_the_probability_is_that_of_true_against_false_calibrated(made):
    from dragoman.models.torch.model import HfModel

    part = made()
    table = TunedGate(part=part)._open()[0].part.options
    model = HfModel(weights=table["base"], adapter=part, merge=False, context_tokens=512)
    asked = tuned_prompts(Inputs(("contx",), View(turns=4, order="oldest")), [GateInput(turn) for turn in TURNS])
    for verdict, chosen in zip(TunedGate(part=part).decide(TURNS), model.choose(asked, ("True", "False")), strict=True):
        odds = 2.0 * math.log(chosen["True"] / chosen["False"]) + 0.5  # the part's calibration
        assert verdict.probability == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-4)
        assert verdict.retrieve == (verdict.probability >= 0.4)


def test_a_threshold_of_ones_own_stands_in_for_the_parts(made):
    part = made()
    assert all(verdict.retrieve for verdict in TunedGate(part=part, threshold=0.0).decide(TURNS))
    assert not any(verdict.retrieve for verdict in TunedGate(part=part, threshold=1.01).decide(TURNS))


def test_a_gate_that_reads_evidence_looks_first_and_is_asked_again(made):
    gate = TunedGate(part=made(("contx", "know")))
    assert gate.reads_evidence
    assert [verdict.retrieve for verdict in gate.decide(TURNS)] == [True, True]
    with_it, without = gate.decide([TURNS[0], TURNS[0]], [FOUND, ()])
    assert with_it.probability != without.probability
    assert not TunedGate(part=made()).reads_evidence


def test_a_reply_is_part_of_what_is_asked(made):
    part = made(("contx", "resp"))
    with pytest.raises(ConfigError, match="reader"):
        TunedGate(part=part).decide(TURNS)
    assert len(TunedGate(part=part, reader=StubReader()).decide(TURNS)) == 2


def test_making_one_reads_nothing():
    TunedGate(part="/nowhere/at/all")
    with pytest.raises(WeightsError, match="no trained part"):
        TunedGate(part="/nowhere/at/all").decide(TURNS)


def test_another_base_is_refused(made, tiny_causal, tmp_path):
    import shutil

    other = tmp_path / "other"
    shutil.copytree(tiny_causal, other)
    with (other / "model.safetensors").open("ab") as file:
        file.write(b"x")
    with pytest.raises(WeightsError, match="trained on other weights"):
        TunedGate(part=made(), base=str(other)).warm_up()


def test_a_base_that_moved_is_found_where_one_says(made, tiny_causal, tmp_path):
    import shutil

    moved = tmp_path / "moved"
    shutil.copytree(tiny_causal, moved)
    part = made(base="/nowhere/any/more")
    assert len(TunedGate(part=part, base=str(moved)).decide(TURNS)) == 2


def test_torch_that_is_missing_is_an_extra_with_a_remedy(made, monkeypatch):
    import sys

    part = made()
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dragoman\[train\]'"):
        TunedGate(part=part).decide(TURNS)


def test_the_light_runtime_needs_the_adapter_in_its_format(made):
    with pytest.raises(ConfigError, match=r"cannot run in llama.cpp: it has no adapter\.gguf") as caught:
        TunedGate(part=made(), runtime="llamacpp").warm_up()
    assert caught.value.remedy == 'Set runtime = "torch".'


def test_what_the_model_is_asked_has_every_field_under_its_title():
    inputs = Inputs(("contx", "syn-resp", "ner", "know", "source"), View(turns=0, order="oldest"))
    one = GateInput(
        TURNS[1],
        synthetic="Off to Capri!",
        evidence=("Boats leave at nine.", "Tea is free."),
        sources=(Source("A", "b"),),
    )
    [prompt] = tuned_prompts(inputs, [one])
    assert prompt.messages[-1].content == (
        "Dialogue:\nUser: Hi. Agent: Hello! User: Thanks a lot, bye!\n\n"
        "A reply without outside knowledge:\nOff to Capri!\n\n"
        "Names and numbers in it:\ncapri\n\n"
        "Knowledge:\nBoats leave at nine.\nTea is free.\n\n"
        "Sources:\nA: b\n\n"
        "Would outside knowledge make the reply better? True or False:"
    )


def test_what_is_not_there_is_asked_about_as_null():
    [prompt] = tuned_prompts(Inputs(("contx", "know"), View(language="zh")), [GateInput(TURNS[0])])
    assert "资料：\nNULL\n" in prompt.messages[-1].content
