from __future__ import annotations

from threading import Event

from dragoman.agent.warm import WarmUp
from dragoman.core.errors import ModelError


class Part:
    def __init__(self):
        self.go, self.loaded = Event(), 0

    def warm_up(self):
        self.go.wait(60)
        self.loaded += 1


def test_a_part_is_loaded_beside_the_caller_and_once():
    part, warming = Part(), WarmUp()
    warming.begin(part)
    warming.begin(part)
    assert part.loaded == 0
    part.go.set()
    warming.wait()
    assert part.loaded == 1


def test_a_part_with_nothing_to_load_and_one_that_fails_are_no_error():
    class Missing:
        def warm_up(self):
            raise ModelError("no weights")

    warming = WarmUp()
    warming.begin(object())
    warming.begin(Missing())
    warming.wait()
