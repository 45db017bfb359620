"""How long calls take, one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np


def milliseconds(
    acts: Sequence[Callable[[], object]], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, float]:
    """The median and the 99th percentile."""
    taken = []
    for act in acts:
        began = clock()
        act()
        taken.append((clock() - began) * 1000)
    return float(np.percentile(taken, 50)), float(np.percentile(taken, 99))
