"""Trees of tokens packed into rows for one pass of a causal model: masks, hidden states and logits.

Trees never attend to each other. Rows have a dense mask for SDPA, or a block mask for FlexAttention, which skips blocks
that no token attends to: there all trees of a batch lie in one long row.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from dragoman.models.torch.process_wide import FirstInLastOut
from dragoman.models.unified.masks import BLOCK, block_mask, evidence_mask
from dragoman.models.unified.token_tree import Layout, Segment, laid_out
from dragoman.models.unified.tree_attention import use_tree_attention

Attention: TypeAlias = Literal["sdpa", "flex"]


@dataclass(frozen=True, slots=True)
class Packed:
    """Rows of trees: ids, positions and owners are (B, T); `visible[b, q, k]` says whether segment q sees segment k.

    `starts` has each tree's row, its first column there, and its layout. Padding is the last segment of a row.
    """

    ids: Tensor
    positions: Tensor
    owners: Tensor
    visible: Tensor
    starts: tuple[tuple[int, int, Layout], ...]

    def place(self, tree: int, segment: int, offset: int) -> tuple[int, int]:
        """The row and column of a token."""
        row, start, layout = self.starts[tree]
        return row, start + layout.place(segment, offset)

    def row(self, number: int) -> Packed:
        """One row; `place` works on the whole batch only."""
        one = slice(number, number + 1)
        return Packed(self.ids[one], self.positions[one], self.owners[one], self.visible[one], ())

    def to(self, device: str) -> Packed:
        moved = (each.to(device, non_blocking=True) for each in (self.ids, self.positions, self.owners, self.visible))
        ids, positions, owners, visible = moved
        return Packed(ids, positions, owners, visible, self.starts)


class LowerLayerCache(Protocol):
    """Cache of the lowest layers' outputs (`models/unified/frozen_layer_cache.py`)."""

    def states(self, packed: Packed) -> Tensor:
        """The cached states of all tokens of packed trees, (B, T, width)."""

    def skipped(self, states: Tensor) -> AbstractContextManager[None]:
        """Inside the block those layers return `states`."""


def pack(trees: Sequence[Sequence[Segment]], *, width: int | None = None) -> Packed:
    """Pack trees into rows of `width` (None: the longest tree) by first fit.

    Where a tree is longer than `width`, rows are as many blocks wide as it needs.
    """
    return pack_layouts([laid_out(tree) for tree in trees], width=width)


