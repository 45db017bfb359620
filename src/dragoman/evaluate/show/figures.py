"""The papers' figures as data: computed from the turns and the table of a run, drawn elsewhere.

Each kind is a function of a figure's options, the table and the turns of every system. A figure for which a run has
nothing (its systems are not built, its set lacks domains) is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dragoman.core.codec import Json
from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.evaluate.contract import Judged
from dragoman.evaluate.results import Figure, ResultCell, Series, SystemRow, Table
from dragoman.evaluate.spec import FigureSpec

Turns: TypeAlias = Mapping[str, Sequence[Judged]]
Options: TypeAlias = Mapping[str, Any]
_MOST_DOMAINS = 40
_CURVE = 3
"""How many points a curve has at least: a constant score gives the two corners alone."""
_GOLD = "gold labels"
_NUMBER = re.compile(r"_\d+(?=\+|$)")


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Input of a figure; `option` reads the figure's keys and records which were read."""

    spec: FigureSpec
    table: Table
    turns: Turns

    def option(self, name: str, default: object = None) -> Any:
        return self.spec.options.get(name, default)

    def rows(self) -> list[SystemRow]:
        """The measured rows, or those that the figure names."""
        systems = self.option("systems")
        by_name = {row.system: row for row in self.table.rows}
        rows = self.table.rows if systems is None else [_option("system", name, by_name) for name in systems]
        return [row for row in rows if row.system in self.turns]

    def cell(self, row: SystemRow, title: str) -> ResultCell:
        titles = {column.title: index for index, column in enumerate(self.table.columns)}
        return row.cells[int(_option("column", title, titles))]

    def figure(self, shape: Any, x: str, y: str, series: Sequence[Series], **more: Any) -> Figure | None:
        if not any(value is not None for one in series for value in one.y):
            return None
        title = self.spec.title or self.spec.kind
        return Figure(self.spec.kind, title, self.table.data, shape, x, y, tuple(series), **more)


Maker: TypeAlias = Callable[[_Drawing], Figure | None]


def figure(spec: FigureSpec, table: Table, turns: Turns) -> Figure | None:
    """The figure that an experiment asks for over one set; None where there is nothing to draw."""
    if spec.kind not in _MAKERS:
        raise UnknownNameError("figure", spec.kind, _MAKERS)
    maker, options = _MAKERS[spec.kind]
    for name in spec.options:
        if name not in options:
            raise UnknownNameError(f"option of figure '{spec.kind}':", name, options)
    return maker(_Drawing(spec, table, turns))


def _option(what: str, name: str, choices: Mapping[str, Any]) -> Any:
    if name not in choices:
        raise ConfigError(UnknownNameError(f"{what} of a figure", name, choices).message, remedy="Correct the figure.")
    return choices[name]


def _retrieves(turn: Judged) -> bool:
    return turn.reply.verdict.retrieve and not turn.reply.plan.is_null


def _by_position(drawing: _Drawing) -> Figure | None:
    """How often a system looks something up at each place of a dialogue (RAGate, Fig. 3).

    The paper's places are relative, since dialogues differ in length: with `parts` each dialogue is cut into so many,
    and a place is the middle of one, from 0 to 1.
    """
    parts = drawing.option("parts")
    if parts is None:
        return _frequency(drawing, lambda turn: turn.example.position + 1, "turn of the dialogue", _in_order)
    if not isinstance(parts, int) or parts < 1:
        raise ConfigError(
            f"The figure '{drawing.spec.title}' has parts = {parts!r}.", remedy="Give a number from 1 on."
        )
    lengths: dict[str, int] = {}
    for turn in (turn for turns in drawing.turns.values() for turn in turns):
        dialogue = turn.example.context.dialogue
        lengths[dialogue] = max(lengths.get(dialogue, 0), turn.example.position + 1)

    def place(turn: Judged) -> float:
        part = turn.example.position * parts // lengths[turn.example.context.dialogue]
        return (part + 0.5) / parts

    return _frequency(drawing, place, "place in the dialogue, from its beginning to its end", _in_order)


