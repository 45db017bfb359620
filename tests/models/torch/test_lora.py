"""Adapters: what a fresh one changes, saving and loading, and the same adapter in llama.cpp's own format."""

from __future__ import annotations

import json

import pytest

from dragoman.core.errors import WeightsError
from dragoman.core.values import Prompt
from dragoman.models import weights

ASKED = Prompt.user("Is the sky blue?").messages


@pytest.fixture
def base(tiny_causal):
    from dragoman.models.torch.causal_lm import load_causal

    return lambda: load_causal(tiny_causal)


def trained(base, seed=1):
    """An adapter that changes something: B is not zero."""
    import torch

    from dragoman.models.torch.lora import LoraSpec, add_adapter

    found = add_adapter(base(), LoraSpec(rank=4, alpha=8, dropout=0.0), seed=seed)
    torch.manual_seed(seed)
    for name, parameter in found.model.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(0, 0.3)
    found.model.eval()
    return found


def logits(causal):
    import torch

    with torch.inference_mode():
        return causal.logits([causal.encode(ASKED, 300)])[0]


def test_a_fresh_adapter_changes_nothing_and_is_all_that_is_trained(base):
    from dragoman.models.torch.lora import LoraSpec, add_adapter

    causal = add_adapter(base(), LoraSpec(rank=4, alpha=8), seed=1)
    causal.model.eval()
    assert logits(causal).tolist() == pytest.approx(logits(base()).tolist(), abs=1e-6)
    learned = [name for name, parameter in causal.model.named_parameters() if parameter.requires_grad]
    assert len(learned) == 2 * 7 * 2  # A and B on seven linear layers of each of two blocks
    assert all("lora_" in name for name in learned)


def test_the_adapter_adds_alpha_over_rank_times_b_a(base):
    import torch

    causal = trained(base)
    layer = causal.model.base_model.model.model.layers[0].mlp.up_proj
    given = torch.randn(3, 32, generator=torch.Generator().manual_seed(2))
    a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
    expected = given @ layer.base_layer.weight.T + (8 / 4) * given @ a.T @ b.T
    assert torch.allclose(layer(given), expected, atol=1e-5)


def test_the_same_seed_makes_the_same_adapter(base):
    from dragoman.models.torch.lora import LoraSpec, add_adapter

    first, again, other = (
        next(
            parameter
            for name, parameter in add_adapter(base(), LoraSpec(rank=2), seed=seed).model.named_parameters()
            if "lora_A" in name
        )
        for seed in (1, 1, 2)
    )
    assert first.equal(again)
    assert not first.equal(other)


@pytest.mark.parametrize("merge", [False, True])
def test_a_saved_adapter_says_what_it_said(base, tmp_path, merge):
    from dragoman.models.torch.lora import load_adapter, save_adapter

    causal = trained(base)
    save_adapter(causal, tmp_path, base="some-base")
    again = load_adapter(base(), tmp_path, merge=merge)
    assert logits(again).tolist() == pytest.approx(logits(causal).tolist(), abs=1e-4)
    assert logits(again).tolist() != pytest.approx(logits(base()).tolist(), abs=1e-2)


def test_a_saved_adapter_names_its_base_as_the_user_did_and_holds_no_weights_of_it(base, tmp_path, tiny_causal):
    from safetensors.torch import load_file

    from dragoman.models.torch.lora import CONFIG, WEIGHTS, save_adapter

    save_adapter(trained(base), tmp_path, base="some-base")
    assert json.loads((tmp_path / CONFIG).read_text())["base_model_name_or_path"] == "some-base"
    assert str(tiny_causal) not in (tmp_path / CONFIG).read_text()
    assert all("lora_" in name for name in load_file(tmp_path / WEIGHTS))


def test_an_adapter_of_another_model_is_refused(base, tmp_path):
    from safetensors.torch import load_file, save_file

    from dragoman.models.torch.lora import WEIGHTS, load_adapter, save_adapter

    save_adapter(trained(base), tmp_path, base="some-base")
    state = load_file(tmp_path / WEIGHTS)
    save_file({name.replace("layers.1", "layers.7"): tensor for name, tensor in state.items()}, tmp_path / WEIGHTS)
    with pytest.raises(WeightsError, match="another model"):
        load_adapter(base(), tmp_path)


def test_a_damaged_adapter_is_refused(base, tmp_path):
    from dragoman.models.torch.lora import WEIGHTS, load_adapter, save_adapter

    save_adapter(trained(base), tmp_path, base="some-base")
    (tmp_path / WEIGHTS).write_bytes(b"nonsense")
    with pytest.raises(WeightsError, match="cannot be put on its base"):
        load_adapter(base(), tmp_path)


