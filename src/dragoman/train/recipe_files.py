"""The files that a recipe names beside its data: what is learned depends on what they hold, not on their names."""

from __future__ import annotations

from contextlib import suppress

from dragoman.core.errors import DragomanError
from dragoman.datasets.open import resolve
from dragoman.models.part import FILE, find_part, sha256
from dragoman.train.spec import Recipe


def referenced(recipe: Recipe) -> dict[str, str]:
    """The SHA-256 of each, by the setting and its name; one that is not there is for its learner to refuse."""
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
