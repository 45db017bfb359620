"""What must be the same here and on every node for results to be the same to the byte: code, libraries, machine."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TypeAlias

Build: TypeAlias = Mapping[str, str]
"""By name what a process is made of; a library that is not there has an empty version."""
LIBRARIES = (
    "jieba numpy onnxruntime pydantic pypdf PyStemmer scikit-learn selectolax tantivy tokenizers torch transformers "
    "xllamacpp"
).split()
_CODE = "code of Dragoman"


@cache
def build() -> Build:
    """What this process is made of."""
    found = {"Dragoman": _version("dragoman"), _CODE: _digest(), "machine": platform.machine()}
    return found | {name: _version(name) for name in LIBRARIES}


def differences(here: Build, there: Build) -> list[str]:
    """What is not the same, in words; a library that only a node lacks shows when it is needed."""
    return [
        f"{name} is {_told(name, there.get(name, ''))} there, {_told(name, value)} here"
        for name, value in here.items()
        if there.get(name, "") != value and (name not in LIBRARIES or (value and there.get(name)))
    ]


def _told(name: str, value: str) -> str:
    return (value[:8] if name == _CODE else value) or "not installed"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _digest() -> str:
    """A hash of all code: a version number does not change while somebody works on it."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