def test_a_base_is_known_by_the_hash_of_its_weights(tiny_causal, tmp_path):
    import hashlib
    import shutil

    from dragoman.models.base_weights import base_digest

    assert base_digest(tiny_causal) == hashlib.sha256((tiny_causal / "model.safetensors").read_bytes()).hexdigest()
    copied = tmp_path / "copied"
    shutil.copytree(tiny_causal, copied)
    with (copied / "model.safetensors").open("ab") as file:
        file.write(b"x")
    assert base_digest(copied) != base_digest(tiny_causal)


@pytest.fixture
def saved(tmp_path):
    """An adapter of chance for a base of one layer, and the base's GGUF file, which has no weights."""
    import gguf
    import numpy as np
    from safetensors.numpy import save_file

    writer = gguf.GGUFWriter(tmp_path / "base.gguf", "llama")
    writer.add_block_count(1)
    writer.add_head_count(4)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    chance = np.random.default_rng(1)
    name = "base_model.model.model.layers.0.mlp.up_proj.lora_"
    state = {
        f"{name}A.weight": chance.normal(0, 0.1, (16, 64)).astype(np.float32),
        f"{name}B.weight": chance.normal(0, 0.1, (96, 16)).astype(np.float32),
    }
    save_file(state, tmp_path / "adapter_model.safetensors")
    (tmp_path / "adapter_config.json").write_text('{"lora_alpha": 8}')
    return tmp_path, state[f"{name}A.weight"], state[f"{name}B.weight"]


@pytest.mark.parametrize(
    ("precision", "kinds", "error"),
    [("f32", ("F32", "F32"), 0.0), ("f16", ("F16", "F16"), 1e-3), ("q8_0", ("Q8_0", "F16"), 5e-3)],
)
def test_an_adapter_is_as_small_as_asked_and_says_the_same(saved, precision, kinds, error):
    """Rows of 64 are two blocks of q8_0; those of 16 are less than one, and stay in 16 bits."""
    import gguf
    import numpy as np

    from dragoman.models.llamacpp.gguf_adapter import write_gguf_adapter

    folder, *matrices = saved
    reader = gguf.GGUFReader(write_gguf_adapter(folder, folder / "base.gguf", precision=precision))
    assert [tensor.name for tensor in reader.tensors] == [f"blk.0.ffn_up.weight.lora_{side}" for side in "ab"]
    assert tuple(tensor.tensor_type.name for tensor in reader.tensors) == kinds
    for tensor, matrix in zip(reader.tensors, matrices, strict=True):
        found = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(matrix.shape)
        assert np.abs(found - matrix).max() <= error


@pytest.mark.slow
@pytest.mark.integration
def test_an_adapter_runs_in_llama_cpp_as_it_does_in_torch(tmp_path):
    """The adapter is on the queries and keys alone, whose rows the two formats order differently."""
    import torch

    from dragoman.models.llamacpp.gguf_adapter import write_gguf_adapter
    from dragoman.models.llamacpp.model import LlamaCppModel
    from dragoman.models.torch.causal_lm import load_causal
    from dragoman.models.torch.lora import LoraSpec, add_adapter, save_adapter
    from dragoman.models.torch.model import HfModel

    name = "smollm2-135m-instruct"
    causal = add_adapter(load_causal(name), LoraSpec(targets=("q_proj", "k_proj")), seed=1)
    torch.manual_seed(3)
    for key, parameter in causal.model.named_parameters():
        if "lora_B" in key:
            parameter.data.normal_(0, 0.1)
    save_adapter(causal, tmp_path, base=name)
    prompts = [Prompt.user("Say hello."), Prompt.user("Name a river in France.")]
    plain = HfModel().choose(prompts, ("Yes", "No"))
    ours = HfModel(adapter=str(tmp_path)).choose(prompts, ("Yes", "No"))
    light = LlamaCppModel(adapter=str(write_gguf_adapter(tmp_path, weights.path(name))), parallel=1)
    try:
        theirs = light.choose(prompts, ("Yes", "No"))
    finally:
        light.close()
    assert abs(ours[0]["Yes"] - plain[0]["Yes"]) > 0.08, "the adapter does something"
    for one, other in zip(ours, theirs, strict=True):
        assert other["Yes"] == pytest.approx(one["Yes"], abs=0.05)
