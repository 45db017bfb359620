"""Rewrite an encoder's ONNX graph so that onnxruntime multiplies eight-bit weights as eight-bit numbers.

Some exports store a matrix as bytes and write its use as `Cast`, `Mul` by a scale, `MatMul`. The runtime folds the
first two when it loads, and from then on multiplies floats four times the size. Here each such group becomes one
`MatMulNBits`, which quantises the other factor row by row, so that a text's vector does not depend on its batch.
Embedding tables are looked up in bytes. Attention is fused (`fused_attention.py`).

Products of bytes pay on ARM, where the runtime has kernels for them, and cost time on x86-64, where products of floats
are quicker: `BYTE_PRODUCTS` says which this machine has.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from dragoman.models.onnx.fused_attention import fuse_attention
from dragoman.models.onnx.graph_file import (
    FLOAT,
    INT8,
    OURS,
    UINT8,
    Field,
    Node,
    array_of,
    fields_of,
    lies_elsewhere,
    message,
    name_of,
    tensor,
    tensor_name,
)

if TYPE_CHECKING:
    from pathlib import Path

BYTE_PRODUCTS = platform.machine().lower() in ("aarch64", "arm64")
"""Whether eight-bit products are quicker than float ones on this processor (`benchmarks/speed/encoder.py`)."""
_BLOCK = 128
"""Numbers of the other factor that share a scale; a smaller block is slower and less than a thousandth more exact."""
_LARGE = 1 << 29
_SMALL = 1 << 20
"""Smaller tables stay as they are: the runtime converts them to floats on loading, which are quicker to look up."""
_GRAPH, _OPSET = 7, 8  # of a model
_NODE, _INITIALIZER, _OUTPUT = 1, 5, 12  # of a graph


def narrowed(path: Path, *, byte_products: bool = BYTE_PRODUCTS) -> bytes | None:
    """The rewritten model of a file; None where there is nothing to rewrite.

    Without `byte_products`, byte matrices stay as they are, and the runtime converts them to floats.
    """
    try:
        if path.stat().st_size > _LARGE:
            return None
        fields = list(fields_of(path.read_bytes()))
        graph = next((value for number, value in fields if number == _GRAPH and isinstance(value, bytes)), b"")
        rewritten = _Graph(graph).rewritten(byte_products=byte_products)
    except (OSError, ValueError, IndexError):  # not there, or no graph that this module can read: the runtime will say
        return None
    if rewritten is None:
        return None
    rewritten_fields = [(number, rewritten if number == _GRAPH else value) for number, value in fields]
    declared = any(
        isinstance(value, bytes) and OURS.encode() in value for number, value in rewritten_fields if number == _OPSET
    )
    return message(
        rewritten_fields if declared else [*rewritten_fields, (_OPSET, message([(1, OURS.encode()), (2, 1)]))]
    )


class _Graph:
    """Nodes and constants of a graph, with the search for byte matrices and their scales."""

    def __init__(self, raw: bytes) -> None:
        self._fields = list(fields_of(raw))
        messages = [(number, value) for number, value in self._fields if isinstance(value, bytes)]
        self._nodes = [Node.read(value) for number, value in messages if number == _NODE]
        self._tensors = {tensor_name(value): value for number, value in messages if number == _INITIALIZER}
        self._outputs = [name_of(value) for number, value in messages if number == _OUTPUT]
        self._makers = {node.outputs[0]: node for node in self._nodes if node.outputs}
        self._uses: dict[str, int] = {}
        for node in self._nodes:
            for name in node.inputs:
                self._uses[name] = self._uses.get(name, 0) + 1

    def rewritten(self, *, byte_products: bool) -> bytes | None:
        """The graph with byte products and fused attention; None where it has neither."""
        nodes: list[Node] = []
        gone: set[int] = set()
        dropped: set[str] = set()
        added: list[bytes] = []
        for node in self._nodes:
            pair = self._pair(node) if byte_products else None
            if pair is None or (node.kind == "Gather" and len(self._tensors[pair[0]]) <= _SMALL):
                nodes.append(node)
                continue
            matrix, scale, group = pair
            if node.kind == "Gather":
                nodes += _lookup(node, matrix, scale)
            else:
                product = self._product(node, matrix, scale)
                if product is None:
                    nodes.append(node)
                    continue
                nodes.append(product[0])
                added += product[1]
                dropped |= {matrix, scale}
            gone |= {id(member) for member in group}
        nodes = [node for node in nodes if id(node) not in gone]
        fused = fuse_attention(nodes, self._tensors, self._outputs)
        if fused is not None:
            nodes, added = fused[0], [*added, *fused[1]]
        if not (gone or fused) or any(lies_elsewhere(content) for content in self._tensors.values()):
            return None
        fields: list[Field] = [(_NODE, node.written()) for node in nodes]
        fields += [
            (number, value)
            for number, value in self._fields
            if number != _NODE
            and not (number == _INITIALIZER and isinstance(value, bytes) and tensor_name(value) in dropped)
        ]
        return message([*fields, *((_INITIALIZER, content) for content in added)])

    def _pair(self, node: Node) -> tuple[str, str, list[Node]] | None:
        """The byte matrix and the scale behind a node's constant factor, where only this node uses them."""
        if node.kind not in ("MatMul", "Gather") or len(node.inputs) != 2:
            return None
        product = self._makers.get(node.inputs[1 if node.kind == "MatMul" else 0])
        if product is None or product.kind != "Mul" or self._uses[product.outputs[0]] != 1:
            return None
        cast, scale = self._makers.get(product.inputs[0]), product.inputs[1]
        if cast is None or cast.kind != "Cast" or scale not in self._tensors or self._uses[cast.outputs[0]] != 1:
            return None
        matrix = cast.inputs[0]
        alone = matrix in self._tensors and self._uses[matrix] == self._uses[scale] == 1
        return (matrix, scale, [product, cast]) if alone else None

    def _product(self, node: Node, matrix: str, scale: str) -> tuple[Node, list[bytes]] | None:
        """`MatMulNBits` and its constants: the matrix by columns, in blocks, a scale for each block."""
        import numpy as np

        content, scales = array_of(self._tensors[matrix], INT8), array_of(self._tensors[scale], FLOAT)
        if content is None or scales is None or content.ndim != 2:
            return None
        rows, columns = content.shape
        if rows % _BLOCK or scales.size != columns:
            return None
        blocks = rows // _BLOCK
        shifted = (content.T.view(np.uint8) ^ 0x80).reshape(columns, blocks, _BLOCK)  # -128..127 to 0..255
        repeated = np.repeat(scales.reshape(-1), blocks)
        sizes = {"K": rows, "N": columns, "bits": 8, "block_size": _BLOCK, "accuracy_level": 4}
        names = [f"{matrix}_blocks", f"{matrix}_scales"]
        multiply = Node(
            "MatMulNBits",
            [node.inputs[0], *names],
            node.outputs,
            [message([(1, name.encode()), (3, size), (20, 2)]) for name, size in sizes.items()],
            OURS,
        )
        return multiply, [tensor(names[0], shifted, UINT8), tensor(names[1], repeated, FLOAT)]


def _lookup(node: Node, matrix: str, scale: str) -> list[Node]:
    """Look up rows of a byte table and of its scales first, and multiply them after."""
    places, out = node.inputs[1], node.outputs[0]
    to_float = message([(1, b"to"), (3, FLOAT), (20, 2)])
    return [
        Node("Gather", [matrix, places], [f"{out}_bytes"]),
        Node("Cast", [f"{out}_bytes"], [f"{out}_numbers"], [to_float]),
        Node("Gather", [scale, places], [f"{out}_scale"]),
        Node("Mul", [f"{out}_numbers", f"{out}_scale"], [out]),
    ]
