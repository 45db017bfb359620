"""Vectors of rows kept between runs."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dragoman.core.errors import UnknownNameError
from dragoman.evaluate.systems import vector_cache as module
from dragoman.evaluate.systems.vector_cache import FILE, KeptVectors, identity, kept_vectors
from dragoman.models.scripted import ScriptedEncoder

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray


class Counting:
    """An encoder that says what it was asked."""

    def __init__(self, dimensions: int = 16) -> None:
        self._inner = ScriptedEncoder(dimensions=dimensions)
        self.asked: list[str] = []

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    def encode(self, texts: Sequence[str]) -> FloatArray:
        self.asked += texts
        return self._inner.encode(texts)

    def forget(self, texts: Sequence[str]) -> str:
        return f"forgot {len(texts)}"


def kept(folder: Path, encoder: Counting, weights: bytes = b"w", **options: int) -> KeptVectors:
    return KeptVectors(encoder, lambda: weights, folder=folder, **options)


def test_a_second_run_reads_what_the_first_encoded(tmp_path: Path) -> None:
    texts = ["red tea", "green tea", "red tea", ""]
    first, second = Counting(), Counting()
    fresh = kept(tmp_path, first).encode(texts)
    assert first.asked == ["red tea", "green tea", ""]
    again = kept(tmp_path, second).encode([*reversed(texts), "new"])
    assert second.asked == ["new"]
    assert again[:4].tobytes() == fresh[::-1].tobytes()
    assert np.array_equal(fresh, ScriptedEncoder(dimensions=16).encode(texts))


def test_other_weights_have_vectors_of_their_own(tmp_path: Path) -> None:
    kept(tmp_path, Counting(), b"one").encode(["tea"])
    other = Counting()
    kept(tmp_path, other, b"two").encode(["tea"])
    assert other.asked == ["tea"]


def test_a_vector_of_another_size_is_not_taken(tmp_path: Path) -> None:
    kept(tmp_path, Counting(16)).encode(["tea"])
    wider = Counting(32)
    assert kept(tmp_path, wider).encode(["tea"]).shape == (1, 32)
    assert wider.asked == ["tea"]


def test_no_texts_are_an_empty_array(tmp_path: Path) -> None:
    assert kept(tmp_path, Counting()).encode([]).shape == (0, 16)


def test_the_file_stays_within_its_bound_and_drops_what_was_not_used_for_longest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = 256 * 1024
    monkeypatch.setattr(module, "_today", lambda: 1)
    kept(tmp_path, Counting(256), most_bytes=bound).encode([f"old {i}" for i in range(100)])
    monkeypatch.setattr(module, "_today", lambda: 2)
    kept(tmp_path, Counting(256), most_bytes=bound).encode([f"old {i}" for i in range(20)])  # used again
    for start in range(0, 120, 40):
        kept(tmp_path, Counting(256), most_bytes=bound).encode([f"new {i}" for i in range(start, start + 40)])
    with sqlite3.connect(tmp_path / FILE) as database:
        [(rows,)] = database.execute("SELECT count(*) FROM vectors").fetchall()
        [(old,)] = database.execute("SELECT count(*) FROM vectors WHERE used = 1").fetchall()
    assert rows * 256 * 4 <= bound
    assert old < 80
    again = Counting(256)
    kept(tmp_path, again, most_bytes=bound).encode([f"old {i}" for i in range(20)])
    assert again.asked == []


@pytest.mark.parametrize(
    "damage", [b"no database at all, but long enough to look like one" * 40, b"SQLite format 3\x00"]
)
def test_a_damaged_file_is_begun_anew(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / FILE).write_bytes(damage)
    first, second = Counting(), Counting()
    expected = ScriptedEncoder(dimensions=16).encode(["tea"])
    assert np.array_equal(kept(tmp_path, first).encode(["tea"]), expected)
    assert np.array_equal(kept(tmp_path, first).encode(["tea"]), expected)
    kept(tmp_path, second).encode(["tea"])
    assert second.asked == []


def test_where_nothing_can_be_written_the_encoder_just_works(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    encoder = Counting()
    assert kept(tmp_path / "cache", encoder).encode(["tea"]).shape == (1, 16)
    assert encoder.asked == ["tea"]


def test_a_process_that_is_killed_while_writing_leaves_a_file_that_can_be_read(tmp_path: Path) -> None:
    script = f"""
import os
from pathlib import Path
from dragoman.evaluate.systems import vector_cache as vectors
from dragoman.models.scripted import ScriptedEncoder
kept = vectors.KeptVectors(ScriptedEncoder(dimensions=16), lambda: b"w", folder=Path({str(tmp_path)!r}))
kept.encode(["before"])
vectors._bytes = lambda database: os._exit(9)  # dies inside the transaction
kept.encode(["torn"])
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    encoder = Counting()
    kept(tmp_path, encoder).encode(["before", "torn"])
    assert encoder.asked == ["torn"]


def test_two_writers_do_not_lose_each_others_vectors(tmp_path: Path) -> None:
    script = f"""
import sys
from pathlib import Path
from dragoman.evaluate.systems.vector_cache import KeptVectors
from dragoman.models.scripted import ScriptedEncoder
kept = KeptVectors(ScriptedEncoder(dimensions=16), lambda: b"w", folder=Path({str(tmp_path)!r}))
for i in range(20):
    kept.encode([f"{{sys.argv[1]}} {{i}}"])
"""
    running = [subprocess.Popen([sys.executable, "-c", script, name]) for name in "ab"]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    encoder = Counting()
    kept(tmp_path, encoder).encode([f"{name} {i}" for name in "ab" for i in range(20)])
    assert encoder.asked == []


def test_the_rest_of_the_encoder_is_still_there(tmp_path: Path) -> None:
    assert kept(tmp_path, Counting()).forget(["a"]) == "forgot 1"


def test_an_encoder_without_weights_is_left_as_it_is() -> None:
    encoder = Counting()
    assert kept_vectors(encoder, {"kind": "encoder.hashing.v1"}) is encoder


def test_the_identity_of_a_part_is_what_its_card_says(tmp_path: Path) -> None:
    (tmp_path / "part.json").write_text("{}")
    table = {"weights": str(tmp_path)}
    first = identity(table, str(tmp_path))
    (tmp_path / "log.jsonl").write_text("a line of the training")
    assert identity(table, str(tmp_path)) == first
    (tmp_path / "part.json").write_text('{"format": 1}')
    assert identity(table, str(tmp_path)) != first


def test_the_identity_follows_options_and_bytes_of_the_weights(tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"one")
    first = identity({"weights": str(folder)}, str(folder))
    (folder / ".checked").write_text("mark")
    assert identity({"weights": str(folder)}, str(folder)) == first
    assert identity({"weights": str(folder), "max_tokens": 64}, str(folder)) != first
    (folder / "model.onnx").write_bytes(b"two")
    assert identity({"weights": str(folder)}, str(folder)) != first


def test_what_is_hidden_beside_weights_does_not_count(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "model.onnx").write_bytes(b"weights")
    (tmp_path / ".git" / "index").write_bytes(b"one")
    before = identity({"weights": str(tmp_path)}, str(tmp_path))
    (tmp_path / ".git" / "index").write_bytes(b"two")
    assert identity({"weights": str(tmp_path)}, str(tmp_path)) == before


def test_weights_beside_an_agent_are_found_there(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "model.onnx").write_bytes(b"one")
    table = {"kind": "encoder.onnx.v1", "weights": "own"}
    assert identity(table, "own", agent=tmp_path) == identity(table, str(tmp_path / "own"))
    with pytest.raises(UnknownNameError):
        identity(table, "own")
