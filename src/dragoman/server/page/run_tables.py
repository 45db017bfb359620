"""Figures of stored runs as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def cell_text(cell: Mapping[str, Any], column: Mapping[str, Any]) -> str:
    """A figure as it is printed, with its error; a hole says why it is one."""
    if cell.get("value") is None:
        return "—" if cell["status"] == "measured" else str(cell["status"])
    scale, digits = float(column["scale"]), int(column["digits"])
    error = "" if cell.get("error") is None else f" ±{cell['error'] * scale:.{digits}f}"
    return f"{cell['value'] * scale:.{digits}f}{error}"


def measured_first(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table with the systems that have a figure before those that are holes throughout; else in its own order."""
    rows = sorted(table["rows"], key=lambda row: all(cell.get("value") is None for cell in row["cells"]))
    return {**table, "rows": rows}


def best_of(table: Mapping[str, Any]) -> dict[int, int]:
    """For each column that has a better direction, the row of its best figure; one that stands alone is none."""
    best: dict[int, int] = {}
    for number, column in enumerate(table["columns"]):
        sign = {"up": 1.0, "down": -1.0}.get(str(column["direction"]))
        cells = [
            (row["cells"][number]["value"], place)
            for place, row in enumerate(table["rows"])
            if number < len(row["cells"]) and row["cells"][number].get("value") is not None
        ]
        if sign is not None and len(cells) > 1:
            best[number] = max(cells, key=lambda cell, sign=sign: (sign * cell[0], -cell[1]))[1]  # type: ignore[misc]
    return best
