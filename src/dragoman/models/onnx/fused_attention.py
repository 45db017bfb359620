"""Attention as one operation: a small encoder's graph rewritten so that onnxruntime runs its own kernel for it.

Torch writes scaled dot-product attention as some thirty operations a layer, most of which compute shapes or move
numbers about, which in a small encoder takes a quarter of the time. Here each such group, with its three projections,
becomes one `Attention`. Projections in bytes are left alone: there the products take nearly all of the time, and
rounding would fall out otherwise. So is what does not look exactly as torch writes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dragoman.models.onnx.graph_file import FLOAT, INT64, OURS, Node, array_of, message, tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TO_HEADS = (0, 2, 1, 3)
_TURNED = (0, 2, 1)
_INNER = ("If", "Loop", "Scan")
"""Operations with graphs inside, which may use what nothing else seems to."""


def with_attention(
    nodes: Sequence[Node], tensors: Mapping[str, bytes], outputs: Sequence[str]
) -> tuple[list[Node], list[bytes]] | None:
    """The nodes with every attention as one, and the constants that it needs; None where there is none."""
    finder = _Finder(nodes, tensors)
    found = [finder.attention(node) for node in nodes if node.kind == "Softmax"]
    made = {attention.output: attention for attention in found if attention is not None}
    if not made or any(node.kind in _INNER for node in nodes):
        return None
    whole = [made[name].node() if (name := "".join(node.outputs[:1])) in made else node for node in nodes]
    return _needed(whole, outputs), [constant for attention in made.values() for constant in attention.constants()]


@dataclass(frozen=True, slots=True)
class _Projection:
    """What is projected (B, T, D), by which weights (D, D), with which biases (D)."""

    states: str
    weights: NDArray[Any]
    biases: NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Attention:
    """Queries, keys and values of the same states, and the name of what comes out (B, T, D)."""

    projections: tuple[_Projection, ...]
    heads: int
    output: str

    def node(self) -> Node:
        heads = message([(1, b"num_heads"), (3, self.heads), (20, 2)])
        return Node("Attention", [self.projections[0].states, *self._names()], [self.output], [heads], OURS)

    def constants(self) -> list[bytes]:
        import numpy as np

        weights = np.concatenate([one.weights for one in self.projections], axis=1)
        biases = np.concatenate([one.biases for one in self.projections])
        return [tensor(name, content, FLOAT) for name, content in zip(self._names(), (weights, biases), strict=True)]

    def _names(self) -> tuple[str, str]:
        return f"{self.output}_weights", f"{self.output}_biases"


class _Finder:
    """Looks around a softmax for the attention that it belongs to."""

    def __init__(self, nodes: Sequence[Node], tensors: Mapping[str, bytes]) -> None:
        self._tensors = tensors
        self._makers = {node.outputs[0]: node for node in nodes if node.outputs}
        self._users: dict[str, list[Node]] = {}
        for node in nodes:
            for name in node.inputs:
                self._users.setdefault(name, []).append(node)

    def attention(self, softmax: Node) -> _Attention | None:
        """What torch writes: softmax(sQ (sK)^T + hidden) V, whose heads are parted before and joined after."""
        hidden = self._made_by(softmax.inputs[0], "Add")
        scores = self._made_by(hidden.inputs[0], "MatMul") if hidden else None
        if hidden is None or scores is None or not self._hides_padding(hidden.inputs[1]):
            return None
        value, output = self._after(softmax)
        query = self._before(self._unscaled(scores.inputs[0]), _TO_HEADS)
        key = self._before(self._unscaled(scores.inputs[1]), None, _TURNED, None, _TO_HEADS)
        parted = [self._made_by(name, "Reshape") for name in (query, key, self._before(value, _TO_HEADS))]
        found = [self._projection(node.inputs[0]) for node in parted if node is not None]
        projections = tuple(one for one in found if one is not None)
        if len(projections) != 3 or len({one.states for one in projections}) != 1 or output is None:
            return None
        heads = self._heads(parted[0], scores, len(projections[0].biases))
        return _Attention(projections, heads, output) if heads else None

    def _made_by(self, name: str | None, kind: str) -> Node | None:
        node = self._makers.get(name) if name else None
        return node if node is not None and node.kind == kind else None

    def _only_user(self, node: Node | None, kind: str) -> Node | None:
        users = self._users.get(node.outputs[0], []) if node is not None else []
        return users[0] if len(users) == 1 and users[0].kind == kind else None

    def _before(self, name: str | None, *steps: tuple[int, ...] | None) -> str | None:
        """What a name was before these steps, the last one first: an order of axes, or None for another shape."""
        for step in steps:
            node = self._made_by(name, "Transpose" if step else "Reshape")
            if node is None or (step and node.numbers("perm") != step):
                return None
            name = node.inputs[0]
        return name

    def _after(self, softmax: Node) -> tuple[str | None, str | None]:
        """The values that the softmax weighs, and the name of what they become when the heads are joined."""
        product = self._only_user(softmax, "MatMul")
        order = self._only_user(product, "Transpose")
        joined = self._only_user(order, "Reshape")
        if product is None or order is None or joined is None or order.numbers("perm") != _TO_HEADS:
            return None, None
        return product.inputs[1], joined.outputs[0]

    def _unscaled(self, name: str) -> str | None:
        node = self._made_by(name, "Mul")
        return node.inputs[0] if node else None

    def _hides_padding(self, name: str) -> bool:
        """Whether what is added to the scores is a row of keys: the mask of padding. It is let go of, since nothing
        here pads (rows of one length are read together); what hides some keys from some queries is another thing."""
        node = self._made_by(name, "Unsqueeze")
        axes = self._constant(node.inputs[1], INT64) if node else None
        return axes is not None and axes.tolist() == [1, 2]

    def _projection(self, name: str) -> _Projection | None:
        added = self._made_by(name, "Add")
        product = self._made_by(added.inputs[0], "MatMul") if added else None
        if added is None or product is None:
            return None
        weights, biases = self._constant(product.inputs[1], FLOAT), self._constant(added.inputs[1], FLOAT)
        return _Projection(product.inputs[0], weights, biases) if weights is not None and biases is not None else None

    def _heads(self, parted: Node | None, scores: Node, width: int) -> int | None:
        """How many heads there are, where scores are divided by the root of a head's width, as the kernel does."""
        shape = self._made_by(parted.inputs[1], "Concat") if parted else None  # of rows, tokens, heads, a head's width
        count = self._number(shape.inputs[2], INT64) if shape and len(shape.inputs) == 4 else None
        scales = [self._number(self._makers[name].inputs[1], FLOAT) for name in scores.inputs]
        if not count or count < 1 or width % count or None in scales:
            return None
        usual = math.isclose(math.prod(scale or 0.0 for scale in scales), (width / count) ** -0.5, rel_tol=1e-4)
        return int(count) if usual else None

    def _constant(self, name: str, kind: int) -> NDArray[Any] | None:
        return array_of(self._tensors[name], kind) if name in self._tensors else None

    def _number(self, name: str, kind: int) -> float | None:
        content = self._constant(name, kind)
        return float(content.reshape(-1)[0]) if content is not None and content.size == 1 else None


def _needed(nodes: Sequence[Node], outputs: Sequence[str]) -> list[Node]:
    """The nodes that an output depends on, in their order."""
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted & set(node.outputs):
            kept.append(node)
            wanted |= set(node.inputs)
    return kept[::-1]
