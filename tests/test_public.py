"""The public names, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import dragoman

HEAVY = (
    "numpy",
    "pydantic",
    "fastapi",
    "uvicorn",
    "torch",
    "transformers",
    "httpx",
    "typer",
    "rich",
    "onnxruntime",
    "apsw",
    "tokenizers",
    "ray",
)


def test_every_public_name_is_there_and_no_other():
    assert sorted(dragoman.__all__) == dragoman.__all__
    assert set(dragoman.__all__) == set(dragoman._HOME)
    for name in dragoman.__all__:
        assert getattr(dragoman, name).__name__ == name
    assert set(dir(dragoman)) == {*dragoman.__all__, "__version__"}


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(dragoman, "Agents")


def loaded(code):
    script = f"{code}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_the_package_loads_nothing_heavy():
    assert loaded("import dragoman") == []


def test_values_and_the_loop_load_nothing_heavy():
    assert loaded("from dragoman import Agent, Context, Reply, Refiner, DragomanError") == []
