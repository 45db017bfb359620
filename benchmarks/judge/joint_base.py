"""Make a transformers folder of a shipped part's encoder, so that a training can start from it.

python benchmarks/judge/joint_base.py --part english --out base
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from dragoman.models.part import find_part

_PREFIX = "trunk.encoder."
_HEADS = "trunk.heads."
_CONFIG = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 384,
    "intermediate_size": 1536,
    "max_position_embeddings": 512,
    "num_attention_heads": 12,
    "num_hidden_layers": 6,
    "type_vocab_size": 2,
    "vocab_size": 30522,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}


def main() -> None:
    """Widen the part's bytes and write them as safetensors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="english")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    import onnx
    from onnx import numpy_helper
    from safetensors.numpy import save_file

    folder = find_part(given.part)
    model = onnx.load(str(folder / "model.onnx"))
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    weights: dict[str, np.ndarray] = {}
    heads: dict[str, np.ndarray] = {}
    for name, content in stored.items():
        whole = name.removesuffix("_bytes")
        wide = content.astype(np.float32) * (stored[f"{whole}_scale"] if name.endswith("_bytes") else 1)
        if whole.startswith(_PREFIX) and not name.endswith(("_scale", "position_ids", "token_type_ids")):
            weights[whole.removeprefix(_PREFIX)] = np.ascontiguousarray(wide.astype(np.float32))
        elif name.startswith(_HEADS):
            heads[name.removeprefix("trunk.")] = np.ascontiguousarray(content)
    weights |= _matrices(model, stored)
    given.out.mkdir(parents=True, exist_ok=True)
    save_file(weights, given.out / "model.safetensors", metadata={"format": "pt"})
    save_file(heads, given.out / "heads.safetensors", metadata={"format": "pt"})
    (given.out / "config.json").write_text(json.dumps(_CONFIG, indent=1) + "\n", encoding="utf-8")
    (given.out / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    print(len(weights), sum(array.size for array in weights.values()))


def matrix_names(model: object, stored: dict[str, np.ndarray]) -> dict[str, str]:
    """The stored bytes of each matrix with the name that the exporter lost: known by the bias added to its product."""
    factor = {node.output[0]: node.input for node in model.graph.node}  # type: ignore[attr-defined]
    found: dict[str, str] = {}
    for node in model.graph.node:  # type: ignore[attr-defined]
        if node.op_type != "Add":
            continue
        for bias, product in (tuple(node.input), tuple(reversed(node.input))):
            if not (bias.startswith(_PREFIX) and bias.endswith(".bias")) or product not in factor:
                continue
            for name in factor[product]:
                content = f"{name.removesuffix('_wide')}_bytes"
                if content in stored:
                    found[content] = bias.removeprefix("trunk.").removesuffix(".bias") + ".weight"
    return found


def _matrices(model: object, stored: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The matrices in full."""
    names = matrix_names(model, stored)
    return {
        name.removeprefix("encoder."): np.ascontiguousarray(
            (stored[content].astype(np.float32) * stored[content.removesuffix("_bytes") + "_scale"]).T
        )
        for content, name in names.items()
    }


if __name__ == "__main__":
    main()
