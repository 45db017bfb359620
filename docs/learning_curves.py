"""docs/results/curves.md: dev figures of each unified part after each epoch, from the logs of trainings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

COLUMNS = ("plan/f1", "check/f1", "hit@1", "similarity/ece", "response/loss")
_ROW = re.compile(r"\|(?P<part>[a-z0-9-]+(, (run-\d+|their mean))?)\|\d*\|.*")


def curves(parts: Path, page: str) -> str:
    """The page with the rows of these parts; its text and the rows of other parts stay."""
    rows = [row for folder in sorted(parts.iterdir()) if (folder / "part.json").is_file() for row in _epochs(folder)]
    return with_rows(page, rows)


def with_rows(page: str, rows: list[str]) -> str:
    trained_again = {_part(row) for row in rows}
    lines = page.splitlines()
    kept = [line for line in lines if _ROW.fullmatch(line) and _part(line) not in trained_again]
    text = [line for line in lines if not line.startswith("|")]
    table = [f"|part|epoch|training loss|{'|'.join(COLUMNS)}|", f"|---|---:|---:|{'---:|' * len(COLUMNS)}"]
    table += sorted([*kept, *rows], key=lambda row: (_part(row), int(row.split("|")[2] or 0)))
    return "\n".join(text).rstrip() + "\n\n" + "\n".join(table) + "\n"


def _part(row: str) -> str:
    return row.split("|")[1]


def _epochs(folder: Path) -> Iterator[str]:
    """The epochs of a finished part; of one that is the mean of several runs, those of each run, then the mean."""
    part = folder.name.rpartition("-")[0]
    runs = sorted(folder.glob("run-*/log.jsonl"))
    logs = {f"{part}, {log.parent.name}": log for log in runs} or {part: folder / "log.jsonl"}
    for name, log in logs.items():
        for line in log.read_text(encoding="utf-8").splitlines() if log.is_file() else ():
            record = json.loads(line)
            if "plan/f1" in record.get("dev", {}):
                yield _row(name, record["epoch"], f"{record['train_loss']:.2f}", record["dev"])
    if runs:
        made = json.loads((folder / "part.json").read_text(encoding="utf-8"))["made"]
        yield _row(f"{part}, their mean", "", "", made["metrics"])


def _row(name: str, epoch: object, loss: str, dev: Mapping[str, float]) -> str:
    values = "|".join(f"{dev[column]:.3f}" if column in dev else "" for column in COLUMNS)
    return f"|{name}|{epoch}|{loss}|{values}|"
