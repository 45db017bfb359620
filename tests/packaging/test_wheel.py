"""The wheel: complete, typed, small enough, the same each time, and enough on its own in a bare environment."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_BYTES = 60_000_000
pytestmark = pytest.mark.slow


def build(root: Path, out: Path) -> Path:
    wheels = pytest.importorskip("hatchling.builders.wheel")
    return Path(next(iter(wheels.WheelBuilder(str(root)).build(directory=str(out), versions=["standard"]))))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_wheel_holds_what_runs_without_the_repository(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {
        "dragoman/py.typed",
        "dragoman/sample/harbour/agent.toml",
        "dragoman/models/parts/english/model.onnx",
        "dragoman/evaluate/experiments/data.toml",
    } <= names
    assert not [name for name in names if name.startswith("tests/") or "__pycache__" in name]


def test_wheel_stays_under_its_limit(wheel):
    assert wheel.stat().st_size < MOST_BYTES


def test_metadata_says_licence_versions_and_types(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = HeaderParser().parsestr(archive.read(name).decode())
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in metadata.get_all("Classifier")
    assert {"server", "train", "mcp", "postgres", "all"} <= set(metadata.get_all("Provides-Extra"))


def test_the_same_tree_elsewhere_makes_the_same_wheel(wheel, tmp_path):
    """A copy with other times of its files, as a fresh clone has."""
    copy = tmp_path / "clone"
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "dist", "runs", "tests", "docs")
    shutil.copytree(ROOT, copy, ignore=ignored, copy_function=shutil.copyfile)
    os.utime(copy / "src/dragoman/__init__.py", (1_000_000_000, 1_000_000_000))
    again = build(copy, tmp_path / "out")
    assert (again.name, sha256(again)) == (wheel.name, sha256(wheel))


@pytest.mark.integration
def test_a_bare_environment_answers_from_another_folder(wheel, tmp_path, own_home):
    """Installs the dependencies from the package index that pip is set up for; skipped where there is none."""
    python = tmp_path / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--retries", "0", wheel]
    installed = subprocess.run(pip, capture_output=True, text=True, check=False)
    if installed.returncode and "No matching distribution" in installed.stderr + installed.stdout:
        pytest.skip("no package index can be reached")
    assert installed.returncode == 0, installed.stderr
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    turns = "I travel with a dog.\nCan I take my dog on the Petrel?\n"
    seconds = []
    for _ in range(2):
        started = time.perf_counter()
        talk = subprocess.run(
            [python.parent / "dragoman", "chat"],
            input=turns,
            capture_output=True,
            text=True,
            cwd=elsewhere,
            env=environment,
            check=False,
        )
        seconds.append(time.perf_counter() - started)
        assert talk.returncode == 0, talk.stderr
        assert "Dogs travel free on the Petrel" in talk.stdout.splitlines()[-1]
    assert list(elsewhere.iterdir()) == []
    zone = "from dragoman.core.clock import zone_of; print(zone_of('Asia/Tokyo'))"
    bare = {**environment, "PYTHONTZPATH": ""}  # Windows and small images have no time zones of their own
    subprocess.run([python, "-c", zone], check=True, env=bare)
    print(f"first start {seconds[0]:.1f} s, second start {seconds[1]:.1f} s")  # noqa: T201 - shown by pytest -s
