"""Models whose weights lie in other files, or that ask for absurd memory."""

from __future__ import annotations

import pytest

from dragoman.core.errors import WeightsError
from dragoman.models.onnx.outside_data import check_self_contained
from dragoman.models.onnx.session import open_session

pytestmark = pytest.mark.trust
onnx = pytest.importorskip("onnx")


def tensor(location=None):
    made = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[16])
    if location is None:
        made.raw_data = bytes(64)
        return made
    made.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, "offset": "0", "length": "64"}.items():
        made.external_data.add(key=key, value=value)
    return made


def written(folder, nodes, initializers, shape=(16,)):
    helper = onnx.helper
    given = helper.make_tensor_value_info("x", onnx.TensorProto.INT64, [1, 1])
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [given], [result], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return folder / "model.onnx"


def identity():
    return [onnx.helper.make_node("Identity", ["w"], ["y"])]


def test_a_model_of_one_file_is_taken(tmp_path):
    file = written(tmp_path / "m", identity(), [tensor()])
    check_self_contained(file)
    assert open_session(file.parent, 1)


@pytest.mark.parametrize("location", ["../secret.bin", "/etc/passwd", "link.bin", "beside.bin"])
def test_weights_in_other_files_are_refused_wherever_they_lie(tmp_path, location):
    (tmp_path / "secret.bin").write_bytes(b"A" * 64)
    file = written(tmp_path / "m", identity(), [tensor(location)])
    (file.parent / "link.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(WeightsError, match="other files"):
        check_self_contained(file)
    with pytest.raises(WeightsError):  # by the runtime too, in the version that is installed here
        open_session(file.parent, 1)


def test_weights_of_a_constant_inside_a_branch_are_looked_at(tmp_path):
    helper = onnx.helper
    constant = helper.make_node("Constant", [], ["c"], value=tensor("../secret.bin"))
    branch = helper.make_graph([constant], "b", [], [helper.make_tensor_value_info("c", onnx.TensorProto.FLOAT, [16])])
    condition = helper.make_tensor("t", onnx.TensorProto.BOOL, [], [True])
    nodes = [helper.make_node("If", ["t"], ["y"], then_branch=branch, else_branch=branch)]
    with pytest.raises(WeightsError, match="other files"):
        check_self_contained(written(tmp_path / "m", nodes, [condition]))


@pytest.mark.parametrize("content", [b"", b"\x00", b"\xff" * 40, b"\x3a\xff\xff\xff\xff\x0f", b"GGUF"])
def test_any_bytes_are_taken_or_refused_in_words(tmp_path, content):
    file = tmp_path / "model.onnx"
    file.write_bytes(content)
    with pytest.raises(WeightsError):
        check_self_contained(file)
        open_session(tmp_path, 1)


def test_a_model_that_asks_for_absurd_memory_fails_in_words(tmp_path):
    """Four terabytes, which the runtime asks for at once; what fits this machine is not limited."""
    import numpy as np

    helper = onnx.helper
    size = helper.make_tensor("s", onnx.TensorProto.INT64, [1], [10**12])
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["c"]),
        helper.make_node("ReduceSum", ["c"], ["y"], keepdims=0),
    ]
    session = open_session(written(tmp_path / "m", nodes, [size], ()).parent, 1)
    with pytest.raises(Exception, match="ConstantOfShape"):
        session.run(None, {"x": np.ones((1, 1), dtype=np.int64)})
