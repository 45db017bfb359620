"""Frozen layers are read once for a tree, and nothing that is learned or measured changes by it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.models.torch.causal_lm import Causal
from dragoman.models.torch.lora import LoraSpec, add_adapter
from dragoman.models.unified.frozen_layer_cache import FrozenLayerCache
from dragoman.models.unified.packed import pack, states
from dragoman.models.unified.token_tree import Segment, laid_out

TREES = [
    [Segment((1, 2, 3)), Segment((4,), 0), Segment((5, 6), 0, (1,))],
    [Segment((7, 8))],
    [Segment((1, 2, 3, 4, 5, 6)), Segment((9,), 0)],
    [Segment((3,)), Segment((2,), 0), Segment((2, 2), 1)],
]


def adapted(layers, dropout=0.0):
    from transformers import LlamaConfig, LlamaForCausalLM

    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4}
        config = LlamaConfig(
            **sizes, num_attention_heads=4, num_key_value_heads=2, initializer_range=0.3, attention_dropout=dropout
        )
        base = LlamaForCausalLM(config).eval().requires_grad_(False)
        model = add_adapter(Causal(base, None), LoraSpec(rank=2, dropout=0.0, layers=layers), seed=1).model
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(parameter, std=0.3)
        return model


@pytest.fixture(scope="module")
def model():
    return adapted(2)


def read(model, monkeypatch):
    """How many tokens the lowest layer reads from now on."""
    seen = []
    layer = model.get_base_model().get_decoder().layers[0]
    mlp = layer.mlp.forward
    monkeypatch.setattr(
        layer.mlp, "forward", lambda given: (seen.append(given.shape[0] * given.shape[1]), mlp(given))[1]
    )
    return seen


def test_as_many_layers_are_frozen_as_lie_below_the_adapter(model):
    assert FrozenLayerCache.of(model).count == 2


def test_there_is_none_below_an_adapter_on_all_layers_or_a_trained_embedding():
    assert FrozenLayerCache.of(adapted(0)) is None
    rows = adapted(2)
    rows.get_base_model().get_input_embeddings().weight.requires_grad_(True)
    assert FrozenLayerCache.of(rows) is None


def test_layers_that_drop_by_chance_are_never_kept():
    assert FrozenLayerCache.of(adapted(2, dropout=0.1)) is None


@settings(max_examples=20)
@given(st.lists(st.sampled_from(TREES), min_size=1, max_size=5), st.sets(st.integers(0, 3)))
def test_states_are_those_of_the_whole_model(model, trees, known):
    below = FrozenLayerCache.of(model)
    below.announce(laid_out(TREES[i]) for i in known)
    packed = pack(trees)
    with torch.no_grad():
        expected = states(model, packed, device="cpu")
        for _ in range(2):
            found = states(model, packed, device="cpu", below=below)
            for row, start, layout in packed.starts:
                end = start + len(layout.tokens)
                assert torch.allclose(found[row, start:end], expected[row, start:end], atol=1e-4)


def test_gradients_are_those_of_the_whole_model(model):
    packed, below = pack(TREES[:1]), FrozenLayerCache.of(model)
    found = []
    for given_below in (None, below):
        model.zero_grad()
        states(model, packed, device="cpu", below=given_below).square().sum().backward()
        found.append([each.grad.clone() for each in model.parameters() if each.grad is not None])
    assert len(found[0]) == len(found[1]) > 0
    assert all(torch.allclose(one, other, atol=1e-3, rtol=1e-3) for one, other in zip(*found, strict=True))


def test_an_announced_tree_is_read_once_and_another_each_time(model, monkeypatch):
    below = FrozenLayerCache.of(model)
    below.announce([laid_out(TREES[0])])
    seen = read(model, monkeypatch)
    for _ in range(3):
        states(model, pack([TREES[0]]), device="cpu", below=below)
    assert seen == [6]
    for _ in range(2):
        states(model, pack([TREES[0], TREES[1]]), device="cpu", below=below)
    assert seen == [6, 2, 2]


def test_what_an_announced_tree_reads_as_does_not_depend_on_where_it_is_met_first(model):
    one, other = FrozenLayerCache.of(model), FrozenLayerCache.of(model)
    for below in (one, other):
        below.announce(laid_out(tree) for tree in TREES)
    one.states(pack(TREES[:3]))
    first, second = one.states(pack([TREES[3]])), other.states(pack([TREES[3]]))
    assert torch.equal(first, second)


def test_no_more_is_kept_than_there_is_room_for(model, monkeypatch):
    below = FrozenLayerCache(model, 2, most=4 * 32 * 3)  # three tokens: the tree of two, and no other
    below.announce(laid_out(tree) for tree in TREES)
    seen = read(model, monkeypatch)
    for _ in range(2):
        below.states(pack(TREES[1:3]))
    assert sorted(seen) == [2, 7, 7]


def test_the_model_is_whole_again_after_a_pass(model):
    packed = pack(TREES)
    with torch.no_grad():
        before = states(model, packed, device="cpu")
        states(model, packed, device="cpu", below=FrozenLayerCache.of(model))
        assert torch.equal(states(model, packed, device="cpu"), before)
