"""The evidence attention mask (UniMS-RAG, Fig. 2): which tokens of a tree each token attends to.

A token attends to the segments that its own segment may see, and there to no later token. `evidence_mask` is that rule
for SDPA, `block_mask` the same by blocks for FlexAttention; packed rows, passes with a cache and tests all use these.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dragoman.models.unified.token_tree import Layout

BLOCK = 128
"""Tokens of a block of FlexAttention."""


def evidence_mask(
    visible: Tensor, queries: Tensor, keys: Tensor, *, query_places: Tensor, key_places: Tensor
) -> Tensor:
    """Return which keys each query attends to, (B, Q, K), bool.

    `visible` (B, S, S) says which segments a segment sees; queries (B, Q) and keys (B, K) are the segments of tokens,
    their places (B or 1, Q and K) the order in which the tokens stand.
    """
    # two steps: one with all three indices would first write them out, 24 bytes for each of the mask's
    count, size = visible.shape[2], queries.shape[1]
    rows = visible.gather(1, queries[:, :, None].expand(-1, -1, count))  # (B, Q, S)
    mask = rows.gather(2, keys[:, None].expand(-1, size, -1))  # (B, Q, K)
    return mask & (query_places[:, :, None] >= key_places[:, None])


def layout_mask(layout: Layout, *, start: int = 0) -> Tensor:
    """The mask of one tree by itself, (T - start, T), bool; queries from `start` on, where the rest is in a cache."""
    segments = torch.tensor([layout.segments], dtype=torch.long)
    visible = torch.tensor([layout.visible], dtype=torch.bool)
    places = torch.arange(len(layout.tokens))[None]
    return evidence_mask(visible, segments[:, start:], segments, query_places=places[:, start:], key_places=places)[0]


def block_mask(visible: Tensor, owners: Tensor) -> Any:
    """The mask of rows (B, T) by blocks. Segments tell which blocks are seen at all, and which whole, not tokens.

    A block that is seen in part is masked token by token, so that it may be listed once too often and nothing changes.
    """
    from torch.nn.attention.flex_attention import BlockMask

    visible = _rounded(visible)
    size, width = owners.shape
    count = width // BLOCK
    if width % BLOCK:
        raise ValueError(f"A row of {width} tokens is not made of blocks of {BLOCK}.")
    has = torch.zeros((size, count, visible.shape[1]), device=owners.device)
    has.scatter_(2, owners.view(size, count, BLOCK), 1.0)  # (B, blocks, segments)
    pairs = has @ visible.float() @ has.transpose(1, 2)  # how many pairs of segments see each other
    all_pairs = has.sum(-1)[:, :, None] * has.sum(-1)[:, None, :]
    order = torch.arange(count, device=owners.device)
    seen = (pairs > 0) & (order[:, None] >= order)
    whole = (pairs == all_pairs) & (order[:, None] > order)
    parts = [_listed(seen & ~whole), _listed(whole)]

    def sees(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return (q >= k) & visible[b, owners[b, q], owners[b, k]]

    return BlockMask.from_kv_blocks(*parts[0], *parts[1], BLOCK_SIZE=BLOCK, mask_mod=sees)


def _rounded(visible: Tensor) -> Tensor:
    """The table with a number of segments that is a power of two, so that few shapes are compiled."""
    count = visible.shape[1]
    more = (1 << (count - 1).bit_length()) - count
    return torch.nn.functional.pad(visible, (0, more, 0, more))


def _listed(visible: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks each block of queries sees, (B, 1, Q), and which, these first, (B, 1, Q, K)."""
    number = visible.sum(-1).to(torch.int32)
    which = torch.argsort(visible.to(torch.int8), dim=-1, descending=True, stable=True).to(torch.int32)
    return number[:, None], which[:, None]
