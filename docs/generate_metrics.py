"""Writes docs/metrics.md from what every metric says of itself."""

from __future__ import annotations

import inspect
from pathlib import Path

from dragoman.core.registry import metrics
from dragoman.evaluate.contract import Metric

PAGE = Path(__file__).with_name("metrics.md")
HEAD = """# Metrics

What a column of an experiment can be: `{title = "F1", metric = "gate-f1"}`. Options stand beside `metric`; `where`
keeps to some turns, as `where = {plan = ["PERSONA"]}`, `{gold_source = "USER"}`, `{domain = "hotel"}`,
`{position = [0, 2]}` or `{retrieve = true}`. A metric that needs a label which a set lacks is refused before anything
runs. ↑: the higher the better; ↓: the lower. Written by `make docs-help`; beneath each stands a plain function in
`evaluate/metrics/`, for lists of your own.

|metric|what|range|needs|options|where it is defined|
|---|---|---|---|---|---|
"""
ARROWS = {"up": "↑", "down": "↓", "none": "·"}
EXAMPLES = {"decision": ["PERSONA"], "source": "PERSONA"}
"""Values for options that a metric cannot do without."""


def page() -> str:
    """The text of the page."""
    return HEAD + "".join(_row(name) for name in metrics.names())


def _row(name: str) -> str:
    factory = metrics.factory(name)
    known = inspect.signature(factory).parameters.values()
    needed = {one.name: EXAMPLES.get(one.name) for one in known if one.default is one.empty}
    made: Metric = factory(**needed)
    about = made.about
    low, high = (f"{bound:g}".replace("inf", "∞") for bound in about.bounds)
    options = ", ".join(f"`{one.name}`" for one in known if one.name not in ("language", "passages"))
    short = name.removeprefix("metric.").rpartition(".v")[0]
    cells = (
        f"`{short}`",
        f"{about.title} {ARROWS[about.direction]}" + ("" if about.repeatable else " (not repeatable)"),
        f"{low}–{high}",
        ", ".join(sorted(about.needs)),
        options,
        about.cite,
    )
    return "|" + "|".join(cell.replace("|", "\\|") for cell in cells) + "|\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
