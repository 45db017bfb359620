"""The plan as an SVG graph; every text is escaped, colours are in the style sheet."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from dragoman.core.values import Source
from dragoman.server.page.turn_view import Stop, TurnPicture, source_label

_WIDE, _HIGH, _GAP = 292, 42, 17
_IN_A_ROW = 3
_MIDDLE = 150
_LETTER = 7.0


def seconds_text(seconds: float) -> str:
    """Seconds as readable text."""
    if seconds >= 0.9995:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else f"{seconds * 1000:.1f} ms"


def fitted(text: str, width: float, letter: float = _LETTER) -> str:
    """Cut a text to a width; East Asian characters count twice."""
    room = width / letter
    taken = 0.0
    for place, character in enumerate(text):
        taken += 1.85 if unicodedata.east_asian_width(character) in "WF" else 1.0
        if taken > room:
            return f"{text[: max(1, place - 1)].rstrip()}…"
    return text


def span_of(start: float, seconds: float, whole: float) -> tuple[float, float]:
    """Start and width of a bar in percent, at least visible and never beyond the lane."""
    width = min(100.0, max(0.8, 100.0 * seconds / whole))
    return min(100.0 * start / whole, 100.0 - width), width


def graph(picture: TurnPicture, sources: Sequence[Source], words: Mapping[str, str]) -> str:
    """SVG of the gate, the plan's sources by step and the reply; below them the sources not searched."""
    parts: list[str] = []
    y = 4.0
    verdict = picture.verdict
    if verdict is not None:
        says = words["graph.look"] if verdict.retrieve else words["graph.direct"]
        parts.append(_gate(y, verdict.probability, f"{words['graph.gate']} · {says}"))
        y += _HIGH + _GAP
    ends: list[float] = [_MIDDLE]
    for _, step in groupby(picture.stops, key=lambda stop: stop.step):
        stops = list(step)
        centres = _centres(len(stops))
        parts += [_arrow(a, y - _GAP, b, y) for a in ends for b in centres] if parts else []
        parts += [_stop(stop, x, y, 280 / len(stops) - 8, words) for stop, x in zip(stops, centres, strict=True)]
        ends = centres
        y += _HIGH + _GAP
    if picture.text:
        parts += [_arrow(a, y - _GAP, _MIDDLE, y) for a in ends] if parts else []
        kind = "node end" if picture.worth == "answer" else "node doubt"
        parts.append(_box(_MIDDLE, y, 272, (words["graph.reply"], trust(picture, words)), kind))
        y += _HIGH + _GAP
    visited = {stop.source for stop in picture.stops}
    height = y - _GAP + 4
    unseen = [source.name for source in sources if source.name not in visited]
    unvisited = [source_label(name, words) for name in unseen] if picture.plan is not None else []
    if unvisited:
        parts += _left_out(unvisited, words["graph.unasked"], first=height + 4)
        height += 26 + 30 * math.ceil(len(unvisited) / _IN_A_ROW)
    label = escape(_as_text(picture, words), quote=True)
    return (
        f'<svg class="graph" viewBox="4 0 {_WIDE} {height:.0f}" role="img" aria-label="{label}">'
        f"<title>{label}</title>{''.join(parts)}</svg>"
    )


def trust(picture: TurnPicture, words: Mapping[str, str]) -> str:
    """Confidence of a reply in a few words; none for standard phrases and "I don't know"."""
    if picture.confidence is None:
        return ""
    figure = f"{words['confidence']} {picture.confidence:.2f}"
    match picture.worth:
        case "answer":
            return figure
        case "nearest":
            return f"{words['worth.nearest']} · {figure}"
        case _:
            return words[f"worth.{picture.worth.replace(' ', '_')}"]


