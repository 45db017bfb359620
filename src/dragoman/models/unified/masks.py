"""The evidence attention mask as a pure function of a layout: dense for SDPA, by blocks for FlexAttention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dragoman.models.unified.token_tree import Layout


def dense_mask(layout: Layout, *, start: int = 0) -> Tensor:
    """Which keys each query sees, (T - start, T), bool: the segment is visible, and the key is not later.

    With `start` only the queries from there on, where the tokens before lie in a cache already.
    """
    segments, visible = _tables(layout)
    places = torch.arange(len(layout.tokens))
    rows = places[start:, None] >= places  # (Q, T)
    return rows & visible[segments[start:, None], segments]


def dense_batch(layouts: Sequence[Layout], *, width: int | None = None) -> Tensor:
    """The masks of several rows padded on the right, (B, T, T), bool; padding sees itself alone, so no row is empty."""
    longest = max(len(layout.tokens) for layout in layouts) if width is None else width
    found = torch.eye(longest, dtype=torch.bool).repeat(len(layouts), 1, 1)
    for row, layout in zip(found, layouts, strict=True):
        size = len(layout.tokens)
        row[:size, :size] = dense_mask(layout)
    return found


def block_mask(layouts: Sequence[Layout], *, width: int, device: str, block: int = 128) -> Any:
    """The same for FlexAttention, which skips blocks that nobody sees; `width` is the padded length."""
    from torch.nn.attention.flex_attention import create_block_mask

    most = max(len(layout.starts) for layout in layouts) + 1
    owners = torch.full((len(layouts), width), most - 1, dtype=torch.long)  # padding is a segment of its own
    tables = torch.zeros((len(layouts), most, most), dtype=torch.bool)
    for i, layout in enumerate(layouts):
        segments, visible = _tables(layout)
        owners[i, : len(segments)] = segments
        tables[i, : len(visible), : len(visible)] = visible
    tables[:, most - 1, most - 1] = True
    owners, tables = owners.to(device), tables.to(device)

    def seen(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return (q >= k) & tables[b, owners[b, q], owners[b, k]]

    return create_block_mask(seen, len(layouts), None, width, width, device=device, BLOCK_SIZE=block)


def _tables(layout: Layout) -> tuple[Tensor, Tensor]:
    return torch.tensor(layout.segments, dtype=torch.long), torch.tensor(layout.visible, dtype=torch.bool)
