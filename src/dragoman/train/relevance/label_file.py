"""File of relevance labels: a header with data and method, then one line per turn.

It is written as `OUT.part` and renamed when complete. The reader compares it with the training turns; labels of other
data are an error.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from dragoman.core.codec import Json
from dragoman.core.errors import InputError
from dragoman.core.examples import Example
from dragoman.datasets.lines import lines
from dragoman.datasets.schema import explained
from dragoman.train.relevance.candidate_pools import TurnToLabel, Which, turn_to_label, whole
from dragoman.train.relevance.methods import TENTHS

FORMAT: Literal[1] = 1
_log = logging.getLogger("dragoman.train")


def _is_tenth(score: float) -> float:
    if score not in TENTHS:
        raise ValueError("a score is one of 0.0, 0.1 .. 1.0")
    return score


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class DataOf(_Strict):
    """Labelled data: files by name and hash, numbers of turns and candidates, and the hash over all."""

    files: tuple[dict[str, str], ...]
    turns: int
    pairs: int
    sha256: str


class Header(_Strict):
    """The first line of a label file, under the key `relevance`."""

    format: Literal[1]
    by: dict[str, Any]
    """Description of the method: name, version, settings and model."""
    sources: Which
    data: DataOf
    dragoman: str
    """Version that began the file; another may resume it."""


class _First(_Strict):
    relevance: Header


class LabelRow(_Strict):
    """Labels of a turn; `failed` holds the reason by source without labels."""

    id: str
    sha256: str
    scores: dict[str, Annotated[float, AfterValidator(_is_tenth)]]
    failed: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabelFile:
    """Complete and validated label file."""

    path: Path
    header: Header
    rows: tuple[LabelRow, ...]


def header_of(
    turns: Sequence[TurnToLabel],
    *,
    by: Mapping[str, Json],
    which: Which,
    files: Iterable[Mapping[str, str]],
    version: str,
) -> Header:
    """Return the header for turns."""
    data = DataOf(
        files=tuple(dict(file) for file in files),
        turns=len(turns),
        pairs=sum(len(turn.ids) for turn in turns),
        sha256=whole((turn.example.id, turn.sha256) for turn in turns),
    )
    plain = json.loads(json.dumps(dict(by)))  # as it will be read: tuples are lists
    return Header(format=FORMAT, by=plain, sources=which, data=data, dragoman=version)


def header_line(header: Header) -> bytes:
    return _line({"relevance": header.model_dump(mode="json")})


def row_line(row: LabelRow) -> bytes:
    return _line(row.model_dump(mode="json", exclude_defaults=True))


def _line(value: object) -> bytes:
    # ASCII, so that an id with half a character in it can be written too
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def read_header(line: bytes) -> Header:
    """Parse the first line as a header; raises a ValidationError."""
    return _First.model_validate_json(line).relevance


def read_row(line: bytes) -> LabelRow:
    """Parse another line as labels; raises a ValidationError."""
    return LabelRow.model_validate_json(line)


def read_labels(path: str | Path) -> LabelFile:
    """Read and validate a label file: format, lines, and that no line is missing, changed or moved."""
    place = Path(path)
    file_lines = lines(place)
    _, line = next(file_lines, (1, b""))
    try:
        header = read_header(line or b"")
    except ValidationError as error:
        raise InputError(
            f"{place} is no file of relevance labels of this version: {explained(error, _First)}",
            remedy="`dragoman label relevance` makes one.",
            file=str(place),
        ) from error
    rows = tuple(_rows(place, file_lines))
    if len(rows) != header.data.turns or whole((row.id, row.sha256) for row in rows) != header.data.sha256:
        raise InputError(
            f"{place} is damaged: its {len(rows)} turns are not the {header.data.turns} that its header speaks of.",
            remedy="Label the data again with --fresh.",
            file=str(place),
        )
    return LabelFile(place, header, rows)


def _rows(path: Path, lines: Iterator[tuple[int, bytes | None]]) -> Iterator[LabelRow]:
    for number, line in lines:
        try:
            yield read_row(line or b"")
        except ValidationError as error:
            raise InputError(
                f"{path}:{number}: {explained(error, LabelRow)}",
                remedy="Label the data again with --fresh.",
                file=str(path),
                row=number,
            ) from error


def read_relevance(
    path: str | Path | Sequence[str | Path], examples: Iterable[Example], *, partial: bool = False, gold: bool = False
) -> dict[tuple[str, str], float]:
    """Return the relevance of candidates by ids of turn and passage, from one file or one per set.

    Labels must match the turns exactly. With `partial` the examples may be a subset of the labelled ones, such as one
    side of a split. With `gold` a turn with gold evidence may lack labels. Candidates whose labelling failed are left
    out.
    """
    by_id = {example.id: example for example in examples}
    files = [read_labels(place) for place in ([path] if isinstance(path, str | Path) else path)]
    relevance: dict[tuple[str, str], float] = {}
    seen: dict[str, Path] = {}
    for file in files:
        for row in file.rows:
            if row.id not in by_id:
                if partial:
                    continue
                raise _other(file.path, f"it labels the turn '{row.id}', which is not in the data")
            if row.id in seen:
                raise _other(file.path, f"the turn '{row.id}' is labelled in {seen[row.id]} too")
            seen[row.id] = file.path
            relevance |= {(row.id, key): score for key, score in _checked(file, row, by_id[row.id]).items()}
    which: Which = "all" if any(file.header.sources == "all" for file in files) else "plan"
    unlabelled = (example for key, example in by_id.items() if key not in seen)
    silent = (example for example in unlabelled if not gold or example.gold.evidence is None)
    missing = [example.id for example in silent if turn_to_label(example, which) is not None]
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise _other(files[0].path if files else Path(), f"the turn '{missing[0]}'{more} has no labels")
    failed = sum(bool(row.failed) for file in files for row in file.rows if row.id in by_id)
    if failed:
        _log.warning("%d turns have no labels for some of their candidates, because labelling them failed.", failed)
    return relevance


def _checked(file: LabelFile, row: LabelRow, example: Example) -> Mapping[str, float]:
    """Return the scores of a turn after checking that they belong to it."""
    turn = turn_to_label(example, file.header.sources)
    candidates = frozenset(turn.ids) if turn is not None else frozenset()
    strange = next((key for key in row.scores if key not in candidates), None)
    if strange is not None:
        raise _other(file.path, f"the turn '{row.id}' has no candidate '{strange}' that would be labelled")
    if turn is None or turn.sha256 != row.sha256:
        raise _other(file.path, f"the turn '{row.id}' changed since it was labelled")
    expected = {passage.id for pool in turn.pools if pool.source.name not in row.failed for passage in pool.candidates}
    if expected != set(row.scores):
        raise _other(file.path, f"the turn '{row.id}' lacks labels of some candidates")
    return row.scores


def _other(path: Path, what: str) -> InputError:
    return InputError(
        f"The labels in {path} do not fit the data: {what}.",
        remedy="Label this data, read with the same options: dragoman label relevance --data FILE --out OUT.",
        file=str(path),
    )
