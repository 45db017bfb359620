"""First, cheap pass over a JSON lines file: sources, labels and language, before rows are validated."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from dragoman.core.errors import InputError
from dragoman.core.examples import Label, Problem
from dragoman.core.values import Source, SourceName
from dragoman.datasets.lines import LONGEST, lines
from dragoman.datasets.schema import SOURCE_PATTERN, HeaderRow, PassageRow, SetRow, SourceRow, meant, parse
from dragoman.text.language import language

LABELS: tuple[Label, ...] = get_args(Label)
TOO_LONG = f"this line is longer than {LONGEST // 2**20} MB; one line is one turn."
_SAMPLE = 200
_NAME = re.compile(SOURCE_PATTERN)
_UNKNOWN = (SourceRow(name="DOCUMENTS", description="what could be looked up"),)
"""Default source of sets that only label whether to retrieve."""


@dataclass(frozen=True, slots=True)
class FileSurvey:
    """Result of the first pass. `shared` holds hashes of the corpus ids, of which there may be millions."""

    name: str
    language: str
    sources: tuple[Source, ...]
    labels: frozenset[Label]
    has_header: bool
    corpus: Path | None
    shared: frozenset[int]
    problems: tuple[Problem, ...]


def survey(file: Path) -> FileSurvey:
    """Read a file once without validation: names of sources, labels, language. The second pass reports faults."""
    declared, has_header, problems = _header(file)
    shared: set[int] = set()
    of_corpus: dict[SourceName, None] = {}
    place = None if declared.passages is None else file.parent / declared.passages
    for row in () if place is None else corpus(place):
        if isinstance(row, Problem):
            problems.append(row)
        else:
            shared.add(hash(row.id))
            of_corpus[row.source] = None
    labels: set[Label] = set()
    named: dict[SourceName, None] = {}
    texts: list[str] = []
    for record in _loose(file, skip=has_header):
        labels.update(label for label in LABELS if record.get(label) is not None)
        if declared.sources is None:
            named.update(dict.fromkeys(_names(record)))
        if len(texts) < _SAMPLE:
            texts += _texts(record)
        elif len(labels) == len(LABELS) and declared.sources is not None:
            break  # nothing more to learn
    entries = declared.sources
    if entries is None:
        entries = tuple(SourceRow(name=name) for name in {**named, **of_corpus})
    entries = entries or _UNKNOWN
    sources = tuple(
        Source(
            row.name,
            row.description,
            row.needs,
            row.about,
            row.name not in of_corpus if row.private is None else row.private,
        )
        for row in entries
    )
    problems += _misplaced(file, sources, of_corpus)
    spoken = Counter(language(text) for text in texts).most_common(1)
    return FileSurvey(
        declared.name.strip() or file.stem,
        declared.language or (spoken[0][0] if spoken else "en"),
        sources,
        frozenset(labels),
        has_header,
        place,
        frozenset(shared),
        tuple(problems),
    )


def _misplaced(file: Path, sources: Iterable[Source], of_corpus: Iterable[SourceName]) -> Iterator[Problem]:
    """Yield problems of shared passages whose source is undeclared or private to turns."""
    private = {source.name: source.private for source in sources}
    for name in of_corpus:
        if private.get(name) is not False:
            why = "is private" if name in private else f"is not declared{meant(name, private)}"
            yield Problem(str(file), 1, f"the shared passages are of the source '{name}', which {why}.")


def _header(file: Path) -> tuple[SetRow, bool, list[Problem]]:
    """Return the declarations of the first line, whether it is a header, and its problem."""
    first = next(lines(file), None)
    if first is None:
        raise InputError(f"{file} is empty.", remedy="Write one JSON object a line, one line a turn.", file=str(file))
    number, line = first
    record = None if line is None else _loosely(line)
    if number != 1 or line is None or record is None or "dataset" not in record:
        return SetRow(), False, []
    try:
        declared = parse(HeaderRow, line).dataset
        _check_sources(declared.sources or ())
    except InputError as error:
        return SetRow(), True, [Problem(str(file), 1, str(error))]
    return declared, True, []


def _check_sources(rows: Iterable[SourceRow]) -> None:
    """Check that sources are declared once, need declared sources, and form no cycle."""
    needs: dict[SourceName, set[SourceName]] = {}
    for row in rows:
        if row.name in needs:
            raise InputError(f"the source '{row.name}' is declared twice.")
        if row.name.upper() == "NULL":
            raise InputError("a source cannot be called NULL: that is the plan that asks nothing.")
        needs[row.name] = set(row.needs)
    for name, needed in needs.items():
        for need in sorted(needed - set(needs)):
            raise InputError(f"the source '{name}' needs the unknown source '{need}'{meant(need, needs)}.")
    while free := [name for name, needed in needs.items() if not needed]:
        for name in free:
            del needs[name]
        for needed in needs.values():
            needed.difference_update(free)
    if needs:
        raise InputError(f"the sources {', '.join(needs)} need each other in a circle.")


def corpus(file: Path) -> Iterator[PassageRow | Problem]:
    """Yield the rows of a file of shared passages; wrong rows and repeated ids become problems."""
    taken: set[int] = set()
    for number, line in lines(file):
        try:
            if line is None:
                raise InputError(TOO_LONG)
            row = parse(PassageRow, line)
            if hash(row.id) in taken:
                raise InputError(f"the id '{row.id}' is taken by a line before.")
        except InputError as error:
            yield Problem(str(file), number, str(error))
            continue
        taken.add(hash(row.id))
        yield row


def _loose(file: Path, *, skip: bool) -> Iterator[dict[str, Any]]:
    for number, line in lines(file):
        row = None if line is None or (skip and number == 1) else _loosely(line)
        if row is not None:
            yield row


def _loosely(line: bytes) -> dict[str, Any] | None:
    """Return a line as a JSON object, or None."""
    from pydantic_core import from_json

    try:
        record = from_json(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _names(row: Mapping[str, Any]) -> Iterator[SourceName]:
    """Yield the sources that a row mentions."""
    for candidate in _listed(row, "candidates"):
        if isinstance(candidate, dict) and _is_name(candidate.get("source")):
            yield candidate["source"]
    yield from filter(_is_name, _listed(row, "plan"))


def _is_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None and name.upper() != "NULL"


def _texts(row: Mapping[str, Any]) -> Iterator[str]:
    for turn in _listed(row, "context"):
        if isinstance(turn, dict) and isinstance(turn.get("text"), str):
            yield turn["text"]


def _listed(row: Mapping[str, Any], key: str) -> list[Any]:
    values = row.get(key)
    return values if isinstance(values, list) else []
