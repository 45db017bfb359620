"""Files that a recipe names beside its data, identified by content."""

from __future__ import annotations

from contextlib import suppress

from dragoman.core.errors import DragomanError
from dragoman.datasets.open import resolve
from dragoman.models.part import FILE, find_part, sha256
from dragoman.train.spec import Recipe


def referenced(recipe: Recipe) -> dict[str, str]:
    """Return the SHA-256 of each file by its setting; missing files are left for the learner to report."""
    digests: dict[str, str] = {}
    labels = recipe.input.get("relevance") or ()
    for name in (labels,) if isinstance(labels, str) else labels:
        with suppress(DragomanError, OSError):
            digests[f"input.relevance {name}"] = sha256(resolve(str(name)))
    teacher = recipe.model.get("teacher")
    if isinstance(teacher, str) and recipe.kind.startswith("gate."):  # an encoder's is weights, known by their name
        with suppress(DragomanError, OSError):
            digests[f"model.teacher {teacher}"] = sha256(find_part(teacher) / FILE)  # which has the others' hashes
    return digests
