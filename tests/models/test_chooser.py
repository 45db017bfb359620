"""Which runtime an adapter runs in."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dragoman.models import chooser
from dragoman.models.chooser import LIGHT_ADAPTER, Chooser


def part(tmp_path, *, base="base.gguf", files=(LIGHT_ADAPTER,)):
    place = tmp_path / base
    place.write_bytes(b"GGUF")
    return SimpleNamespace(options={"options": ("True", "False"), "base": str(place)}, files=dict.fromkeys(files, ""))


@pytest.mark.parametrize(
    ("installed", "light"),
    [({"torch", "xllamacpp"}, True), ({"xllamacpp"}, True), ({"torch"}, False), (set(), True)],
)
def test_an_adapter_for_llama_cpp_runs_there_unless_torch_alone_is_installed(tmp_path, monkeypatch, installed, light):
    monkeypatch.setattr(chooser, "_is_installed", lambda library: library in installed)
    assert Chooser(part(tmp_path))._is_light() is light


def test_what_llama_cpp_cannot_load_runs_in_torch(tmp_path):
    assert not Chooser(part(tmp_path, files=()))._is_light()
    assert not Chooser(part(tmp_path), runtime="torch")._is_light()
    assert Chooser(part(tmp_path), runtime="llamacpp")._is_light()
