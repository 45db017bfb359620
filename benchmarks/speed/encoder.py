"""How quickly the default encoder reads, beside the same model run by onnxruntime as it comes.

    python benchmarks/speed/encoder.py

Both graphs are measured on every processor: with products of bytes, which the encoder uses on ARM, and as the model
comes, which it uses elsewhere. The one in use may not be slower than the other by more than a tenth.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
from functools import partial
from time import perf_counter

from dragoman.models.onnx import session
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.onnx.int8_graph import BYTE_PRODUCTS, narrowed

SENTENCES = tuple(f"The ferry to island number {i} leaves at {i % 24}:30." for i in range(256))
LEAST_TIMES = 0.9
"""How fast the graph in use must be beside the other; less than one, since two runs of one graph differ by as much."""


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

    print(f"{platform.machine()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    print("sentences of about 15 tokens")
    print(f"{'':<36}{'load s':>8}{'a second':>10}{'one, ms':>9}")
    measured = {}
    for byte_products in (True, False):
        session.narrowed = partial(narrowed, byte_products=byte_products)
        loaded, many, one = measured[byte_products] = figures(OnnxEncoder(cache=0))
        name = "products of bytes" if byte_products else "the model as it comes"
        used = ", in use here" if byte_products is BYTE_PRODUCTS else ""
        print(f"{name + used:<36}{loaded:>8.2f}{many:>10.0f}{one:>9.1f}")
    ours, other = measured[BYTE_PRODUCTS], measured[not BYTE_PRODUCTS]
    times = (other[0] / ours[0], ours[1] / other[1], other[2] / ours[2])
    print(f"{'in use, times the other':<36}{times[0]:>8.1f}{times[1]:>10.1f}{times[2]:>9.1f}")
    print(f"{'least':<36}{'':>8}{LEAST_TIMES:>10.1f}{LEAST_TIMES:>9.1f}")
    return 0 if min(times[1:]) >= LEAST_TIMES else 1


if __name__ == "__main__":
    sys.exit(main())
