"""Charts of stored runs as SVG: lines, points and bars with confidence intervals. Every text is escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from dragoman.server.page.plan_graph import fitted

_WIDE, _HIGH = 420.0, 252.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 18.0, 22.0, 34.0
_MOST_SERIES = 8
_TINY, _CLOSE = 1e-200, 1e-9
"""Below these a number is zero, and two numbers are one: their difference cannot be divided into steps."""


class Axis(NamedTuple):
    """Maps values to coordinates, with round ticks."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, count: int = 4) -> list[float]:
        step = _round_step((self.high - self.low) / count)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def figure(data: Mapping[str, Any]) -> str:
    """SVG of a figure stored by `dragoman evaluate`; missing values leave a gap."""
    series = [_read(entry) for entry in list(data.get("series") or ())[:_MOST_SERIES]]
    numbers = [y for one in series for y in (*one.ys, *one.lows, *one.highs) if y is not None]
    if not numbers:
        return ""
    names = list(dict.fromkeys(x for one in series for x in one.xs if isinstance(x, str)))
    is_bars = data.get("shape") == "bars"
    y_axis = _axis([*numbers, 0.0] if is_bars else numbers, _HIGH - _BOTTOM, _TOP)
    if names:
        x_axis = Axis(-0.5, len(names) - 0.5, _LEFT, _WIDE - _RIGHT)
    else:
        x_axis = _axis([float(x) for one in series for x in one.xs], _LEFT, _WIDE - _RIGHT)
    places = {name: float(place) for place, name in enumerate(names)}
    parts = [_grid(x_axis, y_axis, names, (str(data.get("x", "")), str(data.get("y", ""))))]
    if data.get("diagonal"):
        low, high = max(x_axis.low, y_axis.low), min(x_axis.high, y_axis.high)
        line = (
            f'x1="{x_axis.at(low):.1f}" y1="{y_axis.at(low):.1f}" x2="{x_axis.at(high):.1f}" y2="{y_axis.at(high):.1f}"'
        )
        parts.append(f'<line class="diagonal" {line}/>')
    for number, one in enumerate(series):
        at = [places[x] if isinstance(x, str) else float(x) for x in one.xs]
        if is_bars:
            parts.append(_bars(one, at, (x_axis, y_axis), number, len(series)))
        else:
            parts.append(_line(one, at, x_axis, y_axis, number, joined=data.get("shape") == "lines"))
    label = escape(str(data.get("title", "")), quote=True)
    head = f'<svg class="plot" viewBox="0 0 {_WIDE:.0f} {_HIGH:.0f}" role="img" aria-label="{label}">'
    return f"{head}{''.join(parts)}</svg>"


def legend(data: Mapping[str, Any]) -> list[str]:
    """Names of the drawn series, in order of their colours."""
    return [str(entry.get("name", "")) for entry in list(data.get("series") or ())[:_MOST_SERIES]]


class _Series(NamedTuple):
    xs: list[float | str]
    ys: list[float | None]
    lows: list[float | None]
    highs: list[float | None]


def _read(entry: Mapping[str, Any]) -> _Series:
    xs = [x if isinstance(x, str) else float(x) for x in entry.get("x") or ()]
    ys = [_number(y) for y in entry.get("y") or ()][: len(xs)]
    empty: list[float | None] = [None] * len(ys)
    lows = [_number(y) for y in entry.get("low") or ()] or empty
    highs = [_number(y) for y in entry.get("high") or ()] or empty
    return _Series(xs[: len(ys)], ys, lows, highs)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _axis(values: Sequence[float], start: float, end: float) -> Axis:
    low, high = (0.0 if abs(value) < _TINY else value for value in (min(values), max(values)))
    if high - low <= _CLOSE * max(abs(low), abs(high)):
        low, high = min(0.0, 2 * low), max(0.0, 2 * high) or 1.0  # one value alone stands in the middle, above zero
    step = _round_step((high - low) / 4)
    return Axis(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, start, end)


def _round_step(rough: float) -> float:
    """1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next((factor * power for factor in (1.0, 2.0, 2.5, 5.0) if factor * power >= rough * 0.999), 10 * power)


def _grid(x_axis: Axis, y_axis: Axis, names: Sequence[str], titles: tuple[str, str]) -> str:
    parts = []
    for tick in y_axis.ticks():
        y = y_axis.at(tick)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDE - _RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{y + 3:.1f}" text-anchor="end">{tick:g}</text>')
    if names:
        room = (x_axis.end - x_axis.start) / len(names)
        labels = [(float(place), fitted(name, room, 6.0)) for place, name in enumerate(names)]
    else:
        labels = [(tick, f"{tick:g}") for tick in x_axis.ticks()]
    base = _HIGH - _BOTTOM
    for value, text in labels:
        parts.append(
            f'<text class="tick" x="{x_axis.at(value):.1f}" y="{base + 13}" text-anchor="middle">{escape(text)}</text>'
        )
    middle = (x_axis.start + x_axis.end) / 2
    across, up = (escape(fitted(title, 340, 5.6)) for title in titles)
    parts.append(f'<text class="tick" x="{middle:.1f}" y="{_HIGH - 5}" text-anchor="middle">{across}</text>')
    parts.append(f'<text class="tick" x="2" y="9">{up}</text>')
    return "".join(parts)


def _line(one: _Series, at: Sequence[float], x_axis: Axis, y_axis: Axis, number: int, *, joined: bool) -> str:
    parts, run = [], ""
    for x, y, low, high in zip(at, one.ys, one.lows, one.highs, strict=False):
        if y is None:
            run += " "
            continue
        left, top = x_axis.at(x), y_axis.at(y)
        run += f"{'L' if run and not run.endswith(' ') else 'M'}{left:.1f} {top:.1f}"
        if low is not None and high is not None:
            parts.append(_whisker(left, y_axis.at(low), y_axis.at(high), number))
        if not joined or len(at) <= 40:
            parts.append(f'<circle class="dot s{number}" cx="{left:.1f}" cy="{top:.1f}" r="2.6"/>')
    if joined:
        parts.append(f'<path class="line s{number}" d="{run.strip()}"/>')
    return "".join(parts)


def _bars(one: _Series, at: Sequence[float], axes: tuple[Axis, Axis], number: int, count: int) -> str:
    x_axis, y_axis = axes
    slot = (x_axis.end - x_axis.start) / max(1.0, x_axis.high - x_axis.low) * 0.8 / count
    parts = []
    for x, y, low, high in zip(at, one.ys, one.lows, one.highs, strict=False):
        if y is None:
            continue
        left = x_axis.at(x) + slot * (number - count / 2)
        top, base = sorted((y_axis.at(y), y_axis.at(0.0)))
        parts.append(
            f'<rect class="bar s{number}" x="{left + slot * 0.06:.1f}" y="{top:.1f}" width="{slot * 0.88:.1f}" '
            f'height="{base - top:.1f}"/>'
        )
        if low is not None and high is not None:
            parts.append(_whisker(left + slot / 2, y_axis.at(low), y_axis.at(high), number))
    return "".join(parts)


def _whisker(x: float, low: float, high: float, number: int) -> str:
    return f'<line class="whisker s{number}" x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}"/>'
