"""Passes of a causal model over trees of tokens: hidden states at given places, with a cache of keys and values.

A tree is one row. The cached prefix of its trunk is not read again; the rest goes through the model in one pass, with
several trees as padded rows, a dense mask, and positions from the layout.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from dragoman.core.errors import ModelError
from dragoman.models.torch.causal_lm import Causal
from dragoman.models.torch.process_wide import allow_tf32
from dragoman.models.unified.masks import evidence_mask
from dragoman.models.unified.packed import plain_attention, scaled, unwrapped
from dragoman.models.unified.prefix_cache import Layers, Prefixes
from dragoman.models.unified.token_tree import Layout, Segment, laid_out

log = logging.getLogger(__name__)
Place: TypeAlias = tuple[int, int]
"""A segment of a tree, and the offset of a token in it; a negative one counts from its end."""


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A tree, and the places whose hidden states the caller needs."""

    segments: tuple[Segment, ...]
    places: tuple[Place, ...]

    @property
    def trunk(self) -> tuple[int, ...]:
        return self.segments[0].tokens


@dataclass(slots=True)
class TreeReading:
    """State of rows after a pass, from which their last segments can be continued token by token.

    `states` are the hidden states of each row's places; `seen` says which of the cache's keys a row's last token sees,
    (B, K); `next` is the position that follows it, (B,). All of it lies where the model is.
    """

    states: list[Tensor]
    cache: Any
    seen: Tensor
    next: Tensor


