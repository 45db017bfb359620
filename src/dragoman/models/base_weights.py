"""The base weights of a trained adapter, identified by their hash. Needs no torch."""

from __future__ import annotations

import hashlib
from pathlib import Path

from dragoman.models import weights as catalogue
from dragoman.models.part import sha256


def is_gguf(place: Path) -> bool:
    """Whether weights are one GGUF file."""
    return place.is_file() and place.suffix == ".gguf"


def weight_files(place: Path) -> list[Path]:
    """The files that hold a model's weights."""
    return [place] if place.is_file() else sorted(file for file in place.iterdir() if _has_weights(file))


def base_digest(base: str | Path) -> str:
    """The SHA-256 of a base's weights; of several files, that of their names and hashes."""
    if str(base) in catalogue.CATALOGUE:  # its files were compared with these when they were fetched or changed
        digests = {file.name: file.sha256 for file in catalogue.find(str(base)).files if _has_weights(Path(file.name))}
    else:
        digests = {file.name: sha256(file) for file in weight_files(catalogue.path(base))}
    if len(digests) == 1:
        return next(iter(digests.values()))
    listing = "\n".join(f"{name} {digest}" for name, digest in sorted(digests.items()))
    return hashlib.sha256(listing.encode()).hexdigest()


def _has_weights(file: Path) -> bool:
    return file.suffix in (".safetensors", ".gguf", ".bin")
