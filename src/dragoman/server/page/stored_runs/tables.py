"""Formatting of the tables of stored runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def cell_text(cell: Mapping[str, Any], column: Mapping[str, Any]) -> str:
    """A figure with its error as text; a missing one with its reason."""
    if cell.get("value") is None:
        return "—" if cell["status"] == "measured" else str(cell["status"])
    scale, digits = float(column["scale"]), int(column["digits"])
    error = "" if cell.get("error") is None else f" ±{cell['error'] * scale:.{digits}f}"
    return f"{cell['value'] * scale:.{digits}f}{error}"


def measured_first(table: Mapping[str, Any]) -> dict[str, Any]:
    """Rows with figures before rows without any; otherwise in table order."""
    rows = sorted(table["rows"], key=lambda row: all(cell.get("value") is None for cell in row["cells"]))
    return {**table, "rows": rows}


def best_of(table: Mapping[str, Any]) -> dict[int, int]:
    """For each column with a direction, the row of its best figure; none if there is only one."""
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
