"""Cache of the hidden states above the frozen layers, for trees of tokens that training reads several times.

The layers below an adapter do not change, so a turn of several epochs, and a turn of dev, needs only the layers above.
Repeated trees are announced, and computed in groups that depend on these trees alone: a training that resumes gets the
same numbers, to the bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from dragoman.models.unified.packed import Packed, dense, pack_layouts, unwrapped
from dragoman.models.unified.token_tree import Layout

_MOST = 512 << 20
"""Bytes of the cache: at a width of 576 the states of 233,000 tokens."""
_GROUP = 1024
"""Tokens of one pass."""


class FrozenLayerCache:
    """The lowest `count` layers of a model on a CPU, all frozen, with their cached outputs by tree."""

    def __init__(self, model: Any, count: int, *, most: int = _MOST) -> None:
        self._decoder = unwrapped(model).get_decoder()
        self._layers = list(self._decoder.layers)
        self.count = count
        self._room = most // (4 * int(self._decoder.config.hidden_size))
        self._groups: dict[Layout, tuple[Layout, ...]] = {}
        self._kept: dict[Layout, Tensor] = {}
        self._in_tuple = False
        """Whether layers of this model family return a tuple."""

    @classmethod
    def of(cls, model: Any) -> FrozenLayerCache | None:
        """The cache for a model in training; None where its embedding or lowest layer is trained."""
        owner = unwrapped(model)
        decoder = owner.get_decoder()
        layers = list(getattr(decoder, "layers", ()))
        trained = [_is_trained(layer) for layer in layers]
        count = trained.index(True) if True in trained else 0
        if not count or _is_trained(owner.get_input_embeddings()) or any(map(_has_chance, layers[:count])):
            return None
        return cls(model, count)

    def announce(self, trees: Iterable[Layout]) -> None:
        """Name trees that will be read again: they are cached on first use, as far as there is room."""
        new = [tree for tree in dict.fromkeys(trees) if tree not in self._groups]
        group: list[Layout] = []
        size = 0
        for tree in sorted(new, key=lambda tree: len(tree.tokens)):
            if len(tree.tokens) > self._room:
                break
            self._room -= len(tree.tokens)
            if group and size + len(tree.tokens) > _GROUP:
                self._close(group)
                group, size = [], 0
            group.append(tree)
            size += len(tree.tokens)
        self._close(group)

    def states(self, packed: Packed) -> Tensor:
        """The states above the frozen layers of all tokens of packed trees, (B, T, width); 0 for padding."""
        trees = [layout for _, _, layout in packed.starts]
        fresh = self._read([tree for tree in dict.fromkeys(trees) if tree not in self._groups])
        for tree in trees:
            if tree not in fresh and tree not in self._kept:
                self._kept |= self._read(self._groups[tree])
        states: Tensor | None = None
        for row, start, tree in packed.starts:
            mine = fresh[tree] if tree in fresh else self._kept[tree]
            if states is None:
                states = mine.new_zeros((*packed.ids.shape, mine.shape[-1]))
            states[row, start : start + len(mine)] = mine
        assert states is not None  # there is no row without a tree
        return states

    @contextmanager
    def skipped(self, states: Tensor) -> Iterator[None]:
        """Inside the block the frozen layers return `states`, whatever their input."""
        with self._handing_on(self._layers[: self.count], states):
            yield

    @torch.no_grad()
    def _read(self, trees: Sequence[Layout]) -> dict[Layout, Tensor]:
        if not trees:
            return {}
        packed = pack_layouts(trees)
        outputs: list[Tensor] = []

        def keep(layer: object, inputs: object, output: Any) -> None:
            self._in_tuple = isinstance(output, tuple)
            outputs.append(output[0] if self._in_tuple else output)

        hook = self._layers[self.count - 1].register_forward_hook(keep)
        try:
            with self._handing_on(self._layers[self.count :]):
                self._decoder(
                    input_ids=packed.ids, attention_mask=dense(packed), position_ids=packed.positions, use_cache=False
                )
        finally:
            hook.remove()
        return {tree: outputs[0][row, start : start + len(tree.tokens)].clone() for row, start, tree in packed.starts}

    @contextmanager
    def _handing_on(self, layers: Sequence[Any], states: Tensor | None = None) -> Iterator[None]:
        """Inside the block these layers return `states`, or their input where it is None."""

        def forward(hidden: Tensor, *_: object, **__: object) -> Any:
            output = hidden if states is None else states
            return (output,) if self._in_tuple else output

        for layer in layers:
            layer.forward = forward  # of this one, in front of its class's
        try:
            yield
        finally:
            for layer in layers:
                del layer.forward

    def _close(self, group: Sequence[Layout]) -> None:
        self._groups |= dict.fromkeys(group, tuple(group))


def _is_trained(module: Any) -> bool:
    return any(parameter.requires_grad for parameter in module.parameters())


def _has_chance(layer: Any) -> bool:
    """Whether a layer has dropout, so that its outputs differ from pass to pass in training."""
    drops = [module.p for module in layer.modules() if isinstance(module, torch.nn.Dropout)]
    return any(drops) or any(float(getattr(module, "attention_dropout", 0) or 0) for module in layer.modules())
