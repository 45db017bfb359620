"""Data set of pair rows, for training and evaluation of the joint scorer; `pair_rows.py` defines the format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman.core.examples import Example, Label, Problem
from dragoman.core.registry import datasets
from dragoman.core.values import Context, Passage, Scope, Source, Turn
from dragoman.datasets.pair_rows import PairRow

_ROW = "row"


@datasets.register("pairs.v1")
class Pairs:
    """Labelled pairs of texts for a joint scorer, JSON lines."""

    def __init__(self, *, file: str | Path) -> None:
        self._file = Path(file)

    @property
    def name(self) -> str:
        return self._file.stem

    @property
    def language(self) -> str:
        return "en"

    @property
    def sources(self) -> tuple[Source, ...]:
        return ()

    @property
    def labels(self) -> frozenset[Label]:
        return frozenset()

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._file,)

    def examples(self) -> Iterator[Example | Problem]:
        """Yield one example per row: the question as the user's turn, the row in its metadata."""
        with self._file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    row = PairRow(**json.loads(line))
                except (TypeError, ValueError) as error:
                    yield Problem(str(self._file), number, f"no pair row: {error}")
                    continue
                context = Context((Turn("user", row.question),), Scope(row.set, "me"), row.group or str(number))
                yield Example(f"{self.name}/{number}", context, (), meta={_ROW: line})

    def passages(self) -> Iterator[Passage]:
        return iter(())


def row_of(meta: Mapping[str, Any]) -> PairRow:
    """Return the pair row of an example."""
    return PairRow(**json.loads(meta[_ROW]))
