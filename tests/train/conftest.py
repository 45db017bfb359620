"""The tiny task, and one thread: the order of sums must not depend on how busy the machine is."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


def load(name):
    """A module that lies beside this file."""
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"dragoman_train_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tiny():
    """The module of the tiny task."""
    return load("tiny")


@pytest.fixture(scope="session")
def load_beside():
    """Loads a module that lies beside this file."""
    return load


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    import gc

    import torch

    gc.freeze()  # what torch brought stays: looking through it again and again takes seconds
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def counting():
    """The learner that counts words, registered for one test."""
    module = load("learner")
    module.register()
    yield module
    module.unregister()