def pack_layouts(layouts: Sequence[Layout], *, width: int | None = None) -> Packed:
    """`pack` for trees that are laid out already."""
    sizes = [len(layout.tokens) for layout in layouts]
    wide = max(sizes)
    if width is not None:
        wide = width if wide <= width else -(-wide // BLOCK) * BLOCK
    room: list[int] = []
    members: list[list[int]] = []
    for number in sorted(range(len(layouts)), key=lambda i: -sizes[i]):
        row = next((i for i, free in enumerate(room) if free >= sizes[number]), len(room))
        if row == len(room):
            room.append(wide)
            members.append([])
        room[row] -= sizes[number]
        members[row].append(number)
    most = max(sum(len(layouts[i].starts) for i in row) for row in members) + 1
    ids, positions = np.zeros((2, len(members), wide), dtype=np.int64)
    owners = np.full((len(members), wide), most - 1)
    visible = np.zeros((len(members), most, most), dtype=bool)
    visible[:, most - 1, most - 1] = True
    starts: list[tuple[int, int, Layout]] = [(0, 0, layout) for layout in layouts]
    for row, inside in enumerate(members):
        at = first = 0
        for number in inside:
            layout, size = layouts[number], sizes[number]
            starts[number] = (row, at, layout)
            ids[row, at : at + size] = layout.tokens
            positions[row, at : at + size] = layout.positions
            owners[row, at : at + size] = np.array(layout.segments) + first
            count = len(layout.starts)
            visible[row, first : first + count, first : first + count] = layout.visible
            at, first = at + size, first + count
    tensors = [torch.from_numpy(table) for table in (ids, positions, owners, visible)]
    return Packed(tensors[0], tensors[1], tensors[2], tensors[3], tuple(starts))


def dense(packed: Packed) -> Tensor:
    """The dense mask: which keys each token attends to, (B, 1, T, T), bool."""
    places = torch.arange(packed.ids.shape[1], device=packed.ids.device)[None]
    mask = evidence_mask(packed.visible, packed.owners, packed.owners, query_places=places, key_places=places)
    return mask[:, None]


def blocks(packed: Packed) -> Any:
    """The block mask for FlexAttention."""
    return block_mask(packed.visible, packed.owners)


def states(
    model: Any, packed: Packed, *, device: str, attention: Attention = "sdpa", below: LowerLayerCache | None = None
) -> Tensor:
    """The last hidden states of all tokens, (B, T, width), without logits.

    `below` caches the outputs of frozen layers, on a CPU.
    """
    owner = unwrapped(model)
    decoder = owner.get_decoder()
    batch = packed.to(device)
    if attention == "flex":
        rows = [batch.row(i) for i in range(len(batch.ids))]  # one by one: each has the same shape, compiled once
        hidden = [_passed(decoder, row, blocks(row)) for row in rows]
        return torch.cat(hidden)
    if below is not None:
        with below.skipped(below.states(packed)):
            return _passed(decoder, batch, dense(batch))
    with plain_attention(device):
        return _passed(decoder, batch, dense(batch))


def use_attention(model: Any, attention: Attention) -> None:
    """Set the attention implementation of a model."""
    if attention == "flex":
        use_tree_attention(unwrapped(model))
    else:
        unwrapped(model).set_attn_implementation("sdpa")


def compile_layers(model: Any) -> None:
    """Compile each layer on its first pass; weights and their names do not change."""
    for layer in unwrapped(model).get_decoder().layers:
        layer.compile()


def vocabulary_logits(model: Any, hidden: Tensor) -> Tensor:
    """The logits of all tokens after hidden states (N, width), (N, V), float32, as the model's family scales them."""
    owner = unwrapped(model)
    return scaled(owner.config, owner.get_output_embeddings()(hidden).float())


def some_logits(model: Any, hidden: Tensor, tokens: Sequence[int]) -> Tensor:
    """The logits of some tokens, (N, tokens), float32, without computing the others."""
    owner = unwrapped(model)
    head = owner.get_output_embeddings()
    numbers = torch.tensor(list(tokens), device=hidden.device)
    if hasattr(head, "some"):
        rows: Tensor = head.some(numbers)
    elif type(head) is torch.nn.Linear and head.bias is None:
        rows = head.weight[numbers]
    else:
        return vocabulary_logits(model, hidden)[:, numbers]
    return scaled(owner.config, torch.nn.functional.linear(hidden, rows.to(hidden.dtype)).float())


def scaled(config: Any, logits: Tensor) -> Tensor:
    """Apply the scaling and capping of logits that some model families have after the output layer."""
    if (scaling := getattr(config, "logits_scaling", None)) is not None:
        logits = logits / scaling
    if (scale := getattr(config, "logit_scale", None)) is not None:
        logits = logits * scale
    if (cap := getattr(config, "final_logit_softcapping", None)) is not None:
        logits = torch.tanh(logits / cap) * cap
    return logits


def plain_attention(device: str) -> AbstractContextManager[object]:
    """Switch off cuDNN's attention kernel on a GPU, which returns NaN for some masks."""
    return _plain if device.startswith("cuda") else nullcontext()


def _without_cudnn() -> AbstractContextManager[object]:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    kernels: AbstractContextManager[object] = sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH])
    return kernels


_plain = FirstInLastOut(_without_cudnn)


def unwrapped(model: Any) -> Any:
    """The causal model inside a PEFT wrapper; its layers may carry an adapter."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _passed(decoder: Any, packed: Packed, mask: Any) -> Tensor:
    hidden: Tensor = decoder(
        input_ids=packed.ids, attention_mask=mask, position_ids=packed.positions, use_cache=False
    ).last_hidden_state
    return hidden
