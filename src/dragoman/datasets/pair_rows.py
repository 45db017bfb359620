"""Labelled pairs of texts, the rows that a joint scorer learns from: one JSON object a line, gzip where named so.

A row has the texts of one reading (`question`, `fact`, `text`) and the labels that hold of it; a label that is not
there is not learned. `needs` rows have the fact as their text, `entails` rows the premise as their question.
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
"""`unsupported` is neutral or contradicted, where a set does not say which."""
VERDICTS: tuple[Verdict, ...] = ("yes", "no", "unknown", "none")
ENTAILMENTS: tuple[Entailment, ...] = ("entailed", "neutral", "contradicted")


@dataclass(frozen=True, slots=True)
class PairRow:
    """One reading of two texts with its labels. `set` and `kind` say where it comes from, for tables.

    `group` names the rows among which one is chosen, as the sentences of a passage.
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
    needs: float | None = None
    entails: Entailment | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields that say something."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}


def write_rows(rows: Iterable[PairRow], file: Path) -> int:
    """Write rows to a file; how many there were. The same rows give the same bytes."""
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
    """The rows of a file in its order."""
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield PairRow(**json.loads(line))
