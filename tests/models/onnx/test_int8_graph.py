from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from dragoman.models.onnx.graph_file import fields_of, message
from dragoman.models.onnx.int8_graph import narrowed

FLOAT, INT8 = 1, 3


def tensor(name, array):
    kind = FLOAT if array.dtype == np.float32 else INT8
    sizes = [(1, size) for size in array.shape]
    return message([*sizes, (2, kind), (8, name.encode()), (9, array.tobytes())])


def node(kind, inputs, output, **numbers):
    attributes = [(5, message([(1, name.encode()), (3, value), (20, 2)])) for name, value in numbers.items()]
    names = [(1, name.encode()) for name in inputs]
    return message([*names, (2, output.encode()), (4, kind.encode()), *attributes])


def value(name, kind, sizes):
    shape = message([(1, message([(1, size)])) for size in sizes])
    return message([(1, name.encode()), (2, message([(1, message([(1, kind), (2, shape)]))]))])


def product(matrix, scales, *, also=(), outputs=("y",)):
    """A model that multiplies a row `x` with a matrix of bytes, as exporters write it."""
    rows, columns = matrix.shape
    graph = [
        (1, node("Cast", ["w"], "w_float", to=FLOAT)),
        (1, node("Mul", ["w_float", "s"], "w_scaled")),
        (1, node("MatMul", ["x", "w_scaled"], "y")),
        *((1, extra) for extra in also),
        (2, b"graph"),
        (5, tensor("w", matrix)),
        (5, tensor("s", scales)),
        (11, value("x", FLOAT, (4, rows))),
        *((12, value(name, FLOAT, (4, columns) if name == "y" else (rows, columns))) for name in outputs),
    ]
    return message([(1, 8), (7, message(graph)), (8, message([(1, b""), (2, 17)]))])


def run(model, x):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, sess_options=options, providers=["CPUExecutionProvider"])
    return session.run(["y"], {"x": x})[0]


@pytest.fixture
def factors():
    chance = np.random.default_rng(7)
    matrix = chance.integers(-128, 128, (256, 24), dtype=np.int8)
    scales = chance.uniform(0.001, 0.01, (1, 24)).astype(np.float32)
    return matrix, scales, chance.normal(size=(4, 256)).astype(np.float32)


def test_a_byte_matrix_is_multiplied_as_bytes_with_nearly_the_same_result(tmp_path, factors):
    matrix, scales, x = factors
    (tmp_path / "model.onnx").write_bytes(product(matrix, scales))
    model = narrowed(tmp_path / "model.onnx", byte_products=True)
    assert b"MatMulNBits" in model
    assert b"Cast" not in model
    expected = x @ (matrix * scales)
    assert np.abs(run(model, x) - expected).max() < 0.02 * np.abs(expected).max()


def test_a_row_does_not_depend_on_the_others_in_its_batch(tmp_path, factors):
    matrix, scales, x = factors
    (tmp_path / "model.onnx").write_bytes(product(matrix, scales))
    model = narrowed(tmp_path / "model.onnx", byte_products=True)
    louder = np.concatenate([x[:1], 1000 * x[1:]])
    assert np.array_equal(run(model, x)[0], run(model, louder)[0])


def test_a_matrix_that_something_else_uses_too_is_left_alone(tmp_path, factors):
    matrix, scales, _ = factors
    also = [node("Identity", ["w_scaled"], "z")]
    (tmp_path / "model.onnx").write_bytes(product(matrix, scales, also=also, outputs=("y", "z")))
    assert narrowed(tmp_path / "model.onnx", byte_products=True) is None


def test_a_matrix_whose_rows_do_not_fill_whole_blocks_is_left_alone(tmp_path, factors):
    matrix, scales, _ = factors
    (tmp_path / "model.onnx").write_bytes(product(matrix[:100], scales))
    assert narrowed(tmp_path / "model.onnx", byte_products=True) is None


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x3a\xff\xff\xff\x7f", b"\x80" * 40])
def test_what_is_no_model_is_left_to_the_runtime(tmp_path, content):
    (tmp_path / "model.onnx").write_bytes(content)
    assert narrowed(tmp_path / "model.onnx", byte_products=True) is None
    assert narrowed(tmp_path / "missing.onnx", byte_products=True) is None


def test_fields_come_back_as_they_were_written():
    fields = [(1, 0), (2, 127), (15, 128), (16, 1 << 40), (3, b""), (4, b"x" * 300)]
    assert list(fields_of(message(fields))) == fields


@pytest.mark.integration
def test_the_default_encoder_can_be_narrowed_and_its_vectors_stay_within_a_thousandth(weights_home, monkeypatch):
    from dragoman.models.onnx import encoder, session

    texts = ["The ferry leaves at nine.", "Dogs travel free if they stay on a lead.", "How much is a ticket?"]
    monkeypatch.setattr(session, "narrowed", partial(narrowed, byte_products=True))  # on every processor
    ours = encoder.OnnxEncoder().encode(texts)
    monkeypatch.setattr(session, "narrowed", lambda path: None)
    as_floats = encoder.OnnxEncoder().encode(texts)
    assert 0.998 < (ours * as_floats).sum(axis=1).min() < 0.9999999


def test_byte_matrices_are_left_alone_where_products_of_floats_are_quicker(tmp_path, factors):
    matrix, scales, _ = factors
    (tmp_path / "model.onnx").write_bytes(product(matrix, scales))
    assert narrowed(tmp_path / "model.onnx", byte_products=False) is None
