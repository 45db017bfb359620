"""Shards done in this process, how many cores it may use, and errors that travel."""

from __future__ import annotations

import os
import pickle
from contextlib import contextmanager

import pytest

from dragoman.core import errors
from dragoman.core.environment import cores
from dragoman.core.workers import InProcess, Shard, ShardJob


def test_a_piece_is_given_before_the_next_is_made_and_the_job_is_closed_in_the_end():
    seen = []

    @contextmanager
    def opened():
        seen.append("open")
        yield lambda value, tell: (seen.append(piece) or piece for piece in value)
        seen.append("close")

    shards = (Shard(name, name) for name in ("ab", "c"))
    for piece in InProcess().map(ShardJob("letters", opened), shards):
        seen.append(f"got {piece}")
    assert seen == ["open", "a", "got a", "b", "got b", "c", "got c", "close"]


@pytest.mark.parametrize(("said", "meant"), [("3", 3), (" 1 ", 1), ("0", None), ("", None), ("many", None)])
def test_cores_are_those_that_are_said_else_the_machines(monkeypatch, said, meant):
    monkeypatch.setenv("DRAGOMAN_CORES", said)
    assert cores() == (meant or os.cpu_count())


@pytest.mark.parametrize(
    "error",
    [
        errors.InputError("Wrong.", remedy="Mend it.", row=3),
        errors.UnknownNameError("gate", "prompt", ["prompted"]),
        errors.LimitError("Too many.", seconds=2.5),
        errors.BusyError("Busy.", seconds=1.0, remedy="Wait."),
    ],
)
def test_every_error_survives_a_journey(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.__dict__) == (type(error), str(error), error.__dict__)
