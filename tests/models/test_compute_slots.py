"""Long texts are worked on by one thread at a time, in turn for each caller; whoever waits for something gives way."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dragoman.core.cancelling import WorkCancelled, cancellable
from dragoman.models.compute_slots import LONG, ComputeSlots, claim, resume

pytestmark = pytest.mark.trust

AT_ONCE = 4
STRAY = 2
"""One more may come where a busy machine gives the first no processor for a tenth of a second."""


class Gauge:
    """How many threads are inside at once, at most, and in which order they came."""

    def __init__(self):
        self.now = self.most = 0
        self.order = []
        self._lock = threading.Lock()

    def __enter__(self):
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_):
        with self._lock:
            self.now -= 1


def compute(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(1000))


def run(works):
    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(60) for future in [pool.submit(work) for work in works]]


def worker(slots, gauge, *, characters, whose="ana", work=compute, seconds=0.1):
    def run():
        with slots.sharing(whose):
            claim(characters)
            with gauge:
                gauge.order.append(whose)
                work(seconds)

    return run


def test_one_long_text_at_a_time_and_short_ones_beside_it():
    long, short = Gauge(), Gauge()
    slots = ComputeSlots()
    run(
        [worker(slots, long, characters=LONG + 1)] * AT_ONCE
        + [worker(slots, short, characters=LONG, work=time.sleep, seconds=0.3)] * AT_ONCE
    )
    assert len(long.order) == AT_ONCE and long.most <= STRAY
    assert short.most == AT_ONCE


def test_a_thread_that_waits_for_something_gives_way():
    slots, gauge = ComputeSlots(), Gauge()
    run([worker(slots, gauge, characters=LONG + 1, work=time.sleep, seconds=2.0)] * AT_ONCE)
    assert gauge.most == AT_ONCE


def test_whoever_lost_the_slot_waits_for_it_before_the_next_step():
    slots, gauge, waiting = ComputeSlots(), Gauge(), threading.Barrier(AT_ONCE)

    def turn():
        with slots.sharing("ana"):
            claim(LONG + 1)
            waiting.wait(30)  # for the others, who can only come if this thread gives way
            resume()
            with gauge:
                compute(0.2)

    run([turn] * AT_ONCE)
    assert gauge.most <= STRAY


def test_callers_take_turns():
    slots, gauge = ComputeSlots(), Gauge()
    hold, held = threading.Event(), threading.Event()

    def first():
        with slots.sharing("first"):
            claim(LONG + 1)
            held.set()
            while not hold.is_set():
                compute(0.01)

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(first)]
        assert held.wait(30)
        for whose in ("ana", "ana", "ana", "ana", "ben"):
            futures.append(pool.submit(worker(slots, gauge, characters=LONG + 1, whose=whose, seconds=0.02)))
            deadline = time.monotonic() + 30
            while sum(map(len, slots._waiting.values())) < len(futures) - 1 and time.monotonic() < deadline:
                time.sleep(0.001)
        hold.set()
        for future in futures:
            future.result(30)
    assert gauge.order[:2] == ["ana", "ben"], "ben came last and waits for one of ana's alone"
    assert slots._free == 1 and not slots._waiting and not slots._holders


def test_whoever_is_cancelled_in_the_queue_leaves_it():
    slots = ComputeSlots()
    cancelled, done = threading.Event(), threading.Event()

    def busy():
        with slots.sharing("ana"):
            claim(LONG + 1)
            while not done.is_set():
                compute(0.01)

    def waits():
        with cancellable(cancelled.is_set), slots.sharing("ben"):
            claim(LONG + 1)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(busy)
        while not slots._holders:
            time.sleep(0.001)
        second = pool.submit(waits)
        cancelled.set()
        with pytest.raises(WorkCancelled):
            second.result(30)
        assert not slots._waiting
        done.set()
        first.result(30)
    assert slots._free == 1


def test_nobody_waits_where_no_slots_are_shared():
    claim(LONG * 1000)
    resume()
