"""Sheets for human judges: the same turns of every system, blinded, shuffled anew for each annotator.

UniMS-RAG Table VIII and SAFARI Table 9: coherence from 1 to 5, consistency with the persona and with the knowledge as
0 or 1, three annotators, one hundred turns a system. A key, which annotators do not get, maps replies to systems.
"""

from __future__ import annotations

import csv
import io
import json
import random
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.core.codec import Json
from dragoman.core.errors import InputError, UnknownNameError
from dragoman.core.values import Turn

if TYPE_CHECKING:
    from dragoman.evaluate.running.kept_turns import KeptTurn

JudgedQuality: TypeAlias = Literal["coherence", "persona", "knowledge"]
QUESTIONS: tuple[JudgedQuality, ...] = ("coherence", "persona", "knowledge")
SCALES: Mapping[JudgedQuality, tuple[int, int]] = {"coherence": (1, 5), "persona": (0, 1), "knowledge": (0, 1)}
COLUMNS = ("id", "context", "persona grounding", "knowledge grounding", "reply", *QUESTIONS, "comment")
FORMAT = "dragoman-judge.v1"
NOTHING = "-"
"""Stands in the answer's cell where a turn has nothing of that kind to be consistent with."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_TEMPLATE = Path(__file__).with_name("judge.html")


@dataclass(frozen=True, slots=True)
class Grounding:
    """A piece of gold evidence: of a persona (a source about the user or the bot), or knowledge of the world."""

    kind: Literal["persona", "knowledge"]
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """One reply to be judged."""

    system: str
    example: str
    context: tuple[Turn, ...]
    grounding: tuple[Grounding, ...]
    reply: str

    def of(self, kind: str) -> str:
        """The grounding of one kind, a line a piece."""
        return "\n".join(piece.text for piece in self.grounding if piece.kind == kind)


@dataclass(frozen=True, slots=True)
class Sheets:
    """The result of an export: files, turns and systems."""

    files: tuple[Path, ...]
    key: Path
    systems: tuple[str, ...]
    turns: int
    available: int


def rows(run: Path, data: str | None = None) -> Iterator[JudgeRow]:
    """The replies of a finished run on one of its sets."""
    from dragoman.evaluate.running.kept_turns import read_turns
    from dragoman.evaluate.running.run_folder import RunFolder
    from dragoman.evaluate.running.run_record import load_run

    folder = RunFolder(run)
    tables = {table.data: table for table in load_run(run).tables if table.turns}
    if data is not None and data not in tables:
        raise UnknownNameError(f"set of '{run}':", data, tables)
    if data is None and len(tables) != 1:
        names = ", ".join(tables) or "none with turns"
        raise InputError(f"'{run}' has several sets or none: {names}.", remedy="Name the one to judge with --data.")
    block = data or next(iter(tables))
    turns = {turn.example: turn for turn in read_turns(run, block)}
    for row in tables[block].rows:
        for outcome in folder.outcomes(block, row.system):
            turn = turns.get(outcome.example)
            if turn is not None:
                yield JudgeRow(row.system, turn.example, turn.context, _grounding(turn), outcome.reply.text)


def gather(runs: Sequence[Path], data: str | None = None, systems: Sequence[str] | None = None) -> list[JudgeRow]:
    """The replies of several runs; a system that more than one of them has is named after its run as well."""
    rows_by_run = {run: list(rows(run, data)) for run in dict.fromkeys(runs)}
    names = {row.system for judged in rows_by_run.values() for row in judged}
    for name in systems or ():
        if name not in names:
            raise UnknownNameError("system", name, names)
    if systems:
        rows_by_run = {run: [row for row in judged if row.system in systems] for run, judged in rows_by_run.items()}
    times = Counter(system for judged in rows_by_run.values() for system in {row.system for row in judged})
    return [
        replace(row, system=f"{run.resolve().name}: {row.system}") if times[row.system] > 1 else row
        for run, judged in rows_by_run.items()
        for row in judged
    ]


def export(
    judged: Iterable[JudgeRow],
    out: Path,
    *,
    n: int = 100,
    seed: int = 1,
    annotators: int = 3,
    grounded: bool = True,
    html: bool = True,
) -> Sheets:
    """Write a sheet for each annotator beside `out`, and the key; existing files are not overwritten.

    `grounded` takes only turns with gold evidence, as the papers did. All systems are judged on the same turns.
    """
    if n < 1 or annotators < 1:
        raise InputError(f"n is {n} and annotators {annotators}.", remedy="Give numbers from 1.")
    by_system = _by_system(judged)
    common = _common(by_system, grounded)
    draw = random.Random(seed)
    sample = draw.sample(common, min(n, len(common)))
    items: dict[str, JudgeRow] = {}
    for example in sample:
        for system in sorted(by_system):
            code = _fresh_id(draw, items)
            items[code] = by_system[system][example]
    files = sheet_files(out, annotators)
    key = out.with_name(f"{out.stem}-KEY.json")
    texts: dict[Path, str] = {key: _key(items, seed, annotators)}
    for file in files:
        ids = sorted(items)
        draw.shuffle(ids)
        texts[file] = sheet({code: items[code] for code in ids})
        if html:
            texts[file.with_suffix(".html")] = page({code: items[code] for code in ids}, file.stem)
    _write(texts)
    return Sheets(files, key, tuple(sorted(by_system)), len(sample), len(common))


def sheet_files(out: Path, annotators: int) -> tuple[Path, ...]:
    """One file an annotator: SHEET-1.csv, SHEET-2.csv, ...; SHEET.csv itself where there is one annotator."""
    if annotators == 1:
        return (out.with_suffix(".csv"),)
    return tuple(out.with_name(f"{out.stem}-{number}.csv") for number in range(1, annotators + 1))


def sheet(items: Mapping[str, JudgeRow]) -> str:
    """The items as CSV with empty cells for the answers."""
    sheet = io.StringIO()
    writer = csv.writer(sheet, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for code, row in items.items():
        cells = [code, *(shielded(text) for text in _columns(row)), "", *_blanks(row), ""]
        writer.writerow(cells)
    return sheet.getvalue()


def page(items: Mapping[str, JudgeRow], title: str) -> str:
    """The items as a page that needs no network: answers are kept in the browser and saved as CSV."""
    rows: list[Json] = []
    for code, row in items.items():
        context, persona, knowledge, reply = _columns(row)
        rows.append({"id": code, "context": context, "persona": persona, "knowledge": knowledge, "reply": reply})
    content = json.dumps({"title": title, "items": rows}, ensure_ascii=False)
    # a script element ends at the first "</", even inside a string
    return _TEMPLATE.read_text(encoding="utf-8").replace("{{ITEMS}}", content.replace("<", "\\u003c"))


def shielded(text: str) -> str:
    """Escape a cell so that no spreadsheet reads it as a formula; `unshielded` restores the text."""
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA) else text


def unshielded(text: str) -> str:
    """The inverse of `shielded`."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(_FORMULA) else text


