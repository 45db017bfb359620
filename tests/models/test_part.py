"""A part's folder: written whole, read back, found by name, and refused where it is not what it says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import UnknownNameError, WeightsError
from dragoman.models.calibration import Isotonic, Logistic
from dragoman.models.part import FILE, PARENT, Head, Part, find_part, open_part, read_part, write_part

HEADS = {
    "gate": Head(("retrieve",), {"retrieve": Logistic(2.0, -1.0)}, {"retrieve": 0.3}),
    "plan": Head(("a", "b"), {"b": Isotonic((0.0, 1.0), (0.1, 0.9))}, {"b": 0.7}),
}


def written(folder, *, kind="gate.encoder"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(b"weights")
    made = {"metrics": {"f1": 0.5}}
    return write_part(Part(folder, kind, HEADS, {"view": {"turns": 4}}, made=made), ("model.onnx",))


def table_of(folder):
    return json.loads((folder / FILE).read_text())


def test_what_is_written_is_read_again(tmp_path):
    part = written(tmp_path / "gate")
    assert open_part(tmp_path / "gate") == part
    assert part.heads == HEADS


def test_writing_leaves_no_partial_file(tmp_path):
    written(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", FILE]


def test_head_without_a_calibration_takes_the_score_as_log_odds_and_a_half():
    head = Head(("a", "b"))
    assert (head.probability(0.0, "b"), head.threshold("b")) == (0.5, 0.5)


def test_label_of_a_head_has_a_calibration_and_threshold_of_its_own():
    plan = HEADS["plan"]
    assert plan.probability(0.5, "b") == pytest.approx(0.5)
    assert plan.probability(-1.0, "b") == 0.1
    assert (plan.threshold("a"), plan.threshold("b")) == (0.5, 0.7)


def test_damaged_file_is_refused(tmp_path):
    written(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"weighty")
    with pytest.raises(WeightsError, match="damaged"):
        open_part(tmp_path)


def test_missing_file_is_refused(tmp_path):
    written(tmp_path)
    (tmp_path / "model.onnx").unlink()
    with pytest.raises(WeightsError, match="lacks its file"):
        open_part(tmp_path)


def test_file_outside_the_folder_is_refused(tmp_path):
    written(tmp_path / "part")
    (tmp_path / "secret").write_text("x")
    table = table_of(tmp_path / "part")
    table["files"] = {"../secret": "0"}
    (tmp_path / "part" / FILE).write_text(json.dumps(table))
    with pytest.raises(WeightsError, match="outside"):
        open_part(tmp_path / "part")


def test_part_of_another_kind_is_refused(tmp_path):
    written(tmp_path)
    with pytest.raises(WeightsError, match=r"is a gate\.encoder, not a planner\.classifier"):
        open_part(tmp_path, kind="planner.classifier")


def test_part_of_a_later_format_is_refused(tmp_path):
    written(tmp_path)
    (tmp_path / FILE).write_text(json.dumps({**table_of(tmp_path), "format": 99}))
    with pytest.raises(WeightsError, match="has the format 99"):
        open_part(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', "\u0000"])
def test_file_that_is_no_part_is_told(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(WeightsError, match="cannot be read"):
        open_part(tmp_path)


def test_part_is_found_beside_the_agent_and_in_the_home(tmp_path, own_home):
    beside, at_home = tmp_path / "agent" / "my-gate", own_home / "parts" / "other-gate"
    written(beside)
    written(at_home)
    assert find_part("my-gate", folder=tmp_path / "agent") == beside
    assert find_part("other-gate") == at_home


def test_unknown_name_is_told(tmp_path):
    with pytest.raises(UnknownNameError, match="no-such-part"):
        find_part("no-such-part")
    with pytest.raises(WeightsError, match="There is no trained part"):
        find_part(tmp_path / "nowhere")


def test_unknown_head_is_told(tmp_path):
    with pytest.raises(UnknownNameError, match="paln"):
        written(tmp_path).head("paln")


def test_file_that_a_part_does_not_have_is_told(tmp_path):
    with pytest.raises(WeightsError, match="Copy the folder again, or train it again"):
        written(tmp_path).file("weights.safetensors")
    (tmp_path / "best.safetensors").touch()
    with pytest.raises(WeightsError, match="dragoman export"):
        written(tmp_path).file("weights.safetensors")


def test_part_may_take_its_files_from_the_folder_around_it(tmp_path):
    whole = written(tmp_path)
    (tmp_path / "gate").mkdir()
    part = write_part(Part(tmp_path / "gate", "gate.encoder", HEADS, shares=PARENT), ("model.onnx",))
    assert open_part(tmp_path / "gate") == part
    assert part.file("model.onnx").resolve() == whole.file("model.onnx").resolve()


_PIECES = st.lists(st.sampled_from(["..", ".", "a", "gate", "~", "", " ", "\x00"]), max_size=4).map("/".join)
_ODD = st.one_of(
    _PIECES, _PIECES.map("/{}".format), st.text(max_size=6), st.none(), st.integers(), st.just([".."]), st.booleans()
)


@pytest.mark.trust
@given(shares=_ODD.filter(lambda value: value not in ("", "..")))
def test_files_are_taken_from_nowhere_else(tmp_path_factory, shares):
    folder = tmp_path_factory.mktemp("odd") / "part"
    written(folder)
    (folder / FILE).write_text(json.dumps({**table_of(folder), "shares": shares}))
    for opening in (open_part, read_part):
        with pytest.raises(WeightsError, match="only the folder around it may be shared"):
            opening(folder)
