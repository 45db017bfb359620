from __future__ import annotations

import subprocess
import sys

from dragoman import models
from dragoman.core import registry


def test_names_of_models_and_encoders_are_pinned():
    assert registry.models.names() == ("model.hf.v1", "model.llamacpp.v1", "model.remote.v1", "model.scripted.v1")
    assert registry.encoders.names() == (
        "encoder.hashing.v1",
        "encoder.onnx.v1",
        "encoder.remote.v1",
        "encoder.static.v1",
    )


def test_everything_exported_is_there():
    assert all(hasattr(models, name) for name in models.__all__)


def test_importing_the_room_loads_nothing_heavy():
    heavy = ["numpy", "xllamacpp", "onnxruntime", "tokenizers", "httpx"]
    code = f"import sys, dragoman.models; print([n for n in {heavy} if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