class Passes:
    """Runs a model over rows. `fed` counts the tokens that went through it, padding left out."""

    def __init__(self, causal: Causal, *, kept_tokens: int, pass_tokens: int) -> None:
        self._causal = causal
        self._owner = unwrapped(causal.model)
        self._decoder = self._owner.get_decoder()
        self._head = self._owner.get_output_embeddings()
        self._pass_tokens = pass_tokens
        self.prefixes = Prefixes(kept_tokens)
        self.fed = 0

    def read(self, rows: Sequence[TreeRow]) -> list[Tensor]:
        """The hidden states at the places of each row, (places, width), whatever rows lie beside it."""
        hidden: list[Tensor] = [torch.empty(0)] * len(rows)
        waiting = list(self.batches(rows))
        while waiting:
            chosen = waiting.pop(0)
            try:
                reading = self.begin([rows[i] for i in chosen])
            except torch.OutOfMemoryError as error:
                self.prefixes.clear()
                if len(chosen) == 1:
                    raise out_of_memory(len(rows[chosen[0]].segments), error) from error
                log.warning("The device ran out of memory: %d turns are read in two halves.", len(chosen))
                waiting[:0] = [chosen[: len(chosen) // 2], chosen[len(chosen) // 2 :]]
                continue
            for number, states in zip(chosen, reading.states, strict=True):
                hidden[number] = states
        return hidden

    def batches(self, rows: Sequence[TreeRow]) -> Iterator[list[int]]:
        """Batches of row numbers, rows of similar length together, within the tokens of a pass."""
        sizes = [sum(len(segment.tokens) for segment in row.segments) for row in rows]
        order = sorted(range(len(rows)), key=lambda i: sizes[i])
        batch: list[int] = []
        for number in order:
            if batch and sizes[number] * (len(batch) + 1) > self._pass_tokens:
                yield batch
                batch = []
            batch.append(number)
        if batch:
            yield batch

    def begin(self, rows: Sequence[TreeRow]) -> TreeReading:
        """One pass over some rows."""
        layouts = [laid_out(row.segments) for row in rows]
        places = [[layout.place(*place) for place in row.places] for row, layout in zip(rows, layouts, strict=True)]
        prefixes = [self._cached_prefix(row, min(columns)) for row, columns in zip(rows, places, strict=True)]
        starts = [start for start, _ in prefixes]
        past = max(starts)
        width = max(len(layout.tokens) - start for layout, start in zip(layouts, starts, strict=True))
        ids, positions, mask = _padded(layouts, starts, past, width, device=self._causal.device)
        cache = self._cache(prefixes, past)
        states = self.forward(ids, positions, mask, cache)  # (B, Q, width of the model)
        self.fed += sum(len(layout.tokens) - start for layout, start in zip(layouts, starts, strict=True))
        self._keep(rows, starts, past, cache)
        last = [len(layout.tokens) - start - 1 for layout, start in zip(layouts, starts, strict=True)]
        return TreeReading(
            [
                states[i, torch.tensor(columns, device=states.device) - start]
                for i, (columns, start) in enumerate(zip(places, starts, strict=True))
            ],
            cache,
            mask[torch.arange(len(rows)), last],
            torch.tensor([layout.positions[-1] + 1 for layout in layouts], device=states.device),
        )

    def forward(self, ids: Tensor, positions: Tensor, mask: Tensor, cache: Any) -> Tensor:
        """The last hidden states of new tokens, (B, Q, width); `mask` (B, Q, K) says which keys each of them sees.

        All of it lies where the model is.
        """
        with torch.inference_mode(), plain_attention(self._causal.device), allow_tf32(self._causal.device):
            output = self._decoder(
                input_ids=ids,
                attention_mask=mask[:, None],
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
            )
        hidden: Tensor = output.last_hidden_state
        return hidden

    def spread(self, reading: TreeReading, rows: Sequence[int]) -> None:
        """Select rows of a reading, with repetitions, to continue them."""
        reading.cache.batch_select_indices(torch.tensor(list(rows), device=reading.states[0].device))
        reading.states = [reading.states[row] for row in rows]
        reading.seen, reading.next = reading.seen[list(rows)], reading.next[list(rows)]

    def go_on(self, reading: TreeReading, tokens: Tensor) -> Tensor:
        """One more token for each row, (B,): the hidden states, (B, width)."""
        reading.seen = torch.nn.functional.pad(reading.seen, (0, 1), value=True)
        states = self.forward(tokens[:, None], reading.next[:, None], reading.seen[:, None], reading.cache)
        reading.next = reading.next + 1
        self.fed += len(tokens)
        return states[:, 0]

    def spoken(self, states: Tensor) -> Tensor:
        """The logits of all tokens after hidden states (N, width), (N, V); float32, where the model is."""
        with torch.no_grad():
            return scaled(self._owner.config, self._head(states).float())

    def logits(self, states: Tensor, tokens: Sequence[int] | None = None) -> Tensor:
        """The logits of all tokens, or of some, after hidden states (N, width); float32, on the CPU."""
        with torch.no_grad():
            weight = getattr(self._head, "weight", None)
            if tokens is not None and type(self._head) is torch.nn.Linear and weight is not None:
                rows = torch.tensor(list(tokens), device=weight.device)
                bias = self._head.bias
                logits = states.float() @ weight[rows].float().T + (0.0 if bias is None else bias[rows].float())
                return scaled(self._owner.config, logits).cpu()
            logits = self.spoken(states).cpu()
            return logits if tokens is None else logits[:, list(tokens)]

    def _cached_prefix(self, row: TreeRow, first_place: int) -> tuple[int, Layers]:
        """The cached prefix of a row's trunk, up to the first place that is needed."""
        prefix, layers = self.prefixes.find(row.trunk)
        return min(prefix, first_place), layers

    def _cache(self, prefixes: Sequence[tuple[int, Layers]], past: int) -> Any:
        """Join cached prefixes into one cache of `past` keys; shorter ones are padded with masked keys."""
        cache = _library().DynamicCache()
        if not past:
            return cache
        for layer in range(max(len(layers) for _, layers in prefixes)):
            pairs = [(start, layers[layer] if start else None) for start, layers in prefixes]
            example = next(pair for _, pair in pairs if pair is not None)
            joined = []
            for which in (0, 1):
                whole = [
                    example[which].new_zeros((1, example[which].shape[1], past, example[which].shape[3]))
                    if pair is None
                    else _filled(pair[which][:, :, :start], past)
                    for start, pair in pairs
                ]
                joined.append(torch.cat(whole) if len(whole) > 1 else whole[0])
            cache.update(joined[0], joined[1], layer)
        return cache

    def _keep(self, rows: Sequence[TreeRow], starts: Sequence[int], past: int, cache: Any) -> None:
        """Cache the trunks of the rows that were read."""
        for i, (row, start) in enumerate(zip(rows, starts, strict=True)):
            rest = len(row.trunk) - start
            if rest <= 0 or not self.prefixes.has_room(len(row.trunk)):
                continue
            layers = []
            for layer in cache.layers:
                pair = [
                    torch.cat((whole[i : i + 1, :, :start], whole[i : i + 1, :, past : past + rest]), dim=2)
                    for whole in (layer.keys, layer.values)
                ]
                layers.append((pair[0], pair[1]))
            self.prefixes.keep(row.trunk, layers)


def out_of_memory(segments: int, error: Exception) -> ModelError:
    """The error for a device without enough memory for a single turn."""
    return ModelError(
        f"The device has no memory for a turn of {segments} segments: {str(error).splitlines()[0][:120]}",
        remedy='Judge fewer candidates (pool, small), give device = "cpu", or a smaller model.',
    )


def _padded(
    layouts: Sequence[Layout], starts: Sequence[int], past: int, width: int, *, device: str
) -> tuple[Tensor, Tensor, Tensor]:
    """Ids and positions of what is new, (B, Q), and which of `past` + Q keys it sees; padding sees itself alone.

    Masks are computed where the model is: moving them would take longer than reading the tokens.
    """
    size, keys = len(layouts), past + width
    segments = max(len(layout.starts) for layout in layouts) + 1  # the last one is padding, which sees nothing
    ids, positions = np.zeros((2, size, width), dtype=np.int64)
    owners, places = np.full((size, keys), segments - 1), np.zeros((size, keys), dtype=np.int64)
    visible = np.zeros((size, segments, segments), dtype=bool)
    for i, (layout, start) in enumerate(zip(layouts, starts, strict=True)):
        count, new = len(layout.starts), len(layout.tokens) - start
        ids[i, :new], positions[i, :new] = layout.tokens[start:], layout.positions[start:]
        visible[i, :count, :count] = layout.visible
        for at, first, last in ((0, 0, start), (past, start, start + new)):
            owners[i, at : at + last - first] = layout.segments[first:last]
            places[i, at : at + last - first] = range(first, last)
    moved = [torch.from_numpy(table).to(device) for table in (ids, positions, owners, places, visible)]
    owned, placed = moved[2], moved[3]
    mask = evidence_mask(moved[4], owned[:, past:], owned, query_places=placed[:, past:], key_places=placed)
    mask.diagonal(past, 1, 2).fill_(True)
    return moved[0], moved[1], mask


def _filled(states: Tensor, size: int) -> Tensor:
    missing = size - states.shape[2]
    return torch.nn.functional.pad(states, (0, 0, 0, missing)) if missing else states


def _library() -> Any:  # its types are those of its newest version alone
    return importlib.import_module("transformers")
