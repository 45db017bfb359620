"""Read filled sheets: check every answer, unblind the systems, compute means with intervals and agreement."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.codec import Json, encode
from dragoman.core.errors import InputError
from dragoman.core.examples import Problem
from dragoman.evaluate.judging.agreement import cohen_kappa, fleiss_kappa, interval, percentage_agreement
from dragoman.evaluate.judging.sheets import FORMAT, NOTHING, QUESTIONS, SCALES, JudgedQuality, unshielded

Answers = Mapping[str, Mapping[JudgedQuality, int]]
"""One annotator's answers by item."""
_SHOWN = 20
"""How many wrong cells are named at once: a wrong column has one a row."""


@dataclass(frozen=True, slots=True)
class SheetItem:
    """The system behind an id, and the questions asked about its reply."""

    system: str
    example: str
    asked: frozenset[JudgedQuality]


@dataclass(frozen=True, slots=True)
class QuestionMean:
    """The mean of a question over the turns of a system, each turn being the mean of its annotators."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far annotators agreed on a question: `method` is Cohen's kappa for two, Fleiss' for more."""

    method: str
    kappa: float
    percent: float
    items: int


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The outcome of a human evaluation."""

    annotators: tuple[str, ...]
    systems: Mapping[str, Mapping[JudgedQuality, QuestionMean]]
    agreement: Mapping[JudgedQuality, Agreement]
    comments: tuple[tuple[str, str, str, str], ...] = ()
    """System, turn, annotator and what was said."""


def read_key(path: Path) -> dict[str, SheetItem]:
    """The key of an export."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        return {str(code): _item(item) for code, item in content["items"].items()}
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.", remedy="Give the key of the export.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} is not a key of `dragoman judge export`: {error}.", remedy="Give the KEY.json of that export."
        ) from error


def read_sheet(
    path: Path, key: Mapping[str, SheetItem]
) -> tuple[dict[str, dict[JudgedQuality, int]], dict[str, str], list[Problem]]:
    """Read an annotator's answers and comments, and all errors of the sheet; edited texts are ignored."""
    answers: dict[str, dict[JudgedQuality, int]] = {}
    comments: dict[str, str] = {}
    problems: list[Problem] = []

    def wrong(row: int, what: str) -> None:
        problems.append(Problem(str(path), row, what))

    for number, cells in _records(path):
        code = cells.get("id", "")
        if code not in key:
            wrong(number, f"the id '{code}' is not in the key" if code else "the id is missing")
            continue
        if code in answers:
            wrong(number, f"the id '{code}' stands here a second time")
            continue
        answers[code] = {}
        for question in QUESTIONS:
            value, what = _answer(cells.get(question, ""), question, question in key[code].asked)
            if what:
                wrong(number, what)
            if value is not None:
                answers[code][question] = value
        if cells.get("comment"):
            comments[code] = unshielded(cells["comment"])
    missing = [code for code in key if code not in answers]
    if missing:
        names = ", ".join(missing[:3]) + (" and others" if len(missing) > 3 else "")
        wrong(1, f"{len(missing)} of {len(key)} rows are not there: {names}")
    return answers, comments, problems


