"""How fast the default encoder reads on one core, and how fast it could at best.

    python benchmarks/speed/encoder_floor.py

A passage costs (tokens) x (operations a token); a core does so many operations a second in the quickest eight-bit
product that onnxruntime has for it. The quotient is a floor: nothing but the products of the model's matrices, at that
rate. Times are of the processor, one thread. Needs `onnx`, to read the shapes of the matrices. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from dragoman.models import weights
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.onnx.int8_graph import narrowed
from dragoman.models.onnx.session import load_onnxruntime, open_session

onnxruntime = load_onnxruntime()

WANTED = 10_000  # passages a minute and core
PASSAGES = 192
ROWS = 512  # of the product whose rate is taken


def matrices(path: Path) -> list[tuple[int, int]]:
    """The shapes of the constant matrices that every token is multiplied by; tables that are looked up are none."""
    model = onnx.load_from_string(narrowed(path, byte_products=True) or path.read_bytes()).graph
    shapes = {tensor.name: tuple(tensor.dims) for tensor in model.initializer}
    found: list[tuple[int, int]] = []
    for node in model.node:
        if node.op_type == "MatMulNBits":
            sizes = {attribute.name: attribute.i for attribute in node.attribute}
            found.append((sizes["K"], sizes["N"]))
        elif node.op_type == "MatMul" and len(shapes.get(node.input[1], ())) == 2:
            found.append(shapes[node.input[1]])  # type: ignore[arg-type]  # of two numbers, as asked
    return found


def product(kind: str, inner: int, outer: int) -> Callable[[], object]:
    """One product of `ROWS` rows with a matrix, as onnxruntime does it in floats or in bytes."""
    chance = np.random.default_rng(0)
    matrix = chance.integers(-127, 127, (inner, outer)).astype(np.int8)
    if kind == "float":
        given, node, out = np.float32, helper.make_node("MatMul", ["x", "w"], ["y"]), TensorProto.FLOAT
        matrix = matrix.astype(np.float32)
    else:
        given, node, out = np.uint8, helper.make_node("MatMulInteger", ["x", "w"], ["y"]), TensorProto.INT32
    rows = chance.integers(0, 127, (ROWS, inner)).astype(given)
    graph = helper.make_graph(
        [node],
        "product",
        [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(rows.dtype), rows.shape)],
        [helper.make_tensor_value_info("y", out, [ROWS, outer])],
        [numpy_helper.from_array(matrix, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": rows})


def seconds(act: Callable[[], object], times: int = 7) -> float:
    """Of the processor, the shortest of several."""
    act()
    taken = []
    for _ in range(times):
        began = time.process_time()
        act()
        taken.append(time.process_time() - began)
    return min(taken)


def texts(words: int) -> list[str]:
    """Real English, from our own pages."""
    pages = sorted(Path(__file__).parents[2].joinpath("docs").glob("*.md"))
    said = " ".join(page.read_text("utf-8") for page in pages).replace("|", " ").split()
    return [" ".join(said[at : at + words]) for at in range(0, PASSAGES * 60, 60)]


def by_batch(session: Any, tokens: int, operations: float) -> None:
    """Whether more rows at once are quicker: what sorting by length and larger batches could bring."""
    names = {given.name for given in session.get_inputs()}
    for batch in (1, 4, 16, 32):
        ids = np.random.default_rng(0).integers(1000, 20000, (batch, tokens))
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        taken = seconds(lambda feed=feed: session.run(None, {name: feed[name] for name in names}), 5)
        rate = batch * tokens / taken
        print(f"  {batch:>2} of {tokens} tokens at once: {rate:,.0f} tokens/s, {rate * operations / 1e9:.0f} G/s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", default="all-minilm-l6-v2-int8", help="a name of `dragoman models list`")
    options = parser.parse_args()
    folder = weights.path(options.weights)
    shapes = matrices(folder / "model.onnx")
    operations = 2.0 * sum(inner * outer for inner, outer in shapes)
    inner, outer = max(shapes, key=lambda shape: shape[0] * shape[1])
    print(f"{platform.machine()}, load {os.getloadavg()[0]:.1f}, {date.today()}; one thread, seconds of the processor")
    print(f"{options.weights}: {len(shapes)} matrices, {operations / 1e6:.1f} million operations a token")
    rates = {kind: 2 * ROWS * inner * outer / seconds(product(kind, inner, outer)) for kind in ("float", "bytes")}
    best = max(rates.values())
    print(f"product of {ROWS} x {inner} x {outer}: " + ", ".join(f"{k} {v / 1e9:.0f} G/s" for k, v in rates.items()))
    encoder = OnnxEncoder(weights=options.weights, threads=1, cache=0)
    encoder.warm_up()
    session = open_session(folder, 1)
    for words in (60, 12):
        said = texts(words)
        tokens = sum(len(pieces) + 2 for pieces in encoder.pieces(said)) / len(said)  # and the model's two marks
        taken = seconds(lambda said=said: encoder.encode(said), 2) / len(said)
        print(f"passages of {words} words, {tokens:.1f} tokens, {tokens * operations / 1e9:.2f} G operations:")
        rate = tokens / taken
        print(f"  {60 / taken:,.0f} a minute ({rate:,.0f} tokens/s, {rate * operations / 1e9:.0f} G/s)")
        needed = WANTED / 60 * tokens * operations
        print(f"  at best {60 * best / tokens / operations:,.0f} a minute; {WANTED:,} need {needed / 1e9:.0f} G/s")
        by_batch(session, round(tokens), operations)
    return 0


if __name__ == "__main__":
    sys.exit(main())
