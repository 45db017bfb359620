"""Small logistic regressions over an encoder's vectors and the words of a text, shipped as data of the package."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder

PROBE = "I am 34, and my daughter is allergic to nuts."
"""The sentence by whose vector the encoder is recognised: weights belong to one encoder."""
_SAME = 0.98


@cache
def weights_of(name: str) -> Mapping[str, Any]:
    """The weights that are shipped under a name."""
    packed = files("dragoman.memory").joinpath("data", f"{name}.json.gz").read_bytes()
    return dict(json.loads(gzip.decompress(packed)))


def dot(weights: Sequence[float], values: Sequence[float]) -> float:
    return float(sum(weight * float(value) for weight, value in zip(weights, values, strict=True)))


def is_of_encoder(weights: Mapping[str, Any], encoder: Encoder) -> bool:
    """Whether an encoder gives the vectors that weights were trained on."""
    vector, expected = encoder.encode([PROBE])[0], weights["probe"]
    return len(vector) == len(expected) and dot(expected, vector) >= _SAME


def reads_english(encoder: Encoder) -> bool:
    """Whether an encoder is the one that the weights here are for, which knows English alone."""
    return is_of_encoder(weights_of("asked_memory"), encoder)
