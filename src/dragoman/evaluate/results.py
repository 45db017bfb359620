"""Results of an experiment: tables of cells with intervals, tests and the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dragoman.core.codec import Json
from dragoman.core.quick import quick
from dragoman.core.trace import Reply
from dragoman.core.values import Usage

NO_USAGE = Usage()
Status: TypeAlias = Literal[
    "measured", "not built", "not trained", "no data", "no model", "not run", "no turns", "not available"
]


@quick
@dataclass(frozen=True, slots=True)
class Outcome:
    """Reply of a system to one turn with its trace and model usage.

    `usage` counts model calls and tokens of every role, `encoded` the texts that an encoder read.
    """

    example: str
    reply: Reply
    usage: Usage = NO_USAGE
    encoded: int = 0


@dataclass(frozen=True, slots=True)
class Test:
    """Comparison with the baseline; `adjusted` is the p-value after Holm's correction over the table's column."""

    __test__ = False  # not a test of ours

    name: Literal["paired bootstrap", "wilcoxon", "mcnemar"]
    p: float
    adjusted: float


@dataclass(frozen=True, slots=True)
class ResultCell:
    """One figure in the metric's own unit; the column defines its scale in print."""

    status: Status
    value: float | None = None
    n: int = 0
    error: float | None = None
    low: float | None = None
    high: float | None = None
    difference: float | None = None
    tests: tuple[Test, ...] = ()
    paper: float | None = None
    details: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table: `scale` and `digits` are for print; `paper` figures are in printed units."""

    title: str
    metric: str
    direction: Literal["up", "down", "none"]
    bounds: tuple[float, float]
    cite: str
    repeatable: bool
    scale: float
    digits: int


@dataclass(frozen=True, slots=True)
class SystemRow:
    """Figures of one system, in the order of the columns."""

    system: str
    group: str
    note: str
    cells: tuple[ResultCell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Figures of all systems on one set; `problems` are the loader's first few."""

    data: str
    title: str
    note: str
    turns: int
    dialogues: int
    baseline: str | None
    columns: tuple[Column, ...]
    rows: tuple[SystemRow, ...]
    problems: tuple[str, ...] = ()
    skipped: int = 0

    def _repr_html_(self) -> str:
        """For notebooks."""
        from dragoman.evaluate.show.notebook import table_html

        return table_html(self)


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one system in a figure; None marks missing values. `low` and `high` are its interval."""

    name: str
    x: tuple[float | str, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """Plot as data, without style; `diagonal` adds the line on which x equals y."""

    kind: str
    title: str
    data: str
    shape: Literal["lines", "bars", "points"]
    x: str
    y: str
    series: tuple[Series, ...]
    note: str = ""
    diagonal: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """Whole run: manifest, tables and figures."""

    experiment: str
    title: str
    about: str
    manifest: Mapping[str, Json]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()

    def _repr_html_(self) -> str:
        """For notebooks."""
        from dragoman.evaluate.show.notebook import result_html

        return result_html(self)
