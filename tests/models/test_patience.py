"""Calls that are given up after some seconds."""

from __future__ import annotations

import threading

import pytest

from dragoman.core.cancelling import WorkCancelled, cancellable, check_cancelled
from dragoman.core.errors import LimitError
from dragoman.core.values import Usage
from dragoman.models.metering import metered, record
from dragoman.models.patience import within


def endless(started: threading.Event, ended: threading.Event) -> None:
    started.set()
    try:
        while not ended.wait(0.005):
            check_cancelled()
    finally:
        ended.set()


@pytest.mark.parametrize("seconds", [0.0, 30.0])
def test_a_quick_call_gives_its_result_error_and_usage(seconds):
    with metered() as meter:
        assert within(seconds, lambda: record(Usage(1, 2, 1)) or "done") == "done"
    assert meter.usage == Usage(1, 2, 1)
    with pytest.raises(ZeroDivisionError):
        within(seconds, lambda: 1 // 0)


def test_a_slow_call_is_given_up_and_cancelled():
    started, ended = threading.Event(), threading.Event()
    with pytest.raises(LimitError, match=r"longer than 0\.1 seconds"):
        within(0.1, lambda: endless(started, ended))
    assert ended.wait(60.0)


def test_work_that_is_cancelled_cancels_the_call():
    started, ended = threading.Event(), threading.Event()
    with cancellable(started.is_set), pytest.raises(WorkCancelled):
        within(30.0, lambda: endless(started, ended))
    assert ended.wait(60.0)


def test_cancelling_holds_for_blocks_within_each_other():
    with cancellable(lambda: True), cancellable(lambda: False), pytest.raises(WorkCancelled):
        check_cancelled()
