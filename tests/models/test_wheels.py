from __future__ import annotations

import sys
import time

import pytest

from dragoman.models import wheels

FAKE_PIP = """
import os, pathlib, sys, time
part = pathlib.Path(os.environ["TMPDIR"]) / "unpack" / "part"
part.parent.mkdir()
for size in (1000, 2000, 3000):
    part.write_bytes(b"x" * size)
    time.sleep(0.3)
part.rename(pathlib.Path(sys.argv[sys.argv.index("--dest") + 1]) / "tiny-1.0-py3-none-any.whl")
"""


@pytest.fixture
def slow_pip(tmp_path, monkeypatch):
    package = tmp_path / "site" / "pip"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(FAKE_PIP)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    return package


def test_progress_is_what_has_arrived(slow_pip, tmp_path):
    seen = []
    folder = tmp_path / "here"
    folder.mkdir()
    assert wheels.download("tiny", "1.0", folder, seen.append).name == "tiny-1.0-py3-none-any.whl"
    assert {1000, 2000, 3000} <= set(seen)
    assert seen == sorted(seen)


def test_stopping_early_stops_pip(slow_pip, tmp_path):
    def interrupt(done):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wheels.download("tiny", "1.0", tmp_path, interrupt)
    time.sleep(1.0)
    assert not list((tmp_path / "wheel").iterdir())


def test_the_failure_of_pip_is_told_in_its_words():
    said = (
        "Looking in indexes: x\nERROR: Could not find a version\nERROR: No matching distribution found for tiny==1.0\n"
    )
    error = wheels._failure("tiny", "1.0", said)
    assert "No matching distribution found for tiny==1.0. Check the network" in str(error)


def test_this_python_runs_pip(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(FileNotFoundError):
        wheels.download("tiny", "1.0", tmp_path, lambda _: None)
