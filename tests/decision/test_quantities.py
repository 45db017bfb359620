"""Numbers, units, days and times out of text."""

import pytest

from dragoman.decision.moments import clocks, days, spread, weekdays
from dragoman.decision.numerals import normalise
from dragoman.decision.quantities import quantities


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("twenty-four people", "24 people"),
        ("one hundred and five", "105"),
        ("six and nine", "6 and 9"),
        ("No one may enter.", "no one may enter."),
        ("30,000 pounds", "30000 pounds"),
        ("1,20 m", "1.20 m"),
        ("You may come in May.", "you may come in maymonth."),
        ("十二岁", "12岁"),
        ("周一至周五", "周一到周五"),
        ("一百二十天", "120天"),
        ("至少三人", "至少3人"),
    ],
)
def test_numbers_become_digits(text, plain):
    assert normalise(text) == plain


@pytest.mark.parametrize(
    ("text", "kind", "value", "unit"),
    [
        ("115 cm", "length", 1.15, "m"),
        ("5 feet 4 inches", "length", 1.6256, "m"),
        ("20 lb", "mass", 9.0718474, "kg"),
        ("2 weeks", "duration", 1209600, "s"),
        ("18 months", "duration", 18, "month"),
        ("€12.50", "money", 12.5, "EUR"),
        ("9 euros", "money", 9, "EUR"),
        ("3斤", "mass", 1.5, "kg"),
        ("500 ml", "volume", 0.5, "l"),
        ("7-year-old", "age", 84, "month"),
        ("four bikes", "count", 4, "bikes"),
    ],
)
def test_units_are_converted_where_exact(text, kind, value, unit):
    (quantity,) = quantities(normalise(text))
    assert (quantity.kind, quantity.unit) == (kind, unit)
    assert quantity.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tuesday to Saturday", {1, 2, 3, 4, 5}),
        ("Friday to Monday", {4, 5, 6, 0}),
        ("weekdays", {0, 1, 2, 3, 4}),
        ("周末", {5, 6}),
        ("星期三", {2}),
    ],
)
def test_weekdays(text, expected):
    assert weekdays(normalise(text))[0][0] == expected


def test_both_ends_of_a_range_are_dates():
    assert [str(day) for day, _ in days(spread(normalise("from 2 to 9 May")))] == ["05-02", "05-09"]
    assert [str(day) for day, _ in days(spread(normalise("5月1日至7日")))] == ["05-01", "05-07"]
    assert [str(day) for day, _ in days(spread(normalise("in July and August")))] == ["07", "08"]


@pytest.mark.parametrize(
    ("text", "clock", "ambiguous"),
    [
        ("6 pm", "18:00", False),
        ("at 6", "06:00", True),
        ("17:30", "17:30", False),
        ("noon", "12:00", False),
        ("下午5点半", "17:30", False),
        ("8点", "08:00", True),
        ("12 am", "00:00", False),
    ],
)
def test_times(text, clock, ambiguous):
    ((parsed, _),) = clocks(normalise(text))
    assert (str(parsed), parsed.ambiguous) == (clock, ambiguous)
