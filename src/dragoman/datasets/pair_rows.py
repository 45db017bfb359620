"""Labelled text pairs, the training rows of the joint scorer: JSON lines, optionally gzip.

A row has the texts of one input (`question`, `fact`, `text`) and its labels; missing labels are not trained.
`needs` rows have the fact as their text, `entails` rows the premise as their question.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

Verdict: TypeAlias = Literal["yes", "no", "unknown", "none"]
Entailment: TypeAlias = Literal["entailed", "neutral", "contradicted", "unsupported"]
"""`unsupported` is neutral or contradicted, for sets that do not distinguish them."""
VERDICTS: tuple[Verdict, ...] = ("yes", "no", "unknown", "none")
ENTAILMENTS: tuple[Entailment, ...] = ("entailed", "neutral", "contradicted")


@dataclass(frozen=True, slots=True)
class PairRow:
    """One input of the joint scorer with its labels; `set` and `kind` name its origin in tables.

    `group` names the rows that compete with each other, such as the sentences of a passage. `chances` are the
    probabilities of the verdicts, as a teacher gives them, for rows without a `verdict`.
    """

    set: str
    question: str
    text: str
    fact: str = ""
    kind: str = ""
    group: str = ""
    answers: float | None = None
    bears: float | None = None
    verdict: Verdict | None = None
    chances: tuple[float, ...] | None = None
    needs: float | None = None
    entails: Entailment | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields that are set."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}


def write_rows(rows: Iterable[PairRow], file: Path) -> int:
    """Write rows to a file and return their number; equal rows give equal bytes."""
    count = 0
    with file.open("wb") as raw:
        packed = gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") if file.suffix == ".gz" else raw
        for row in rows:
            packed.write(json.dumps(row.to_json(), ensure_ascii=False).encode() + b"\n")
            count += 1
        if packed is not raw:
            packed.close()
    return count


def read_rows(file: Path) -> Iterator[PairRow]:
    """Yield the rows of a file in order."""
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield PairRow(**json.loads(line))
