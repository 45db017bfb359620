"""Opening a unified part: the base by its hash, the runtime by what the part can, shared inside the process."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from dragoman.core.errors import ConfigError, WeightsError
from dragoman.core.tokens import Grammar
from dragoman.core.values import Context
from dragoman.models.base_weights import base_digest
from dragoman.models.part import Head, Part, write_part
from dragoman.models.unified.loading import LazyUnified, offsets_of, open_unified
from dragoman.models.unified.model import CandidatePassage, Judging, TreeShape

SHAPE = TreeShape(Grammar(("PERSONA", "DOCUMENTS")), window=256, candidate=24, response=12)
JUDGING = Judging(Context.of("What does it cost?"), (CandidatePassage("DOCUMENTS", "34 francs."),))


@pytest.fixture(scope="module")
def made(tiny_causal, tmp_path_factory):
    """A part with an adapter of random weights and new rows on a small base."""
    import torch

    from dragoman.models.torch.causal_lm import load_causal
    from dragoman.models.torch.lora import LoraSpec
    from dragoman.models.unified.token_spelling import spell
    from dragoman.models.unified.vocabularies import tokenizer_vocabulary
    from dragoman.models.unified.weights import Tuning, for_training, save_weights, vocabulary_rows

    folder = tmp_path_factory.mktemp("unified")
    causal = load_causal(tiny_causal)
    vocabulary = tokenizer_vocabulary(causal.tokenizer, vocabulary_rows(causal))
    spelling = spell(SHAPE.grammar, "rows", vocabulary)
    trained = for_training(causal, spelling, Tuning(lora=LoraSpec(rank=2)), seed=1, vocabulary=vocabulary)
    with torch.no_grad():
        for name, weight in trained.model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.2)
    names = save_weights(trained, folder, kept="lora", base=str(tiny_causal))
    options = {
        "shape": SHAPE.to_json(),
        "spelling": spelling.to_json(),
        "base": str(tiny_causal),
        "base_sha256": base_digest(tiny_causal),
        "end": 1,
        "offsets": {"context": {"": -0.5, "PERSONA>DOCUMENTS": 1.0}},
        "weights": "lora",
    }
    return write_part(Part(folder, "unified", {"similarity": Head(("similar",))}, options), names)


def test_opened_part_plans_judges_and_says_its_offsets(made):
    opened = open_unified(made.folder, device="cpu")
    assert opened.shape == SHAPE
    assert opened.offsets("context") == {(): -0.5, ("PERSONA", "DOCUMENTS"): 1.0}
    assert opened.offsets("check") is None
    other = open_unified(made.folder, device="cpu", names={"DOCUMENTS": "REVIEWS"})
    assert other.shape.grammar.sources == ("PERSONA", "REVIEWS")
    judged = Judging(JUDGING.context, (CandidatePassage("REVIEWS", "34 francs."),))
    assert other.runtime.judge([judged]) == opened.runtime.judge([JUDGING])
    assert 0.0 <= opened.runtime.judge([JUDGING])[0][0] <= 1.0
    assert sum(opened.runtime.plan([JUDGING.context], [(), ("PERSONA",)])[0].values()) == pytest.approx(1.0)


def test_adapter_and_rows_are_on_the_base(made, tiny_causal):
    runtime = open_unified(made.folder, device="cpu").runtime
    causal = runtime._ready()[0].causal
    assert causal.model.get_input_embeddings().weight.shape[0] == 560 + len(SHAPE.grammar.tokens)
    runtime.close()


def test_roles_of_one_process_share_the_runtime_until_nobody_holds_it(made):
    first, second = LazyUnified(made.folder, device="cpu"), LazyUnified(str(made.folder), device="cpu", check=True)
    assert first.get().runtime is second.get().runtime
    before = id(first.get().runtime)
    other = open_unified(made.folder, device="cpu", precision="bfloat16").runtime
    assert id(other) != before
    del first, second
    gc.collect()
    from dragoman.models.unified import loading as unified_open

    assert list(unified_open._runtimes.values()) == [other]


def test_another_base_is_refused_by_its_hash(made, make_other_base):
    with pytest.raises(WeightsError, match="other weights than"):
        open_unified(made.folder, base=str(make_other_base), device="cpu")


@pytest.fixture
def make_other_base(tiny_causal, tmp_path):
    import shutil

    other = tmp_path / "other"
    shutil.copytree(tiny_causal, other)
    with (other / "model.safetensors").open("ab") as opened:
        opened.write(b"\0")
    return other


def test_base_may_lie_elsewhere(made, tiny_causal, tmp_path):
    import shutil

    shutil.copytree(tiny_causal, tmp_path / "moved")
    assert open_unified(made.folder, base=str(tmp_path / "moved"), device="cpu").part.options["base"].endswith("moved")


def test_part_of_another_kind_is_refused(tmp_path):
    write_part(Part(tmp_path, "gate.linear", {}), ())
    with pytest.raises(WeightsError, match="not a unified"):
        open_unified(tmp_path)


def test_llama_cpp_is_refused_with_the_reason(made):
    with pytest.raises(ConfigError, match=r"it has no adapter\.gguf"):
        open_unified(made.folder, runtime="llamacpp")
    with pytest.raises(ConfigError, match="cannot plan after reading"):
        LazyUnified(made.folder, runtime="llamacpp", check=True)


@pytest.fixture
def light(made, tmp_path, monkeypatch):
    """Makes parts that seem to have an adapter for llama.cpp, on a base that seems to be a GGUF file."""
    from dragoman.models.unified import loading as unified_open

    monkeypatch.setattr(unified_open, "is_gguf", lambda place: True)
    monkeypatch.setattr(unified_open, "_light", lambda part: _Light())

    def make(layout="tree", way="text"):
        (tmp_path / "adapter.gguf").write_bytes(b"GGUF")
        shape = SHAPE.to_json() | {"layout": layout}
        options = dict(made.options) | {"shape": shape, "spelling": {"way": way, "ids": []}}
        return write_part(Part(tmp_path, "unified", {}, options), ("adapter.gguf",)).folder

    return make


class _Light:
    """Stands for llama.cpp."""


def test_llama_cpp_is_chosen_where_the_part_can_run_in_it(light):
    assert isinstance(open_unified(light()).runtime, _Light)
    assert not isinstance(open_unified(light(), check=True, device="cpu").runtime, _Light)
    assert not isinstance(open_unified(light(), runtime="torch", device="cpu").runtime, _Light)


@pytest.mark.parametrize("options", [{"layout": "paper"}, {"way": "rows"}])
def test_what_only_torch_can_run_runs_in_torch(light, options):
    assert not isinstance(open_unified(light(**options), device="cpu").runtime, _Light)


def test_keys_of_offsets_are_orders():
    assert offsets_of({"": 1, "A": 2, "A>B": 3}) == {(): 1.0, ("A",): 2.0, ("A", "B"): 3.0}


def test_opening_the_rooms_loads_no_torch():
    code = "import sys, dragoman.planner, dragoman.retriever, dragoman.reader; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
