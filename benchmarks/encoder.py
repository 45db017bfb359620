"""How quickly the default encoder reads, beside the same model run by onnxruntime as it comes.

python benchmarks/encoder.py
"""

from __future__ import annotations

import os
import statistics
import sys
from time import perf_counter

import dragoman.models.onnx.session
from dragoman.models.onnx.encoder import OnnxEncoder

SENTENCES = tuple(f"The ferry to island number {i} leaves at {i % 24}:30." for i in range(256))
LEAST_A_SECOND = 300.0
MOST_MILLISECONDS = 8.0


def figures(encoder: OnnxEncoder) -> tuple[float, float, float]:
    """Seconds to load, sentences a second in one call, milliseconds of a call with one sentence."""
    began = perf_counter()
    encoder.warm_up()
    loaded = perf_counter() - began
    encoder.encode(SENTENCES[:32])
    taken = []
    for _ in range(3):
        began = perf_counter()
        encoder.encode(SENTENCES)
        taken.append(perf_counter() - began)
    alone = []
    for sentence in SENTENCES[:64]:
        began = perf_counter()
        encoder.encode([sentence])
        alone.append(perf_counter() - began)
    return loaded, len(SENTENCES) / min(taken), statistics.median(alone) * 1e3


def main() -> int:
    import numpy  # noqa: F401 - a library's import is no part of loading the model
    import onnxruntime  # noqa: F401
    import tokenizers  # noqa: F401

    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, sentences of about 15 tokens")
    print(f"{'':<36}{'load s':>8}{'a second':>10}{'one, ms':>9}")
    ours = figures(OnnxEncoder(cache=0))
    narrowed, dragoman.models.onnx.session.narrowed = dragoman.models.onnx.session.narrowed, lambda path: None
    floor = figures(OnnxEncoder(cache=0))
    dragoman.models.onnx.session.narrowed = narrowed
    for name, (loaded, many, one) in (("encoder.onnx.v1", ours), ("floor: the model as it comes", floor)):
        print(f"{name:<36}{loaded:>8.2f}{many:>10.0f}{one:>9.1f}")
    print(f"{'times the floor':<36}{floor[0] / ours[0]:>8.1f}{ours[1] / floor[1]:>10.1f}{floor[2] / ours[2]:>9.1f}")
    print(f"{'limit':<36}{'':>8}{LEAST_A_SECOND:>10.0f}{MOST_MILLISECONDS:>9.1f}")
    return 0 if ours[1] >= LEAST_A_SECOND and ours[2] <= MOST_MILLISECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
