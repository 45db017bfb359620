"""Attention as one operation: what is recognised, and what is left alone."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.models.onnx.fused_attention import fuse_attention
from dragoman.models.onnx.graph_file import FLOAT, INT8, INT64, Node, array_of, message, tensor

WIDTH, HEADS = 8, 2


def node(kind, inputs, output, perm=()):
    ints = [(5, message([(1, b"perm"), *((8, axis) for axis in perm), (20, 7)]))] if perm else []
    names = [(1, name.encode()) for name in inputs.split()]
    return Node.read(message([*names, (2, output.encode()), (4, kind.encode()), *ints]))


def projected(name):
    return [
        node("MatMul", f"states w_{name}", f"{name}_product"),
        node("Add", f"{name}_product b_{name}", f"{name}_linear"),
        node("Reshape", f"{name}_linear shape", f"{name}_parted"),
        node("Transpose", f"{name}_parted", f"{name}_heads", (0, 2, 1, 3)),
    ]


def graph():
    """One layer's attention as torch writes it, and what comes before and after."""
    return [
        node("Gather", "table ids", "states"),
        node("Shape", "ids", "size"),
        node("Unsqueeze", "mask axes", "hidden"),
        node("Concat", "size size count head", "shape"),
        *projected("q"),
        *projected("k"),
        *projected("v"),
        node("Reshape", "k_heads size", "k_flat"),
        node("Transpose", "k_flat", "k_turned", (0, 2, 1)),
        node("Reshape", "k_turned size", "k_ready"),
        node("Mul", "q_heads scale", "q_scaled"),
        node("Mul", "k_ready scale", "k_scaled"),
        node("MatMul", "q_scaled k_scaled", "scores"),
        node("Add", "scores hidden", "seen"),
        node("Softmax", "seen", "weights"),
        node("MatMul", "weights v_heads", "found"),
        node("Transpose", "found", "ordered", (0, 2, 1, 3)),
        node("Reshape", "ordered size", "joined"),
        node("Relu", "joined", "out"),
    ]


def constants(scale=4**-0.25, axes=(1, 2)):
    chance = np.random.default_rng(3)
    found = {
        "scale": tensor("scale", np.array(scale, np.float32), FLOAT),
        "axes": tensor("axes", np.array(axes), INT64),
        "count": tensor("count", np.array([HEADS]), INT64),
        "head": tensor("head", np.array([WIDTH // HEADS]), INT64),
    }
    for name in "qkv":
        weights = chance.normal(size=(WIDTH, WIDTH)).astype(np.float32)
        found[f"w_{name}"] = tensor(f"w_{name}", weights, FLOAT)
        found[f"b_{name}"] = tensor(f"b_{name}", weights[0], FLOAT)
    return found


def test_attention_becomes_one_operation_and_nothing_of_the_rest_stays():
    tensors = constants()
    nodes, added = fuse_attention(graph(), tensors, ["out"])
    assert [one.kind for one in nodes] == ["Gather", "Attention", "Relu"]
    assert nodes[1].inputs == ["states", "joined_weights", "joined_biases"]
    assert message([(1, b"num_heads"), (3, HEADS), (20, 2)]) in nodes[1].attributes
    weights, biases = [array_of(content, FLOAT) for content in added]
    assert weights.shape == (WIDTH, 3 * WIDTH) and biases.shape == (3 * WIDTH,)
    assert np.array_equal(weights[:, WIDTH : 2 * WIDTH], array_of(tensors["w_k"], FLOAT))


def test_what_an_output_needs_besides_stays():
    nodes, _ = fuse_attention(graph(), constants(), ["out", "k_heads"])
    assert {"Transpose", "Reshape", "Concat", "Attention"} <= {one.kind for one in nodes}
    assert "Softmax" not in {one.kind for one in nodes}


@pytest.mark.parametrize(
    "tensors",
    [
        constants(scale=0.5),
        constants(axes=(1, 3)),
        constants() | {"w_v": tensor("w_v", np.ones((WIDTH, WIDTH), np.int8), INT8)},
        constants() | {"count": tensor("count", np.array([-1]), INT64)},
        {name: content for name, content in constants().items() if name != "b_q"},
    ],
    ids=["another scale", "no mask of padding", "bytes", "heads unknown", "no biases"],
)
def test_other_constants_are_left_alone(tensors):
    assert fuse_attention(graph(), tensors, ["out"]) is None


@pytest.mark.parametrize(
    ("place", "instead"),
    [
        ("hidden", node("Where", "mask axes", "hidden")),
        ("ordered", node("Transpose", "found", "ordered", (0, 1, 2, 3))),
        ("k_turned", node("Transpose", "k_flat", "k_turned", (0, 1, 2))),
        ("v_product", node("MatMul", "memory w_v", "v_product")),
        ("out", node("Mul", "joined weights", "out")),
        ("out", node("If", "joined", "out")),
    ],
    ids=["keys hidden otherwise", "other heads", "keys not turned", "another memory", "weights used", "graphs inside"],
)
def test_other_graphs_are_left_alone(place, instead):
    nodes = [instead if one.outputs == [place] else one for one in graph()]
    assert fuse_attention(nodes, constants(), ["out"]) is None
