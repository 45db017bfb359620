"""Write trained weights of the small judge into its part, mixed with the weights that the training began from.

    python benchmarks/judge/judge_part.py --weights student --share 0.5 --out english-joint

The mean of both keeps what the training forgot. `student` is what `judge_training.py` wrote; matrices become bytes with
one scale for each output, as in the shipped part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
from joint_base import matrix_names
from judge_training import load, own_name

from dragoman.models.part import find_part

_PREFIX = "trunk."


def main() -> None:
    """Replace the weights in the graph of the part."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", default="english-joint")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--share", type=float, default=0.5, help="of the trained weights in the mean")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    import onnx
    from onnx import numpy_helper

    weights = {name: tensor.numpy() for name, tensor in load(given.weights).items()}
    trained: dict[str, np.ndarray] = {}
    source = find_part(given.part)
    model = onnx.load(str(source / "model.onnx"))
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    arrays = {name: numpy_helper.to_array(tensor) for name, tensor in stored.items()}
    matrices = matrix_names(model, arrays)  # bytes of a matrix -> its name
    for name in [*matrices.values(), *(name.removesuffix("_bytes").removeprefix(_PREFIX) for name in arrays)]:
        own = own_name(name if name.startswith("heads.") else name.removeprefix("encoder."))
        if own in weights:
            trained[name] = weights[own]

    def mixed(before: np.ndarray, name: str) -> np.ndarray:
        return (1 - given.share) * before.astype(np.float32) + given.share * trained.pop(name)

    def put(name: str, array: np.ndarray) -> None:
        stored[name].CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), name))

    for name, array in arrays.items():
        if name in matrices:
            scale_name = name.removesuffix("_bytes") + "_scale"
            wide = array.astype(np.float32) * arrays[scale_name]  # (inputs, outputs)
            new = mixed(wide.T, matrices[name]).T
            axis = tuple(i for i in range(new.ndim) if arrays[scale_name].shape[i] == 1)
            scale = np.maximum(np.abs(new).max(axis=axis, keepdims=True), 1e-12) / 127
            put(name, np.clip(np.rint(new / scale), -127, 127).astype(np.int8))
            put(scale_name, scale.astype(arrays[scale_name].dtype))
        elif name.removesuffix("_bytes") != name and name.removesuffix("_bytes").removeprefix(_PREFIX) in trained:
            whole = name.removesuffix("_bytes")
            new = mixed(array * arrays[f"{whole}_scale"], whole.removeprefix(_PREFIX))
            scale = np.maximum(np.abs(new).max(axis=1, keepdims=True), 1e-12) / 127
            put(name, np.clip(np.rint(new / scale), -127, 127).astype(np.int8))
            put(f"{whole}_scale", scale.reshape(arrays[f"{whole}_scale"].shape).astype(arrays[f"{whole}_scale"].dtype))
        elif name.removeprefix(_PREFIX) in trained:
            put(name, mixed(array, name.removeprefix(_PREFIX)).astype(array.dtype))
    print("left out:", sorted(trained))
    if given.out.exists():
        shutil.rmtree(given.out)
    shutil.copytree(source, given.out)
    onnx.save(model, str(given.out / "model.onnx"))
    card = json.loads((given.out / "part.json").read_text(encoding="utf-8"))
    card["files"]["model.onnx"] = hashlib.sha256((given.out / "model.onnx").read_bytes()).hexdigest()
    (given.out / "part.json").write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