def _columns(row: JudgeRow) -> tuple[str, str, str, str]:
    context = "\n".join(f"{turn.speaker}: {turn.text}" for turn in row.context)
    return context, row.of("persona"), row.of("knowledge"), row.reply


def _blanks(row: JudgeRow) -> list[str]:
    return ["" if row.of(kind) else NOTHING for kind in ("persona", "knowledge")]


def _by_system(judged: Iterable[JudgeRow]) -> dict[str, dict[str, JudgeRow]]:
    by_system: dict[str, dict[str, JudgeRow]] = {}
    for row in judged:
        by_example = by_system.setdefault(row.system, {})
        if row.example in by_example:
            raise InputError(
                f"The system '{row.system}' answers turn '{row.example}' twice.",
                remedy="Give each run once, and no two runs with a system of the same name.",
            )
        by_example[row.example] = row
    return by_system


def _common(by_system: Mapping[str, Mapping[str, JudgeRow]], grounded: bool) -> list[str]:
    if not by_system:
        raise InputError("There are no replies to judge.", remedy="Give the folder of a run with replies.")
    common = set.intersection(*(set(by_example) for by_example in by_system.values()))
    silent = [
        system for system, by_example in by_system.items() if not any(row.reply.strip() for row in by_example.values())
    ]
    if silent:
        others = [system for system in by_system if system not in silent]
        options = " ".join(f"--system {shlex.quote(system)}" for system in sorted(others))
        raise InputError(
            f"There is nothing to judge in the replies of {', '.join(sorted(silent))}: all of them are empty.",
            remedy=f"Leave them out: {options}" if others else "Give a run of systems that reply.",
        )
    first = next(iter(by_system.values()))
    usable = sorted(example for example in common if first[example].grounding or not grounded)
    if not usable:
        why = "with gold evidence " if common else ""
        raise InputError(
            f"The systems {', '.join(sorted(by_system))} have no turn {why}in common.",
            remedy="Take in turns without gold evidence as well." if common else "Give runs on the same set.",
        )
    return usable


def _fresh_id(draw: random.Random, ids: Mapping[str, object]) -> str:
    # a letter first: a spreadsheet would show 12e4567 as a number
    while (code := f"r{draw.getrandbits(32):08x}") in ids:
        pass
    return code


def _key(items: Mapping[str, JudgeRow], seed: int, annotators: int) -> str:
    items_by_code: dict[str, Json] = {
        code: {
            "system": row.system,
            "example": row.example,
            "persona": bool(row.of("persona")),
            "knowledge": bool(row.of("knowledge")),
        }
        for code, row in items.items()
    }
    whole = {"format": FORMAT, "seed": seed, "annotators": annotators, "items": items_by_code}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _write(texts: Mapping[Path, str]) -> None:
    for path in texts:
        if path.exists():
            raise InputError(f"{path} exists already.", remedy="Give another name: answers may stand in it.")
    for path, text in texts.items():
        # spreadsheets read a CSV file as UTF-8 only where it begins with this mark
        encoding = "utf-8-sig" if path.suffix == ".csv" else "utf-8"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding=encoding, errors="replace", newline="")
        except OSError as error:
            raise InputError(f"Cannot write {path}: {error.strerror}.", remedy="Give another path.") from error


def _grounding(turn: KeptTurn) -> tuple[Grounding, ...]:
    return tuple(
        Grounding("knowledge" if passage.about == "world" else "persona", passage.text, passage.source)
        for passage in turn.passages
    )
