"""A figure as SVG. The same figure gives the same bytes: no dates, no random ids, text left as text."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from dragoman.core.errors import MissingExtraError
from dragoman.evaluate.results import Figure, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31", "#000000", "#7F7F7F", "#B2DF8A")
"""Okabe and Ito's palette and a few more: distinguishable with colour blindness."""
_MARKS = "osD^vPX*<>"
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dragoman",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
}


def svg(figure: Figure) -> str:
    """The drawing of a figure, without an XML head, to be put into a page."""
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise MissingExtraError(
            "Drawing figures needs matplotlib.", remedy="Run: pip install dragoman[eval]", extra="eval"
        ) from error
    shapes = {"lines": _lines, "bars": _bars, "points": _points}
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # text stays text: the reader's fonts draw it, not ours
        canvas = Canvas(figsize=(7.2, 4.2), layout="constrained")
        FigureCanvasSVG(canvas)
        axes = canvas.add_subplot()
        axes.set_xlabel(figure.x)
        axes.set_ylabel(figure.y)
        shapes[figure.shape](axes, figure)
        if figure.diagonal:
            axes.plot([0, 1], [0, 1], linestyle=":", color="#888888", linewidth=1, zorder=0)
        if len(figure.series) > 1 and figure.shape != "points":
            canvas.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
        out = io.StringIO()
        canvas.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _style(index: int) -> dict[str, Any]:
    return {"color": COLOURS[index % len(COLOURS)], "marker": _MARKS[index % len(_MARKS)], "markersize": 4.5}


def _lines(axes: Axes, figure: Figure) -> None:
    for index, series in enumerate(figure.series):
        style = _style(index)
        if len(series.x) > 40:
            style["marker"] = ""
        y = [float("nan") if value is None else value for value in series.y]
        axes.plot(series.x, y, label=series.name, linewidth=1.6, **style)
        low, high = _defined(series.low), _defined(series.high)
        if len(low) == len(high) == len(series.x):
            axes.fill_between(series.x, low, high, color=style["color"], alpha=0.15, linewidth=0)
    numbers = sorted({value for series in figure.series for value in series.x if isinstance(value, float)})
    if numbers and len(numbers) <= 30 and all(value.is_integer() for value in numbers):
        axes.set_xticks(numbers[:: 1 + len(numbers) // 16], [str(int(n)) for n in numbers[:: 1 + len(numbers) // 16]])


def _defined(values: tuple[float | None, ...]) -> list[float]:
    return [value for value in values if value is not None]


def _bars(axes: Axes, figure: Figure) -> None:
    places = _places(figure.series)
    width = 0.8 / max(1, len(figure.series))
    for index, series in enumerate(figure.series):
        heights = dict(zip(series.x, series.y, strict=True))
        left = [number - 0.4 + width * (index + 0.5) for number in range(len(places))]
        values = [heights.get(place) or 0.0 for place in places]
        axes.bar(left, values, width=width, color=COLOURS[index % len(COLOURS)], label=series.name)
    crowded = sum(len(str(place)) for place in places) > 60
    axes.set_xticks(
        range(len(places)),
        [str(place) for place in places],
        rotation=35 if crowded else 0,
        ha="right" if crowded else "center",
    )
    axes.grid(visible=False, axis="x")


def _places(series: tuple[Series, ...]) -> list[float | str]:
    """The distinct x values of all series, sorted if they are numbers."""
    places = list(dict.fromkeys(place for one in series for place in one.x))
    try:
        return sorted(places, key=float)
    except ValueError:
        return places


def _points(axes: Axes, figure: Figure) -> None:
    for index, series in enumerate(figure.series):
        style = _style(index) | {"markersize": 8}
        y = [float("nan") if value is None else value for value in series.y]
        axes.plot(series.x, y, linestyle="", label=series.name, **style)
        axes.annotate(series.name, (series.x[0], y[0]), xytext=(7, 4), textcoords="offset points", fontsize=8.5)
    axes.margins(x=0.2, y=0.15)
