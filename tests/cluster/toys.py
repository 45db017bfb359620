"""Jobs for tests, in a module of their own so that they can travel."""

from __future__ import annotations

from contextlib import contextmanager

from dragoman.core.errors import InputError, UnknownNameError

opened, closed = [], []


@contextmanager
def squares(name="squares"):
    opened.append(name)
    yield square
    closed.append(name)


def square(number, tell):
    tell(f"at {number}")
    yield number * number
    yield -number


@contextmanager
def failing(at, kind):
    def work(number, tell):
        yield number
        if number == at:
            raise {
                "input": InputError("It is wrong.", remedy="Mend it.", row=3),
                "name": UnknownNameError("gate", "prompt", ["prompted"]),
                "other": ValueError("no such thing"),
            }[kind]

    yield work


@contextmanager
def unopened():
    raise InputError("The weights are not here.", remedy="Fetch them.")
    yield