def _by_domain(drawing: _Drawing) -> Figure | None:
    """How often a system looks something up in each domain (RAGate, Fig. 4).

    SGD numbers the services of a domain (Hotels_2, Hotels_4): they count as the domain that they are of.
    """
    return _frequency(drawing, lambda turn: _NUMBER.sub("", turn.example.domain) or None, "domain", _most_common)


def _in_order(counts: Counter[Any]) -> list[Any]:
    return sorted(counts)


def _most_common(counts: Counter[Any]) -> list[Any]:
    return sorted(counts, key=lambda name: (-counts[name], name))[:_MOST_DOMAINS]


def _frequency(
    drawing: _Drawing, place: Callable[[Judged], Any], label: str, order: Callable[[Counter[Any]], list[Any]]
) -> Figure | None:
    rows = drawing.rows()
    if not rows:
        return None
    turns = drawing.turns[rows[0].system]
    totals: Counter[Any] = Counter(key for turn in turns if (key := place(turn)) is not None)
    places = order(totals)
    if not places:
        return None

    def share(name: str, turns: Sequence[Judged], decide: Callable[[Judged], bool]) -> Series:
        among: Counter[Any] = Counter(place(turn) for turn in turns)
        hits: Counter[Any] = Counter(place(turn) for turn in turns if decide(turn))
        x = tuple(float(key) if isinstance(key, int | float) else str(key) for key in places)
        labels = tuple(f"{hits[key]} of {among[key]}" for key in places)
        return Series(name, x, tuple(hits[key] / among[key] if among[key] else None for key in places), labels=labels)

    series = [share(row.system, drawing.turns[row.system], _retrieves) for row in rows]
    labelled = [turn for turn in turns if turn.example.gold.retrieve is not None]
    if labelled:
        series.insert(0, share(_GOLD, labelled, lambda turn: bool(turn.example.gold.retrieve)))
    shape = "bars" if isinstance(places[0], str) else "lines"
    note = _left_out(label, places, totals, len(turns))
    return drawing.figure(shape, label, "share of turns that look something up", series, note=note)


def _left_out(label: str, places: Sequence[Any], totals: Counter[Any], turns: int) -> str:
    """A note on the systems that a figure leaves out."""
    notes = []
    if len(places) < len(totals):
        rest = sum(totals.values()) - sum(totals[key] for key in places)
        notes.append(
            f"The {len(places)} most frequent of {len(totals)} are shown; {rest} of {turns} turns are in others."
        )
    if totals.total() < turns:
        notes.append(f"{turns - totals.total()} of {turns} turns have no {label}.")
    return " ".join(notes)


def _lines(drawing: _Drawing) -> Figure | None:
    """Columns against a number that the systems vary (UniMS-RAG, Fig. 5: how many pieces of evidence)."""
    named, x = drawing.option("systems"), drawing.option("x")
    columns = drawing.option("columns", [column.title for column in drawing.table.columns])
    if not named or not x or len(named) != len(x):
        raise ConfigError(
            f"The figure '{drawing.spec.title}' needs systems and x of the same length.", remedy="Give both as lists."
        )
    by_name = {row.system: row for row in drawing.table.rows}
    rows = [_option("system", name, by_name) for name in named]
    series = []
    for title in columns:
        column = next((one for one in drawing.table.columns if one.title == title), None)
        if column is None:
            continue  # a column that this set does not have
        cells = [drawing.cell(row, title) for row in rows]
        series.append(_cells(title, tuple(float(value) for value in x), cells, column.scale))
    return drawing.figure("lines", drawing.option("label", "pieces of evidence"), "value", series)


def _cells(name: str, x: tuple[float, ...], cells: Sequence[ResultCell], scale: float) -> Series:
    def scaled(values: list[float | None]) -> tuple[float | None, ...]:
        return tuple(None if value is None else value * scale for value in values)

    return Series(
        name,
        x,
        scaled([cell.value for cell in cells]),
        scaled([cell.low for cell in cells]),
        scaled([cell.high for cell in cells]),
    )


