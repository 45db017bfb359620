"""RAGate-MHA in torch: a small attention encoder over words, trained from scratch, with one score a turn.

Each layer attends over the turn itself, or, with `cross`, over the knowledge retrieved for it: the turn's words are the
queries, the knowledge's words the keys and values. Padding is neither attended nor pooled, so that a turn's score does
not depend on its batch. `models/onnx/attention_scorer.py` runs the exported model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.core.errors import ConfigError
from dragoman.models.onnx.attention_scorer import SEGMENTS, TokenRow


@dataclass(frozen=True, slots=True)
class EncoderShape:
    """The encoder's size; `words` is the size of its vocabulary."""

    words: int
    width: int = 64
    layers: int = 2
    heads: int = 4
    max_tokens: int = 128
    dropout: float = 0.1
    cross: bool = False

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ConfigError(
                f"An attention gate's width of {self.width} cannot be parted among {self.heads} heads.",
                remedy="Give a width that the number of heads divides.",
            )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def hiding(mask: Tensor) -> Tensor:
    """The additive mask of the keys' scores, (..., S): the lowest float outside the mask (..., S), else 0.

    A softmax over no key is not a number, so an empty mask hides none.
    """
    visible = mask | ~mask.any(-1, keepdim=True)
    return torch.where(visible, 0.0, torch.finfo(torch.float32).min)


def attend(query: Tensor, key: Tensor, value: Tensor, hidden: Tensor) -> Tensor:
    """softmax(Q K^T / sqrt(d) + hidden) V: `query` (..., T, d), `key` and `value` (..., S, d) -> (..., T, d)."""
    return nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=hidden.to(query.dtype))


def pool(states: Tensor, mask: Tensor) -> Tensor:
    """The mean of the states inside the mask, (B, D); zero for an empty mask."""
    counted = mask.unsqueeze(-1).to(states.dtype)  # (B, T, 1)
    return (states * counted).sum(1) / counted.sum(1).clamp(min=1.0)


class Layer(nn.Module):
    """A post-norm transformer layer: attention over a memory and a feed-forward block, each with a residual."""

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)  # the papers' FFN is as wide as d
        self.norm_attention, self.norm_steps = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, states: Tensor, memory: Tensor, hidden: Tensor, counts: Tensor | None = None) -> Tensor:
        """`states` (B, T, D) attend to `memory` (B, S, D) under the additive mask `hidden` (B, 1, 1, S).

        `counts` (B, 1, 1) is 0 for a row with an empty memory, whose attention is then zero.
        """
        query, key, value = self._split(self.query(states)), self._split(self.key(memory)), self.value(memory)
        attended = attend(query, key, self._split(value), hidden)  # (B, H, T, D / H)
        joined = self.out(attended.transpose(1, 2).flatten(2))
        joined = joined if counts is None else joined * counts
        states = self.norm_attention(states + self.dropout(joined))
        stepped = self.second(self.dropout(self.first(states).relu()))
        normed: Tensor = self.norm_steps(states + self.dropout(stepped))
        return normed

    def _split(self, states: Tensor) -> Tensor:
        """(B, T, D) as (B, H, T, D / H)."""
        rows, length, width = states.shape
        return states.reshape(rows, length, self.heads, width // self.heads).transpose(1, 2)


class AttentionEncoder(nn.Module):
    """Embeddings of words, positions and segments, layers of attention, and one log-odds a turn."""

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.words, shape.width)
        self.places = nn.Embedding(shape.max_tokens, shape.width)
        self.segments = nn.Embedding(SEGMENTS, shape.width)
        self.norm = nn.LayerNorm(shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.head = nn.Linear(shape.width, 1)
        for table in (self.words, self.places, self.segments):
            nn.init.normal_(table.weight, std=0.02)

    def embed(self, ids: Tensor, segments: Tensor) -> Tensor:
        """The input of the first layer, (B, T, D)."""
        places = torch.arange(ids.shape[1], device=ids.device)
        embedded: Tensor = self.dropout(self.norm(self.words(ids) + self.places(places) + self.segments(segments)))
        return embedded

    def states(self, rows: Sequence[Tensor]) -> Tensor:
        """The states of all tokens, (B, T, D); `rows` are the tensors of `padded`."""
        ids, mask, segments, *knowledge = rows
        states = self.embed(ids, segments)
        if not knowledge:
            hidden = hiding(mask > 0)[:, None, None, :]
            for layer in self.layers:
                states = layer(states, states, hidden)
            return states
        know_ids, know_mask, know_segments = knowledge
        memory = self.embed(know_ids, know_segments)
        hidden = hiding(know_mask > 0)[:, None, None, :]
        counts = (know_mask > 0).any(-1).to(states.dtype)[:, None, None]
        for layer in self.layers:
            states = layer(states, memory, hidden, counts)
        return states

    def pooled(self, rows: Sequence[Tensor]) -> Tensor:
        """One vector a turn, (B, D)."""
        return pool(self.states(rows), rows[1] > 0)

    def forward(  # noqa: PLR0917  # one by one, since the exporter gives each a shape of its own
        self,
        ids: Tensor,
        mask: Tensor,
        segments: Tensor,
        know_ids: Tensor | None = None,
        know_mask: Tensor | None = None,
        know_segments: Tensor | None = None,
    ) -> Tensor:
        """The log-odds that the turn needs retrieval, (B, 1)."""
        inputs = (ids, mask, segments, know_ids, know_mask, know_segments)
        logits: Tensor = self.head(self.dropout(self.pooled([tensor for tensor in inputs if tensor is not None])))
        return logits


def padded(rows: Sequence[TokenRow], *, cross: bool, device: str = "cpu") -> tuple[Tensor, ...]:
    """Rows as tensors: ids, mask and segments of the turn, (B, T); of the knowledge as well, (B, S), with `cross`."""
    tensors = _stacked([row.turn for row in rows], device)
    return tensors + _stacked([row.knowledge for row in rows], device) if cross else tensors


def _stacked(streams: Sequence[tuple[Sequence[int], Sequence[int]]], device: str) -> tuple[Tensor, ...]:
    longest = max(1, *(len(ids) for ids, _ in streams))
    ids = torch.zeros((len(streams), longest), dtype=torch.long)
    mask, segments = torch.zeros_like(ids), torch.zeros_like(ids)
    for i, (own, parts) in enumerate(streams):
        ids[i, : len(own)] = torch.tensor(own, dtype=torch.long)
        segments[i, : len(own)] = torch.tensor(parts, dtype=torch.long)
        mask[i, : len(own)] = 1
    return ids.to(device), mask.to(device), segments.to(device)
