"""Export a torch module to ONNX, with eight-bit weights where dev's metric does not suffer.

A matrix is stored as bytes with a scale for each column, and its use is written as `Cast`, `Mul`, `MatMul`, which any
runtime understands; ours multiplies the bytes as such (`models/onnx/int8_graph.py`).
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    import onnx

Int8: TypeAlias = Literal["auto", "always", "never"]
MODEL = "model.onnx"
_LARGE = 1 << 14
"""Matrices with fewer numbers stay as they are."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export: bits a weight, bytes, and dev's metric of both versions where it was measured."""

    bits: int
    bytes: int
    full: float | None = None
    narrow: float | None = None


def to_onnx(
    module: nn.Module,
    inputs: Mapping[str, Tensor],
    outputs: Sequence[str],
    file: Path,
    *,
    lengths: Mapping[str, str] | None = None,
) -> None:
    """Trace a module for any batch size and length; inputs are (B, T), with the given names.

    Inputs share one length, except those for which `lengths` names another dimension.
    """
    was, device = module.training, next(module.parameters()).device
    module.eval().cpu()
    many = torch.export.Dim("rows")
    long = {name: torch.export.Dim(name) for name in {"length", *(lengths or {}).values()}}
    axes = {name: long[(lengths or {}).get(name, "length")] for name in inputs}
    shapes = [{0: many, 1: axes[name]} if tensor.dim() > 1 else {0: many} for name, tensor in inputs.items()]
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    with _quiet():
        torch.onnx.export(
            module,
            tuple(inputs.values()),
            str(partial),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamo=True,
            dynamic_shapes=shapes,
            external_data=False,
            verbose=False,
        )
    import onnx

    model = onnx.load(str(partial))
    forget_traces(model)
    onnx.save(model, str(partial))
    partial.replace(file)
    module.train(was).to(device)


def forget_traces(model: onnx.ModelProto) -> None:
    """Remove the exporter's stack traces, which contain paths of this machine."""
    for each in (model, model.graph, *model.graph.node, *model.graph.value_info):
        del each.metadata_props[:]


def narrow_where_it_holds(
    folder: Path, *, int8: Int8, tolerance: float, measure: Callable[[], float] | None
) -> Exported:
    """Replace the full model by the eight-bit one, unless dev's metric falls by more than the tolerance."""
    model = folder / MODEL
    if int8 == "never":
        return Exported(32, model.stat().st_size, measure() if measure else None)
    full = measure() if measure else None
    full_file, narrow_file = folder / f".{MODEL}.full", folder / f".{MODEL}.narrow"
    quantise(model, narrow_file)
    model.replace(full_file)
    narrow_file.replace(model)
    narrow = measure() if measure else None
    if int8 == "auto" and full is not None and narrow is not None and not narrow >= full - tolerance:
        full_file.replace(model)
        return Exported(32, model.stat().st_size, full, narrow)
    full_file.unlink()
    return Exported(8, model.stat().st_size, full, narrow)


def quantise(source: Path, target: Path) -> None:
    """Write a model with its large matrices and tables as bytes."""
    import onnx

    model = onnx.load(str(source))
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes: list[onnx.NodeProto] = []
    gone: set[str] = set()
    for node in model.graph.node:
        place = {"MatMul": 1, "Gather": 0}.get(node.op_type)
        tensor = tensors.get(node.input[place]) if place is not None else None
        if place is not None and tensor is not None and _is_large(tensor):
            nodes += _as_bytes(model, tensor, by_row=node.op_type == "Gather", again=tensor.name in gone)
            gone.add(tensor.name)
            node.input[place] = f"{tensor.name}_wide"
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    for name in gone:
        model.graph.initializer.remove(tensors[name])
    onnx.save(model, str(target))


def _is_large(tensor: onnx.TensorProto) -> bool:
    import onnx

    return (
        len(tensor.dims) == 2
        and tensor.data_type == onnx.TensorProto.FLOAT
        and tensor.dims[0] * tensor.dims[1] >= _LARGE
    )


def _as_bytes(model: onnx.ModelProto, tensor: onnx.TensorProto, *, by_row: bool, again: bool) -> list[onnx.NodeProto]:
    """A matrix as bytes with a scale a column, a table with one a row, and the nodes that widen it."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    if again:
        return []
    content = numpy_helper.to_array(tensor)
    largest = np.abs(content).max(axis=1 if by_row else 0, keepdims=True)
    scale = (np.maximum(largest, 1e-12) / 127.0).astype(np.float32)
    narrow = np.clip(np.rint(content / scale), -127, 127).astype(np.int8)
    name = tensor.name
    model.graph.initializer.extend(
        [numpy_helper.from_array(narrow, f"{name}_bytes"), numpy_helper.from_array(scale, f"{name}_scale")]
    )
    return [
        onnx.helper.make_node("Cast", [f"{name}_bytes"], [f"{name}_numbers"], to=onnx.TensorProto.FLOAT),
        onnx.helper.make_node("Mul", [f"{name}_numbers", f"{name}_scale"], [f"{name}_wide"]),
    ]


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's logs, warnings and output."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.__trace")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
