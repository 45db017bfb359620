"""The cheaper constructor makes the same values."""

from __future__ import annotations

import dataclasses
import inspect
import pickle

import pytest

from dragoman.core.quick import quick
from dragoman.core.trace import Note
from dragoman.core.values import Context, Draft, Request


def test_the_signature_is_the_generated_one():
    assert str(inspect.signature(Request)) == (
        "(context: 'Context', sources: 'tuple[Source, ...]', k: 'int' = 3, given: 'tuple[Evidence, ...]' = (), "
        "without: 'frozenset[str]' = frozenset(), plan: 'tuple[SourceName, ...]' = (), since: 'str' = '', "
        "until: 'str' = '') -> None"
    )


def test_defaults_and_keywords_work():
    request = Request(sources=(), context=Context.of("x"))
    assert (request.k, request.given, request.without) == (3, (), frozenset())
    with pytest.raises(TypeError, match="sources"):
        Request(Context.of("x"))


def test_the_value_stays_frozen_comparable_copied_and_pickled():
    note = Note("reader", "r", 0.5, Draft("x"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        note.seconds = 1.0
    assert note == dataclasses.replace(note, seconds=0.5) == pickle.loads(pickle.dumps(note))
    assert len({Request(Context.of("x"), ()), Request(Context.of("x"), ())}) == 1


def test_a_class_with_work_to_do_in_its_constructor_is_refused():
    @dataclasses.dataclass(frozen=True, slots=True)
    class Listed:
        rows: dict = dataclasses.field(default_factory=dict)

    with pytest.raises(TypeError, match="Listed"):
        quick(Listed)
