"""Eight-bit weights that stay eight bits: an encoder's graph rewritten so that onnxruntime multiplies them as such.

Some exports store a matrix as bytes and write its use as `Cast`, `Mul` by a scale, `MatMul`. The runtime folds the
first two when it loads, and from then on multiplies floats four times the size. Here each such group becomes one
`MatMulNBits`, which quantises the other factor row by row, so that a text's vector does not depend on its batch;
a table that is looked up is looked up in bytes. A model is protocol buffers, and little of that format is needed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

Field: TypeAlias = tuple[int, int | bytes]
"""A field's number and value: an integer, or the bytes of a text, a tensor's content or another message."""

_BLOCK = 128
"""How many numbers of the other factor share a scale: with fewer it is slower, and nearer by less than a thousandth."""
_LARGE = 1 << 29
_VARINT, _BYTES = 0, 2
_GRAPH, _OPSET = 7, 8  # of a model
_NODE, _INITIALIZER = 1, 5  # of a graph
_FLOAT, _UINT8, _INT8 = 1, 2, 3  # of a tensor's content
_OURS = "com.microsoft"


def narrowed(path: Path) -> bytes | None:
    """The model in a file with its byte matrices multiplied as bytes; None where there is nothing to gain."""
    try:
        if path.stat().st_size > _LARGE:
            return None
        fields = list(_fields(path.read_bytes()))
        graph = next((value for number, value in fields if number == _GRAPH and isinstance(value, bytes)), b"")
        rewritten = _Graph(graph).rewritten()
    except (OSError, ValueError, IndexError):  # not there, or no graph that this module can read: the runtime will say
        return None
    if rewritten is None:
        return None
    kept = [(number, rewritten if number == _GRAPH else value) for number, value in fields]
    declared = any(isinstance(value, bytes) and _OURS.encode() in value for number, value in kept if number == _OPSET)
    return _message(kept if declared else [*kept, (_OPSET, _message([(1, _OURS.encode()), (2, 1)]))])


@dataclass(eq=False)
class _Node:
    """An operation; `attributes` are kept as they came."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    attributes: list[bytes] = field(default_factory=list)
    domain: str = ""
    raw: bytes | None = None

    @classmethod
    def read(cls, raw: bytes) -> _Node:
        node = cls("", [], [], raw=raw)
        for number, value in _fields(raw):
            if number in (1, 2, 4, 7) and isinstance(value, bytes):
                text = value.decode()
                if number == 1:
                    node.inputs.append(text)
                elif number == 2:
                    node.outputs.append(text)
                elif number == 4:
                    node.kind = text
                else:
                    node.domain = text
        return node

    def written(self) -> bytes:
        if self.raw is not None:
            return self.raw
        fields: list[Field] = [(1, name.encode()) for name in self.inputs]
        fields += [(2, name.encode()) for name in self.outputs]
        fields += [(4, self.kind.encode()), (7, self.domain.encode())]
        return _message([*fields, *((5, attribute) for attribute in self.attributes)])