def _as_text(picture: TurnPicture, words: Mapping[str, str]) -> str:
    """The graph as text, for screen readers."""
    steps = [
        " + ".join(source_label(stop.source, words) for stop in step)
        for _, step in groupby(picture.stops, key=lambda s: s.step)
    ]
    verdict = picture.verdict
    gate = "" if verdict is None else f"{words['graph.gate']} {verdict.probability:.2f}"
    return " → ".join(part for part in (gate, *steps, words["graph.reply"] if picture.text else "") if part)


def _centres(count: int) -> list[float]:
    width = 280 / count
    return [10 + width * (place + 0.5) for place in range(count)]


def _gate(y: float, probability: float, text: str) -> str:
    inner = 272 - 24
    filled = inner * min(1.0, max(0.0, probability))
    x = _MIDDLE - 136
    return (
        f'<rect class="node gate" x="{x}" y="{y}" width="272" height="{_HIGH}" rx="10"/>'
        f'<text class="name" x="{x + 12}" y="{y + 19}">{escape(fitted(text, 210))}</text>'
        f'<text class="figure" x="{x + 260}" y="{y + 19}" text-anchor="end">{probability:.2f}</text>'
        f'<rect class="track" x="{x + 12}" y="{y + 28}" width="{inner}" height="5" rx="2.5"/>'
        f'<rect class="fill" x="{x + 12}" y="{y + 28}" width="{filled:.1f}" height="5" rx="2.5"/>'
    )


def _stop(stop: Stop, x: float, y: float, width: float, words: Mapping[str, str]) -> str:
    if stop.hits is None:
        below = words["graph.asking"]
    elif stop.failed and not stop.hits:
        below = words["graph.failed"]
    else:
        best = "" if stop.best is None else f" · {words['graph.best']} {stop.best:.2f}"
        below = f"{stop.hits} {words['graph.found']}{best}"
    return _box(
        x,
        y,
        width,
        (source_label(stop.source, words), below),
        "node failed" if stop.failed else "node",
        number=stop.step + 1,
    )


def _box(x: float, y: float, width: float, lines: tuple[str, str], kind: str, *, number: int | None = None) -> str:
    name, below = lines
    left = x - width / 2
    head = "" if number is None else f'<text class="step" x="{left + 10}" y="{y + 18}">{number}</text>'
    indent = 10 if number is None else 24
    texts = f'<text class="name" x="{left + indent}" y="{y + 18}">{escape(fitted(name, width - indent - 8))}</text>'
    if below:
        texts += f'<text class="below" x="{left + indent}" y="{y + 34}">{escape(fitted(below, width - 16, 5.8))}</text>'
    return (
        f"<g><title>{escape(name)}</title>"
        f'<rect class="{kind}" x="{left:.1f}" y="{y}" width="{width:.1f}" height="{_HIGH}" rx="10"/>{head}{texts}</g>'
    )


def _arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    bend = (y + to_y) / 2
    line = f"M{x:.1f} {y:.1f} C{x:.1f} {bend:.1f} {to_x:.1f} {bend:.1f} {to_x:.1f} {to_y - 4:.1f}"
    head = f"M{to_x - 4:.1f} {to_y - 6:.1f} L{to_x:.1f} {to_y - 1:.1f} L{to_x + 4:.1f} {to_y - 6:.1f}"
    return f'<path class="edge" d="{line}"/><path class="edge" d="{head}"/>'


def _left_out(names: Sequence[str], title: str, *, first: float) -> list[str]:
    parts = [f'<text class="below" x="14" y="{first + 12}">{escape(fitted(title, 272, 5.8))}</text>']
    for place, name in enumerate(names):
        row, column = divmod(place, _IN_A_ROW)
        x, y = 14 + 92 * column, first + 20 + 30 * row
        parts.append(
            f"<g><title>{escape(name)}</title>"
            f'<rect class="node unasked" x="{x}" y="{y}" width="88" height="24" rx="8"/>'
            f'<text class="below" x="{x + 8}" y="{y + 16}">{escape(fitted(name, 76, 6.2))}</text></g>'
        )
    return parts
