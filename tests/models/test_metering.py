"""Meters count what runs inside them, and only that."""

import pytest

from dragoman.core.values import Usage
from dragoman.models.metering import metered, metered_pieces, record, turn_meter


def test_nested_meters_all_count_and_the_outermost_turn_is_found():
    with metered(turns=2) as turn:
        record(Usage(10, 1, 1), 0.5)
        with metered(turns=1) as part:
            record(Usage(5, 1, 1))
            assert turn_meter() is turn
    record(Usage(100, 1, 1))
    assert turn.usage == Usage(15, 2, 2) and turn.price == pytest.approx(0.5)
    assert (part.usage, part.price) == (Usage(5, 1, 1), None)
    assert turn_meter() is None


def test_streams_side_by_side_have_a_meter_each():
    seen = {}

    def turn(name):
        for _ in range(3):
            record(Usage(calls=1))
            meter = turn_meter()
            seen[name] = meter.usage.calls
            yield name

    first, second = metered_pieces(turn("first")), metered_pieces(turn("second"))
    assert [next(first), next(second), next(first)] == ["first", "second", "first"]
    assert seen == {"first": 2, "second": 1}
    assert turn_meter() is None
    first.close()
    assert list(second) == ["second", "second"]


def test_closing_a_stream_closes_what_it_reads():
    closed = []

    def turn():
        try:
            yield 1
            yield 2
        finally:
            closed.append(turn_meter() is not None)

    pieces = metered_pieces(turn())
    next(pieces)
    pieces.close()
    assert closed == [True]
