"""Torch to ONNX for the light runtime: weights in eight bits where what is measured on dev holds.

A matrix is stored as bytes with a scale for each column, and its use is written as `Cast`, `Mul`, `MatMul`, which any
runtime understands; ours multiplies the bytes as such (`models/narrow.py`).
"""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

from dragoman.core.errors import WeightsError
from dragoman.models.part import FILE, Part, find_part, read_part, write_part
from dragoman.models.trunk import Pooling, Tokens, Trunk, read_weights
from dragoman.train.card import exported_card, size
from dragoman.train.folder import CARD, METRICS, write_whole

if TYPE_CHECKING:
    import onnx

Int8: TypeAlias = Literal["auto", "always", "never"]
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
BEST, SHAPE = "best.safetensors", "trunk.json"
_LARGE = 1 << 14
"""Matrices with fewer numbers stay as they are."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: bits a weight, bytes, and dev's metric before and after where it was measured."""

    bits: int
    bytes: int
    full: float | None = None
    narrow: float | None = None


class _Heads(nn.Module):
    def __init__(self, trunk: Trunk) -> None:
        super().__init__()
        self.trunk = trunk

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, ...]:
        rows = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        return tuple(self.trunk(rows).values())


class _States(_Heads):
    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, ...]:
        rows = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        return (self.trunk.states(rows),)


def export_trunk(
    trunk: Trunk,
    tokens: Tokens,
    folder: Path,
    *,
    output: Literal["heads", "states"] = "heads",
    int8: Int8 = "auto",
    tolerance: float = 0.005,
    measure: Callable[[], float] | None = None,
) -> Exported:
    """Write `model.onnx` and `tokenizer.json`; `measure` reads dev's metric off the model that lies in the folder.

    `states` gives the states of all tokens, as `encoder.onnx` wants them; `heads` the scores of each head by its name.
    """
    (folder / TOKENIZER).write_bytes(tokens.file.read_bytes())
    rows = tokens.rows(tokens.encode(["a few words to trace", ("a pair", "of other words")]))
    names = list(trunk.heads) if output == "heads" else ["last_hidden_state"]
    module = (_Heads if output == "heads" else _States)(trunk)
    to_onnx(module, rows, names, folder / MODEL)
    return narrow_where_it_holds(folder, int8=int8, tolerance=tolerance, measure=measure)


def to_onnx(
    module: nn.Module,
    inputs: Mapping[str, Tensor],
    outputs: Sequence[str],
    file: Path,
    *,
    lengths: Mapping[str, str] | None = None,
) -> None:
    """Trace a module for any number of rows and any length; inputs are (B, T), named as they are given.

    All have one length, but for those to which `lengths` gives the name of another.
    """
    was, device = module.training, next(module.parameters()).device
    module.eval().cpu()
    many = torch.export.Dim("rows")
    long = {name: torch.export.Dim(name) for name in {"length", *(lengths or {}).values()}}
    named = {name: long[(lengths or {}).get(name, "length")] for name in inputs}
    shapes = [{0: many, 1: named[name]} if tensor.dim() > 1 else {0: many} for name, tensor in inputs.items()]
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
    partial.replace(file)
    module.train(was).to(device)


def narrow_where_it_holds(
    folder: Path, *, int8: Int8, tolerance: float, measure: Callable[[], float] | None
) -> Exported:
    """Put the eight-bit model in the full one's place, unless dev's metric falls by more than the tolerance."""
    model = folder / MODEL
    if int8 == "never":
        return Exported(32, model.stat().st_size, measure() if measure else None)
    full = measure() if measure else None
    kept, narrow_file = folder / f".{MODEL}.full", folder / f".{MODEL}.narrow"
    quantise(model, narrow_file)
    model.replace(kept)
    narrow_file.replace(model)
    narrow = measure() if measure else None
    if int8 == "auto" and full is not None and narrow is not None and not narrow >= full - tolerance:
        kept.replace(model)
        return Exported(32, model.stat().st_size, full, narrow)
    kept.unlink()
    return Exported(8, model.stat().st_size, full, narrow)


