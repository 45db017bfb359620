"""Fuse attention in an ONNX graph into onnxruntime's `Attention` operation.

Torch exports scaled dot-product attention as some thirty operations a layer, most of which compute shapes or move
numbers, which takes a quarter of a small encoder's time. Here each such group, with its three projections, becomes one
`Attention`. Eight-bit projections are left alone: there the products take nearly all of the time, and rounding would
change. So is any group that differs from what torch exports.
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
"""Operations with subgraphs, which may use tensors that no other node uses."""


def fuse_attention(
    nodes: Sequence[Node], tensors: Mapping[str, bytes], outputs: Sequence[str]
) -> tuple[list[Node], list[bytes]] | None:
    """The nodes with every attention fused, and the constants that they need; None where the graph has no attention."""
    finder = _Finder(nodes, tensors)
    matches = [finder.attention(node) for node in nodes if node.kind == "Softmax"]
    by_output = {attention.output: attention for attention in matches if attention is not None}
    if not by_output or any(node.kind in _INNER for node in nodes):
        return None
    whole = [by_output[name].node() if (name := "".join(node.outputs[:1])) in by_output else node for node in nodes]
    return _needed(whole, outputs), [constant for attention in by_output.values() for constant in attention.constants()]


@dataclass(frozen=True, slots=True)
class _Projection:
    """A linear projection: the name of its input (B, T, D), its weights (D, D) and biases (D)."""

    states: str
    weights: NDArray[Any]
    biases: NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Attention:
    """Self-attention: projections to queries, keys and values, and the name of the output (B, T, D)."""

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
    """Matches the nodes around a softmax with the attention that torch exports."""

    def __init__(self, nodes: Sequence[Node], tensors: Mapping[str, bytes]) -> None:
        self._tensors = tensors
        self._makers = {node.outputs[0]: node for node in nodes if node.outputs}
        self._users: dict[str, list[Node]] = {}
        for node in nodes:
            for name in node.inputs:
                self._users.setdefault(name, []).append(node)

    def attention(self, softmax: Node) -> _Attention | None:
        """Match softmax(sQ (sK)^T + hidden) V, with heads split before and joined after."""
        hidden = self._made_by(softmax.inputs[0], "Add")
        scores = self._made_by(hidden.inputs[0], "MatMul") if hidden else None
        if hidden is None or scores is None or not self._hides_padding(hidden.inputs[1]):
            return None
        value, output = self._after(softmax)
        query = self._before(self._unscaled(scores.inputs[0]), _TO_HEADS)
        key = self._before(self._unscaled(scores.inputs[1]), None, _TURNED, None, _TO_HEADS)
        parted = [self._made_by(name, "Reshape") for name in (query, key, self._before(value, _TO_HEADS))]
        matches = [self._projection(node.inputs[0]) for node in parted if node is not None]
        projections = tuple(one for one in matches if one is not None)
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
        """The input of a chain of steps that ends in `name`. `steps` go from the last back: the axes of a transpose,
        or None for a reshape."""
        for step in steps:
            node = self._made_by(name, "Transpose" if step else "Reshape")
            if node is None or (step and node.numbers("perm") != step):
                return None
            name = node.inputs[0]
        return name

    def _after(self, softmax: Node) -> tuple[str | None, str | None]:
        """The name of the values that the softmax weighs, and that of the output after the heads are joined."""
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
        """Whether the tensor added to the scores is a padding mask, one value a key.

        The fused operation drops it, since all rows of a batch have one length. A mask by query and key is no match.
        """
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
        """The number of heads; None unless scores are divided by the root of a head's width, as the kernel does."""
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
    """The nodes that the outputs depend on, in graph order."""
    names, needed = set(outputs), []
    for node in reversed(nodes):
        if names & set(node.outputs):
            needed.append(node)
            names |= set(node.inputs)
    return needed[::-1]