def read_sheets(paths: Sequence[Path], key_path: Path) -> Verdicts:
    """Return the outcome of all sheets, or raise one error that names every faulty place."""
    key = read_key(key_path)
    if len({path.resolve() for path in paths}) < len(paths):
        raise InputError("A sheet is given twice.", remedy="Give each annotator's sheet once.")
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    everything: dict[str, dict[str, dict[JudgedQuality, int]]] = {}
    comments: list[tuple[str, str, str, str]] = []
    problems: list[Problem] = []
    for name, path in zip(names, paths, strict=True):
        answers, remarks, wrong = read_sheet(path, key)
        everything[name] = answers
        comments += [(key[code].system, key[code].example, name, text) for code, text in remarks.items()]
        problems += wrong
    if problems:
        more = [f"... and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
        raise InputError(
            "\n".join([f"{len(problems)} things are wrong with the sheets:", *map(str, problems[:_SHOWN]), *more]),
            remedy="Mend these cells and import again; nothing was counted.",
            problems=tuple(problems),
        )
    return verdicts(everything, key, comments)


def verdicts(
    everything: Mapping[str, Answers], key: Mapping[str, SheetItem], comments: Sequence[tuple[str, str, str, str]] = ()
) -> Verdicts:
    """Means a system and agreement a question, from every annotator's answers."""
    systems: dict[str, dict[JudgedQuality, QuestionMean]] = {}
    for system in sorted({item.system for item in key.values()}):
        systems[system] = {}
        for question in QUESTIONS:
            codes = [code for code, item in key.items() if item.system == system and question in item.asked]
            turns = [_mean([answers[code][question] for answers in everything.values()]) for code in codes]
            if turns:
                systems[system][question] = QuestionMean(_mean(turns), *interval(turns), len(turns))
    agreement: dict[JudgedQuality, Agreement] = {}
    for question in QUESTIONS:
        codes = [code for code, item in key.items() if question in item.asked]
        ratings = [[answers[code][question] for answers in everything.values()] for code in codes]
        if ratings and len(everything) > 1:
            agreement[question] = _agreement(ratings)
    return Verdicts(tuple(everything), systems, agreement, tuple(comments))


def markdown(verdicts: Verdicts) -> str:
    """The outcome as tables."""
    lines = ["| system | coherence (1-5) | persona (%) | knowledge (%) |", "|---|---|---|---|"]
    for system, figures in verdicts.systems.items():
        cells = [shown(figures.get(question), question) for question in QUESTIONS]
        lines.append(f"| {' | '.join([system.replace('|', chr(92) + '|'), *cells])} |")
    if verdicts.agreement:
        lines += ["", "| question | kappa | method | agreeing pairs (%) | replies |", "|---|---|---|---|---|"]
        for question, row in verdicts.agreement.items():
            lines.append(
                f"| {question} | {kappa_text(row.kappa)} | {row.method} | {100 * row.percent:.1f} | {row.items} |"
            )
    lines += ["", f"{len(verdicts.annotators)} annotators. Intervals: 95 % bootstrap over turns."]
    return "\n".join(lines) + "\n"


def to_json(verdicts: Verdicts) -> Json:
    """The outcome as JSON; a kappa that is not defined is null."""
    return _defined(encode(verdicts))


def shown(figure: QuestionMean | None, question: JudgedQuality) -> str:
    """A mean in print, with interval and number of turns."""
    if figure is None:
        return "-"
    scale, digits = (1, 2) if question == "coherence" else (100, 1)
    mean, low, high = (f"{scale * value:.{digits}f}" for value in (figure.mean, figure.low, figure.high))
    return f"{mean} [{low}, {high}] n={figure.n}"


def kappa_text(kappa: float) -> str:
    """A kappa in print; undefined where all annotators gave one and the same answer."""
    return "undefined" if math.isnan(kappa) else f"{kappa:.3f}"


def _agreement(ratings: Sequence[Sequence[int]]) -> Agreement:
    percent = percentage_agreement(ratings)
    if len(ratings[0]) == 2:
        return Agreement("Cohen", cohen_kappa(*zip(*ratings, strict=True)), percent, len(ratings))
    return Agreement("Fleiss", fleiss_kappa(ratings), percent, len(ratings))


def _defined(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _defined(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_defined(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)


def _item(entry: Mapping[str, Any]) -> SheetItem:
    asked: list[JudgedQuality] = ["coherence", *(question for question in QUESTIONS[1:] if entry[question])]
    return SheetItem(str(entry["system"]), str(entry["example"]), frozenset(asked))


def _answer(cell: str, question: JudgedQuality, asked: bool) -> tuple[int | None, str]:
    """The value of a cell, and the error in it, if any."""
    text = unshielded(cell).strip()
    if not asked:
        fine = text in ("", NOTHING)
        return None, "" if fine else f"{question} is '{text}', but this reply has no {question} to agree with"
    low, high = SCALES[question]
    if text in ("", NOTHING):
        return None, f"{question} is missing"
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (low <= number <= high and number.is_integer()):
        return None, f"{question} is '{text}', not a whole number from {low} to {high}"
    return int(number), ""


def _records(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows of a sheet by the line number that a spreadsheet shows, with any separator."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.", remedy="Give a filled sheet.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8.", remedy="Save it as 'CSV UTF-8'.") from error
    header = text.split("\n", 1)[0]
    mark = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    try:
        names = [name.strip().casefold() for name in next(reader, [])]
        absent = [name for name in ("id", *QUESTIONS) if name not in names]
        if absent:
            raise InputError(f"{path}: the column '{absent[0]}' is missing.", remedy="Keep the header of the sheet.")
        records = [
            (number, dict(zip(names, (cell.strip() for cell in cells), strict=False)))
            for number, cells in enumerate(reader, start=2)
            if any(cell.strip() for cell in cells)
        ]
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: {error}.", remedy="Save the sheet as CSV again.") from error
    return records
