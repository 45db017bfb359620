"""An adapter in llama.cpp's own format, so that the embedded runtime runs what was trained in torch."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from safetensors.numpy import load_file

from dragoman.core.errors import MissingExtraError, WeightsError
from dragoman.models.torch.lora import CONFIG, WEIGHTS

FILE = "adapter.gguf"
Precision: TypeAlias = Literal["f32", "f16", "q8_0"]
_NAME = re.compile(r"^base_model\.model\.(?P<layer>.+)\.lora_(?P<side>[AB])\.weight$")


def write_gguf_adapter(folder: Path, base: Path, *, precision: Precision = "f32") -> Path:
    """Write the adapter of a folder beside itself as `adapter.gguf`; `base` is the GGUF file that it is for.

    `q8_0` packs rows in blocks of 32: those of another length, such as B's where the rank is no multiple, are f16.
    """
    try:
        import gguf
    except ImportError as error:
        raise MissingExtraError(
            "Writing an adapter for llama.cpp needs the package gguf.",
            remedy="Run: pip install 'dragoman[train]'",
            extra="train",
        ) from error
    reader = gguf.GGUFReader(base)
    architecture = str(reader.fields["general.architecture"].contents())
    names = _names(gguf, architecture, _number(reader, f"{architecture}.block_count"))
    alpha = float(json.loads((folder / CONFIG).read_text(encoding="utf-8"))["lora_alpha"])
    partial = folder / f".{FILE}"
    writer = gguf.GGUFWriter(partial, architecture)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, alpha)
    for key, tensor in sorted(load_file(folder / WEIGHTS).items()):
        match = _NAME.match(key)
        name = names.get_name(match["layer"]) if match else None
        if match is None or name is None:
            raise WeightsError(
                f"llama.cpp has no place for '{key}' in a model of the kind {architecture}.",
                remedy='Run this part with runtime = "torch".',
            )
        if match["side"] == "B" and architecture == "llama":
            tensor = _turned(tensor, match["layer"], reader, architecture)  # noqa: PLW2901 - the same, in other order
        data, kind = _packed(gguf, tensor, precision)
        writer.add_tensor(f"{name}.weight.lora_{match['side'].lower()}", data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return partial.replace(folder / FILE)


def _names(gguf: Any, architecture: str, layers: int) -> Any:
    architectures = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    if architecture not in architectures:
        raise WeightsError(
            f"The package gguf does not know models of the kind {architecture}.",
            remedy='Run this part with runtime = "torch".',
        )
    return gguf.get_tensor_name_map(architectures[architecture], layers)


def _turned(tensor: Any, layer: str, reader: Any, architecture: str) -> Any:
    """Rows of the query and key projections as GGUF orders them: its rotary embedding takes neighbours in pairs,
    transformers' the two halves of a head."""
    heads = _number(reader, f"{architecture}.attention.head_count")
    if layer.endswith(".k_proj"):
        heads = _number(reader, f"{architecture}.attention.head_count_kv", heads)
    elif not layer.endswith(".q_proj"):
        return tensor
    rows, rank = tensor.shape
    return tensor.reshape(heads, 2, rows // heads // 2, rank).swapaxes(1, 2).reshape(rows, rank)


def _packed(gguf: Any, tensor: Any, precision: Precision) -> tuple[Any, Any]:
    """A matrix as it is stored, and its type where the numbers alone do not say it."""
    if precision == "f32":
        return tensor.astype(np.float32), None
    if precision == "q8_0" and tensor.shape[-1] % gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType.Q8_0][0] == 0:
        kind = gguf.GGMLQuantizationType.Q8_0
        return gguf.quants.quantize(tensor.astype(np.float32), kind), kind
    return tensor.astype(np.float16), None


def _number(reader: Any, key: str, otherwise: int | None = None) -> int:
    if key not in reader.fields and otherwise is not None:
        return otherwise
    return int(reader.fields[key].contents())