class _Graph:
    """The nodes and the constants of a graph, and which of them are a byte matrix with its scale."""

    def __init__(self, raw: bytes) -> None:
        self._fields = list(_fields(raw))
        messages = [(number, value) for number, value in self._fields if isinstance(value, bytes)]
        self._nodes = [_Node.read(value) for number, value in messages if number == _NODE]
        self._tensors = {_tensor_name(value): value for number, value in messages if number == _INITIALIZER}
        self._makers = {node.outputs[0]: node for node in self._nodes if node.outputs}
        self._uses: dict[str, int] = {}
        for node in self._nodes:
            for name in node.inputs:
                self._uses[name] = self._uses.get(name, 0) + 1

    def rewritten(self) -> bytes | None:
        """The graph with every byte matrix used as such; None where it has none."""
        nodes: list[_Node] = []
        gone: set[int] = set()
        dropped: set[str] = set()
        added: list[bytes] = []
        for node in self._nodes:
            pair = self._pair(node)
            if pair is None:
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
        if not gone or any(_lies_elsewhere(tensor) for tensor in self._tensors.values()):
            return None
        fields: list[Field] = [(_NODE, node.written()) for node in nodes if id(node) not in gone]
        fields += [
            (number, value)
            for number, value in self._fields
            if number != _NODE
            and not (number == _INITIALIZER and isinstance(value, bytes) and _tensor_name(value) in dropped)
        ]
        return _message([*fields, *((_INITIALIZER, tensor) for tensor in added)])

    def _pair(self, node: _Node) -> tuple[str, str, list[_Node]] | None:
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

    def _product(self, node: _Node, matrix: str, scale: str) -> tuple[_Node, list[bytes]] | None:
        """`MatMulNBits` and its constants: the matrix by columns, in blocks, a scale for each block."""
        import numpy as np

        content, scales = _array(self._tensors[matrix], _INT8), _array(self._tensors[scale], _FLOAT)
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
        made = _Node(
            "MatMulNBits",
            [node.inputs[0], *names],
            node.outputs,
            [_message([(1, name.encode()), (3, size), (20, 2)]) for name, size in sizes.items()],
            _OURS,
        )
        return made, [_tensor(names[0], shifted, _UINT8), _tensor(names[1], repeated, _FLOAT)]


def _lookup(node: _Node, matrix: str, scale: str) -> list[_Node]:
    """Rows of a byte table and of its scales, multiplied after the looking up instead of before it."""
    places, out = node.inputs[1], node.outputs[0]
    to_float = _message([(1, b"to"), (3, _FLOAT), (20, 2)])
    return [
        _Node("Gather", [matrix, places], [f"{out}_bytes"]),
        _Node("Cast", [f"{out}_bytes"], [f"{out}_numbers"], [to_float]),
        _Node("Gather", [scale, places], [f"{out}_scale"]),
        _Node("Mul", [f"{out}_numbers", f"{out}_scale"], [out]),
    ]


def _tensor_name(raw: bytes) -> str:
    return next((value.decode() for number, value in _fields(raw) if number == 8 and isinstance(value, bytes)), "")


def _lies_elsewhere(raw: bytes) -> bool:
    """Whether a tensor's content is in a file beside the model, which only the model's own path leads to."""
    return any(number == 14 and value == 1 for number, value in _fields(raw))


def _array(raw: bytes, kind: int) -> NDArray[Any] | None:
    """A tensor's content; None where it is not of this kind, or not kept as plain bytes."""
    import numpy as np

    sizes: list[int] = []
    content, found = b"", 0
    for number, value in _fields(raw):
        if number == 1:
            sizes += [value] if isinstance(value, int) else list(_varints(value))
        elif number == 2 and isinstance(value, int):
            found = value
        elif number == 9 and isinstance(value, bytes):
            content = value
    if found != kind or not content:
        return None
    return np.frombuffer(content, dtype="<f4" if kind == _FLOAT else np.int8).reshape(sizes)


def _tensor(name: str, content: NDArray[Any], kind: int) -> bytes:
    sizes: list[Field] = [(1, size) for size in content.shape]
    return _message([*sizes, (2, kind), (8, name.encode()), (9, content.tobytes())])


def _fields(raw: bytes) -> Iterator[Field]:
    """The fields of a message in order."""
    place = 0
    while place < len(raw):
        key, place = _varint(raw, place)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, place = _varint(raw, place)
            yield number, value
            continue
        if wire != _BYTES:
            raise ValueError(f"wire type {wire}")  # numbers of fixed width stand in no message that is read here
        size, place = _varint(raw, place)
        if place + size > len(raw):
            raise ValueError("a message cut short")
        yield number, raw[place : place + size]
        place += size


def _varints(raw: bytes) -> Iterator[int]:
    place = 0
    while place < len(raw):
        value, place = _varint(raw, place)
        yield value


def _varint(raw: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[place]
        value |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return value, place
        shift += 7


def _message(fields: list[Field]) -> bytes:
    parts: list[bytes] = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(_number(number << 3 | _VARINT) + _number(value))
        else:
            parts += [_number(number << 3 | _BYTES) + _number(len(value)), value]
    return b"".join(parts)


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
