"""Norms the quicker way: the same numbers, and what is left alone."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from dragoman.models.onnx.graph_file import FLOAT, OURS, Node, message, tensor
from dragoman.models.onnx.layer_norms import OPSET, with_quick_norms

LEAST = message([(1, b"epsilon")]) + b"\x15" + struct.pack("<f", 0.5) + message([(20, 1)])


def axis(number):
    return message([(1, b"axis"), (3, number % (1 << 64)), (20, 2)])


def norm(inputs, *attributes):
    names = [(1, name.encode()) for name in inputs.split()]
    kind = [(4, b"LayerNormalization")]
    return Node.read(message([*names, (2, b"y"), *kind, *((5, attribute) for attribute in attributes)]))


def value(name):
    sizes = message([(1, message([(1, size)])) for size in (1, 3, 8)])
    return message([(1, name), (2, message([(1, message([(1, FLOAT), (2, sizes)]))]))])


def run(nodes, constants, states):
    import onnxruntime

    graph = [*((1, node.written()) for node in nodes), (2, b"graph"), *((5, constant) for constant in constants)]
    whole = message([*graph, (11, value(b"x")), (12, value(b"y"))])
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    sets = [(8, message([(1, name), (2, version)])) for name, version in ((b"", OPSET), (OURS.encode(), 1))]
    model = message([(1, 9), (7, whole), *sets])
    session = onnxruntime.InferenceSession(model, sess_options=options, providers=["CPUExecutionProvider"])
    return session.run(["y"], {"x": states})[0]


@pytest.mark.parametrize("attributes", [(), (axis(-1),), (axis(-1), LEAST)])
def test_the_four_steps_give_what_the_norm_gives(attributes):
    chance = np.random.default_rng(5)
    states = chance.normal(3, 2, size=(1, 3, 8)).astype(np.float32)
    weights, biases = chance.normal(size=(2, 8)).astype(np.float32)
    given = [tensor("w", weights, FLOAT), tensor("b", biases, FLOAT)]
    before = [norm("x w b", *attributes)]
    after = with_quick_norms(before, {}, ["y"])
    assert after is not None
    least = 0.5 if LEAST in attributes else 1e-5
    centred = states - states.mean(-1, keepdims=True)
    by_hand = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + least) * weights + biases
    found = run(after[0], [*given, *after[1]], states)
    assert np.abs(found - run(before, given, states)).max() < 1e-6
    assert np.abs(found - by_hand).max() < 1e-6


def residual(chance, *, order="x linear", of="x"):
    """A norm of x and a projection of it, as torch writes it, and the constants."""
    matrix = chance.normal(size=(8, 8)).astype(np.float32)
    named = {"m": matrix, "o": matrix[0], "w": matrix[1], "b": matrix[2]}
    nodes = [
        Node("MatMul", [of, "m"], ["product"]),
        Node("Add", ["product", "o"], ["linear"]),
        Node("Add", order.split(), ["sum"]),
        norm("sum w b", axis(-1), LEAST),
    ]
    return nodes, {name: tensor(name, content, FLOAT) for name, content in named.items()}


def test_a_sum_with_a_projection_is_part_of_the_norm():
    chance = np.random.default_rng(6)
    nodes, constants = residual(chance)
    after = with_quick_norms(nodes, constants, ["y"])
    assert after is not None
    assert [step.kind for step in after[0]] == [
        "MatMul",
        "ReduceMean",
        "Sub",
        "SkipSimplifiedLayerNormalization",
        "Add",
    ]
    states = chance.normal(3, 2, size=(1, 3, 8)).astype(np.float32)
    given = list(constants.values())
    assert np.abs(run(after[0], [*given, *after[1]], states) - run(nodes, given, states)).max() < 2e-6


@pytest.mark.parametrize(
    ("order", "outputs"), [("linear x", ["y"]), ("x linear", ["y", "linear"]), ("x linear", ["y", "sum"])]
)
def test_a_sum_of_another_kind_or_that_others_need_stays(order, outputs):
    nodes, constants = residual(np.random.default_rng(6), order=order)
    after = with_quick_norms(nodes, constants, outputs)
    assert after is not None
    assert after[0][:3] == nodes[:3]
    assert "SimplifiedLayerNormalization" in [step.kind for step in after[0]]


def test_a_projection_of_something_else_stays_since_it_may_be_spread_over_what_came_in():
    chance = np.random.default_rng(6)
    nodes, constants = residual(chance, of="places")
    constants["places"] = tensor("places", chance.normal(size=(1, 8)).astype(np.float32), FLOAT)
    after = with_quick_norms(nodes, constants, ["y"])
    assert after is not None
    assert after[0][:3] == nodes[:3]
    states = chance.normal(3, 2, size=(1, 3, 8)).astype(np.float32)
    given = list(constants.values())
    assert np.abs(run(after[0], [*given, *after[1]], states) - run(nodes, given, states)).max() < 2e-6


@pytest.mark.parametrize("other", [norm("x w b", axis(1)), norm("x w"), Node("Relu", ["x"], ["y"])])
def test_other_norms_are_left_alone(other):
    assert with_quick_norms([other], {}, ["y"]) is None
