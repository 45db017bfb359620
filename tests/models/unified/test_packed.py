"""Trees packed into rows: what a tree is told does not depend on what lies beside it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.models.unified.masks import BLOCK, layout_mask
from dragoman.models.unified.packed import blocks, dense, pack, states, use_attention, vocabulary_logits
from dragoman.models.unified.token_tree import Segment, laid_out

TREE = (Segment((1, 2, 3)), Segment((4, 5), 0), Segment((6, 7), 1), Segment((8,), 0, (1, 2)))
OTHER = (Segment((9, 2, 3, 5)), Segment((4, 5, 9, 9), 0))


@st.composite
def forests(draw):
    found = []
    for _ in range(draw(st.integers(1, 5))):
        tree = [Segment(tuple(range(draw(st.integers(1, 40)))))]
        for number in range(1, draw(st.integers(1, 5))):
            sees = tuple(draw(st.sets(st.integers(0, number - 1), max_size=2)))
            size = draw(st.integers(1, 60))
            tree.append(Segment(tuple(range(size)), draw(st.integers(0, number - 1)), sees))
        found.append(tree)
    return found


@pytest.fixture(scope="module")
def model():
    from transformers import LlamaConfig, LlamaForCausalLM

    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
        return LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=2)).eval()


@torch.no_grad()
def test_a_tree_beside_others_reads_as_it_does_alone(model):
    beside = pack([OTHER, TREE, OTHER], width=20)
    alone = pack([TREE])
    whole, own = states(model, beside, device="cpu"), states(model, alone, device="cpu")
    for segment, one in enumerate(TREE):
        for offset in range(len(one.tokens)):
            here, there = beside.place(1, segment, offset), alone.place(0, segment, offset)
            assert torch.allclose(whole[here], own[there], atol=1e-5)


@torch.no_grad()
def test_the_logits_are_the_models_own(model):
    row = pack([[Segment((1, 2, 3))]])
    told = vocabulary_logits(model, states(model, row, device="cpu")[0])
    assert torch.allclose(told, model(torch.tensor([[1, 2, 3]])).logits[0], atol=1e-5)


@given(forests(), st.integers(0, 400))
def test_first_fit_loses_nothing_and_masks_are_those_of_the_trees(forest, width):
    packed = pack(forest, width=width)
    mask = dense(packed)[:, 0]
    taken = torch.zeros(packed.ids.shape, dtype=torch.bool)
    for number, tree in enumerate(forest):
        row, start, layout = packed.starts[number]
        inside = slice(start, start + len(layout.tokens))
        assert packed.ids[row, inside].tolist() == [token for one in tree for token in one.tokens]
        assert torch.equal(mask[row, inside, inside], layout_mask(laid_out(tree)))
        assert not taken[row, inside].any()
        taken[row, inside] = True
        outside = torch.ones(packed.ids.shape[1], dtype=torch.bool)
        outside[inside] = False
        assert not mask[row, inside][:, outside].any()  # no tree sees another, nor padding
    assert mask.any(-1).all()  # and no token sees nothing, which softmax could not bear


@given(forests())
def test_the_mask_by_blocks_is_the_dense_one(forest):
    from torch.nn.attention.flex_attention import create_mask

    size = sum(len(one.tokens) for tree in forest for one in tree)
    packed = pack(forest, width=-(-size // BLOCK) * BLOCK)
    found, width = blocks(packed), packed.ids.shape[1]
    by_token = create_mask(found.mask_mod, len(packed.ids), 1, width, width, device="cpu")
    exact = dense(packed)
    assert torch.equal(by_token, exact)
    count = width // BLOCK
    seen = exact[:, 0].view(len(packed.ids), count, BLOCK, count, BLOCK)
    listed = torch.zeros(count, count, dtype=torch.bool)
    whole = torch.zeros(count, count, dtype=torch.bool)
    for table, numbers, which in (
        (listed, found.kv_num_blocks, found.kv_indices),
        (whole, found.full_kv_num_blocks, found.full_kv_indices),
    ):
        for query in range(count):
            table[query, which[0, 0, query, : int(numbers[0, 0, query])].long()] = True
    assert not (listed & whole).any()
    assert (listed | whole)[seen[0].any(3).any(1)].all()  # nothing that is seen is skipped
    assert seen[0].all(3).all(1)[whole].all()  # what counts as seen whole is


@pytest.mark.filterwarnings("ignore:.*flex_attention.*")
@pytest.mark.parametrize("heads", [(4, 2), (6, 2)], ids=["shared by two", "shared by three"])
@torch.no_grad()
def test_flex_attention_gives_what_the_dense_mask_gives(heads):
    from transformers import LlamaConfig, LlamaForCausalLM

    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes = {"vocab_size": 64, "hidden_size": 48, "intermediate_size": 48, "num_hidden_layers": 2}
        own = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=heads[0], num_key_value_heads=heads[1])).eval()
    packed = pack([TREE, OTHER] * 12, width=2 * BLOCK)
    use_attention(own, "sdpa")
    expected = states(own, packed, device="cpu")
    use_attention(own, "flex")
    found = states(own, packed, device="cpu", attention="flex")
    real = packed.owners != packed.visible.shape[1] - 1
    assert torch.allclose(found[real], expected[real], atol=1e-5)


def test_rows_that_are_not_made_of_blocks_are_refused():
    with pytest.raises(ValueError, match="not made of blocks"):
        blocks(pack([TREE]))


def test_a_tree_longer_than_a_row_takes_whole_blocks():
    packed = pack([[Segment(tuple(range(300)))], [Segment((1, 2))]], width=2 * BLOCK)
    assert packed.ids.shape == (1, 3 * BLOCK)
    assert blocks(packed) is not None