def _curves(key: str, x: str, y: str, labels: tuple[str, str], *, diagonal: bool = False, least: int = 1) -> Maker:
    """A curve that a metric left in its details, one a system: of the named column, or of the first that has it.

    One of fewer points than `least` is no curve, and is drawn only where there is no other.
    """

    def make(drawing: _Drawing) -> Figure | None:
        rows = drawing.rows()
        titles = (
            [drawing.option("column")] if drawing.option("column") else [one.title for one in drawing.table.columns]
        )
        for title in titles:
            details_by_system = [(row.system, drawing.cell(row, title).details.get(key)) for row in rows]
            curves = [
                Series(name, _numbers(curve, x), _numbers(curve, y)) for name, curve in details_by_system if curve
            ]
            series = [curve for curve in curves if len(curve.x) >= least] or curves
            if series:
                return drawing.figure("lines", *labels, series, diagonal=diagonal)
        return None

    return make


def _numbers(curve: Json, key: str) -> tuple[float, ...]:
    """One coordinate of a curve, which is a list of points or a list for each coordinate."""
    values = curve.get(key) if isinstance(curve, dict) else curve
    points = values if isinstance(values, list) else []
    numbers = [point.get(key) if isinstance(point, dict) else point for point in points]
    return tuple(float(number) for number in numbers if isinstance(number, int | float))


def _rank_test(drawing: _Drawing) -> Figure | None:
    """Where the bare question ranks among persona-augmented ones (PK-ICR, Fig. 4)."""
    title = drawing.option("column")
    series = []
    for row in drawing.rows():
        ranks = drawing.cell(row, title).details.get("ranks") if title else None
        if isinstance(ranks, dict) and ranks:
            places = sorted(ranks, key=int)
            counts = tuple(float(value) for key in places if isinstance(value := ranks[key], int | float))
            series.append(Series(row.system, tuple(places), counts))
    return drawing.figure("bars", "rank of the bare question (0 is ideal)", "turns", series)


def _latency_quality(drawing: _Drawing) -> Figure | None:
    """Each system as a point: its cost against its quality."""
    cost, quality = drawing.option("cost"), drawing.option("quality")
    if not cost or not quality:
        raise ConfigError(
            f"The figure '{drawing.spec.title}' needs cost and quality.", remedy="Name a column for each."
        )
    scales = {column.title: column.scale for column in drawing.table.columns}
    if cost not in scales or quality not in scales:
        return None
    series = []
    for row in drawing.rows():
        x, y = drawing.cell(row, cost).value, drawing.cell(row, quality).value
        if x is not None and y is not None:
            series.append(Series(row.system, (x * scales[cost],), (y * scales[quality],)))
    return drawing.figure("points", cost, quality, series)


_MAKERS: dict[str, tuple[Maker, tuple[str, ...]]] = {
    "by-position": (_by_position, ("systems", "parts")),
    "by-domain": (_by_domain, ("systems",)),
    "lines": (_lines, ("systems", "x", "columns", "label")),
    "reliability": (
        _curves("reliability", "probability", "true", ("said probability", "share that is true"), diagonal=True),
        ("systems", "column"),
    ),
    "precision-recall": (
        _curves("pr", "recall", "precision", ("recall", "precision"), least=_CURVE),
        ("systems", "column"),
    ),
    "roc": (
        _curves(
            "roc",
            "false_positive_rate",
            "true_positive_rate",
            ("false positive rate", "true positive rate"),
            diagonal=True,
            least=_CURVE,
        ),
        ("systems", "column"),
    ),
    "threshold": (_curves("thresholds", "threshold", "accuracy", ("threshold", "accuracy")), ("systems", "column")),
    "rank-test": (_rank_test, ("systems", "column")),
    "latency-quality": (_latency_quality, ("systems", "cost", "quality")),
}
KINDS = tuple(_MAKERS)
