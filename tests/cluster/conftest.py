"""Workers elsewhere without elsewhere: the real ones, over a Ray that is none."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from dragoman.cluster import node
from dragoman.cluster.ray_workers import RayWorkers


def load(path):
    """A module of the tests that others need too, known by its name so that what is in it can travel."""
    name = f"dragoman_cluster_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def beside():
    """Loads a module by its path below the tests."""
    return lambda path: load(Path(__file__).parent.parent / path)


@pytest.fixture
def fake(beside, monkeypatch):
    """Makes workers over a fake of Ray; gives both."""
    module = beside("cluster/fake_ray.py")
    monkeypatch.setenv("DRAGOMAN_CORES", "1")  # which a worker sets for itself

    def make(**options):
        ray = module.FakeRay(**options)
        monkeypatch.setitem(sys.modules, "ray", ray)
        return ray, RayWorkers(ray, patience=0.0)

    yield make
    while node._opened:
        node._opened.popitem()[1][0].close()
