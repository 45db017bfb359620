"""Fingerprint of code, libraries and machine; equal fingerprints give byte-identical results on every node."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TypeAlias

Build: TypeAlias = Mapping[str, str]
"""Code hash, library versions and machine of a process; a missing library has an empty version."""
LIBRARIES = (
    "jieba numpy onnxruntime pydantic pypdf PyStemmer scikit-learn selectolax tantivy tokenizers torch transformers "
    "xllamacpp"
).split()
_CODE = "code of Dragoman"


@cache
def build() -> Build:
    """The fingerprint of this process."""
    versions = {"Dragoman": _version("dragoman"), _CODE: _digest(), "machine": platform.machine()}
    return versions | {name: _version(name) for name in LIBRARIES}


def differences(here: Build, there: Build) -> list[str]:
    """The differences as text; a library that only a node lacks is reported when it is needed."""
    return [
        f"{name} is {_version_text(name, there.get(name, ''))} there, {_version_text(name, value)} here"
        for name, value in here.items()
        if there.get(name, "") != value and (name not in LIBRARIES or (value and there.get(name)))
    ]


def _version_text(name: str, value: str) -> str:
    return (value[:8] if name == _CODE else value) or "not installed"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _digest() -> str:
    """A hash of all code, since the version number does not change during development."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
