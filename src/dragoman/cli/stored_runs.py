"""Runs in a folder, for the Runs panel of the server's page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.core.errors import DragomanError

_DEEPEST = 3


class FolderRuns:
    """Finished runs below a folder; an id is the path relative to it, and only listed runs have one."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def listed(self) -> Sequence[dict[str, Any]]:
        """Id, name, end, systems and data sets of each run, newest first."""
        rows = [self._summary(id_, folder) for id_, folder in self._folders().items()]
        return sorted(rows, key=lambda row: str(row["ended"] or ""), reverse=True)

    def result(self, id: str) -> dict[str, Any] | None:
        """Tables and figures of a run; None if there is no such run or it cannot be read."""
        from dragoman.evaluate.running.run_record import load_run
        from dragoman.evaluate.show.tables import result_json

        folder = self._folders().get(id)
        if folder is None:
            return None
        try:
            result: dict[str, Any] = json.loads(result_json(load_run(folder)))
        except DragomanError:
            return None
        return result

    def _folders(self) -> dict[str, Path]:
        patterns = ["/".join(["*"] * depth + ["results.json"]) for depth in range(1, _DEEPEST + 1)]
        files = sorted(file for pattern in patterns for file in self._root.glob(pattern))
        return {file.parent.relative_to(self._root).as_posix(): file.parent for file in files}

    @staticmethod
    def _summary(id: str, folder: Path) -> dict[str, Any]:
        manifest, made = _json(folder / "run.json"), _json(folder / "made.json")
        described = manifest.get("experiment") or {}
        return {
            "id": id,
            "name": str(described.get("title") or described.get("name") or id),
            "ended": made.get("ended"),
            "systems": [str(entry.get("name")) for entry in described.get("systems") or ()],
            "sets": [str(entry.get("name")) for entry in described.get("data") or ()],
        }


def _json(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