def quantise(source: Path, target: Path) -> None:
    """Write a model with its large matrices and tables as bytes."""
    import onnx

    model = onnx.load(str(source))
    found = {tensor.name: tensor for tensor in model.graph.initializer}
    nodes: list[onnx.NodeProto] = []
    gone: set[str] = set()
    for node in model.graph.node:
        place = {"MatMul": 1, "Gather": 0}.get(node.op_type)
        tensor = found.get(node.input[place]) if place is not None else None
        if place is not None and tensor is not None and _is_large(tensor):
            nodes += _as_bytes(model, tensor, by_row=node.op_type == "Gather", again=tensor.name in gone)
            gone.add(tensor.name)
            node.input[place] = f"{tensor.name}_wide"
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    for name in gone:
        model.graph.initializer.remove(found[name])
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


def save_shape(trunk: Trunk, tokens: Tokens, folder: Path, *, max_tokens: int, output: str = "heads") -> None:
    """Write what is needed to build the trunk again from its weights alone."""
    table = {
        "encoder": trunk.encoder.config.to_dict(),
        "heads": {name: int(head.out_features) for name, head in trunk.heads.items()},  # type: ignore[arg-type]
        "pooling": trunk.pooling,
        "max_tokens": max_tokens,
        "output": output,
    }
    (folder / SHAPE).write_text(json.dumps(table, indent=1, default=str) + "\n", encoding="utf-8")
    (folder / TOKENIZER).write_bytes(tokens.file.read_bytes())


def rebuilt(folder: Path) -> tuple[Trunk, Tokens, dict[str, Any]]:
    """The trunk of a training folder with its best weights."""
    from transformers import AutoConfig, AutoModel

    try:
        table = json.loads((folder / SHAPE).read_text(encoding="utf-8"))
    except OSError as error:
        raise WeightsError(
            f"'{folder}' holds no trained model ({SHAPE} is missing).", remedy="Give the --out folder of a training."
        ) from error
    settings = dict(table["encoder"])
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    encoder = AutoModel.from_config(config)  # type: ignore[no-untyped-call]
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    pooling: Pooling = table["pooling"]
    trunk = Trunk(encoder, table["heads"], pooling=pooling)
    read_weights(trunk, folder / BEST)
    return trunk, Tokens(folder, int(table["max_tokens"])), table


def export_part(folder: Path, *, int8: Int8 = "auto") -> tuple[Part, Exported]:
    """Export a trained folder anew, and with it the parts that share its model. `auto` keeps to the bits it has.

    A model that was damaged is made again. Nothing is fitted anew: calibration, thresholds and figures stay those of
    training.
    """
    folder = find_part(folder)
    part = read_part(folder)
    if part.shares:
        return export_part(part.place.resolve(), int8=int8)
    decided: Int8 = "never" if part.made.get("bits") == 32 else "always"
    if part.kind == "gate.attention":
        from dragoman.train.attention_export import export_again

        exported = export_again(part, int8=decided if int8 == "auto" else int8)
    elif not (folder / SHAPE).is_file():
        raise WeightsError(
            f"A {part.kind} has nothing to export: it runs as it is.", remedy=f"Use it: part = '{folder}'."
        )
    else:
        trunk, tokens, table = rebuilt(folder)
        exported = export_trunk(trunk, tokens, folder, output=table["output"], int8=decided if int8 == "auto" else int8)
    whole = write_part(_told(part, exported), tuple(part.files))
    for place in sorted(folder.glob(f"*/{FILE}")):
        inner = read_part(place.parent)
        if inner.shares and inner.place.resolve() == folder.resolve():
            write_part(_told(inner, exported), tuple(inner.files))
    _write_down(whole)
    return whole, exported


def _told(part: Part, exported: Exported) -> Part:
    """A part that says what it has become, and at how many bits it was fitted."""
    fitted = part.made.get("fitted_bits", part.made.get("bits"))
    made = {**part.made, "bits": exported.bits, "bytes": exported.bytes}
    return replace(part, made=made if fitted is None else {**made, "fitted_bits": fitted})


def _write_down(part: Part) -> None:
    """Say in the model card and beside the figures what was exported, where training left them."""
    card, metrics = part.folder / CARD, part.folder / METRICS
    if card.is_file():
        write_whole(card, exported_card(card.read_text(encoding="utf-8"), part))
    if metrics.is_file():
        table = {**json.loads(metrics.read_text(encoding="utf-8")), "bytes": size(part)}
        write_whole(metrics, json.dumps(table, ensure_ascii=False, indent=1) + "\n")


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter talks of its own insides, on logs, warnings and standard output."""
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
