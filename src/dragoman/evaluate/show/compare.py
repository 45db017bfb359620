"""Compare two systems turn by turn: changes of decisions, evidence and reply, and whether scores rose or fell."""

from __future__ import annotations

import heapq
import logging
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from dragoman.core.errors import InputError, UnknownNameError
from dragoman.core.trace import Reply
from dragoman.evaluate.contract import mean_scores
from dragoman.evaluate.results import Column, Outcome, Result
from dragoman.evaluate.running.kept_turns import KeptTurn, read_scores, read_turns
from dragoman.evaluate.running.manifest import column_digest, data_digest
from dragoman.evaluate.running.run_folder import RunFolder
from dragoman.evaluate.running.run_record import load_run
from dragoman.evaluate.significance import Draws, paired

What: TypeAlias = Literal["gate", "plan", "evidence", "reply"]
WHAT: tuple[What, ...] = ("gate", "plan", "evidence", "reply")
Scores: TypeAlias = Mapping[str, float | None]
_DRAWS = 5000
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TurnChange:
    """A turn on which two systems differ; `scores` holds both values of each column."""

    turn: KeptTurn
    before: Reply
    after: Reply
    what: tuple[What, ...]
    scores: Mapping[str, tuple[float, float]]
    size: float


@dataclass(frozen=True, slots=True)
class Count:
    """The number of turns on which a column is better, worse and equal.

    `p` is how probable a difference of the turns' values as large as this one is by chance: a paired bootstrap over
    dialogues. None where no turn tells the systems apart.
    """

    column: Column
    better: int
    worse: int
    same: int
    p: float | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """Two systems on one set. `same_data` is false where the runs read other files or another number of turns.

    `apart` are columns that both have by that title, measured otherwise: nothing is counted of them.
    """

    data: str
    before: str
    after: str
    turns: int
    changed: Mapping[What, int]
    unchanged: int
    counts: tuple[Count, ...]
    biggest: tuple[TurnChange, ...]
    same_data: bool
    apart: tuple[str, ...] = ()


def compare_runs(
    a: str, b: str, *, data: str | None = None, system: str | None = None, limit: int = 5
) -> Iterator[Compared]:
    """Compare two runs, or RUN:SYSTEM with RUN:SYSTEM; by default every set and system that both have."""
    left, right = _ComparedRun(a), _ComparedRun(b)
    if system is not None and (left.system or right.system):
        raise InputError(
            f"The system '{system}' is asked for, and '{a}' and '{b}' name one already.",
            remedy="Leave out --system, or give two runs without :SYSTEM.",
        )
    sets = [name for name in left.sets if name in right.sets]
    if data is not None and data not in sets:
        raise UnknownNameError("set", data, sets, remedy="Name one that both runs have.")
    if not sets:
        raise InputError(
            f"'{a}' and '{b}' have no set in common: {', '.join(left.sets)} and {', '.join(right.sets)}.",
            remedy="Compare runs of the same set.",
        )
    any_shared = False
    for name in [data] if data is not None else sets:
        for before, after in _pairs(left, right, name, system):
            any_shared = True
            yield _compared(left, right, name, (before, after), limit)
    if not any_shared:
        raise InputError(
            f"'{a}' and '{b}' have no system in common.", remedy="Name the two as RUN:SYSTEM and RUN:SYSTEM."
        )


class _ComparedRun:
    """One side of a comparison: a run, or one system of it."""

    def __init__(self, run: str) -> None:
        path, system = _folder_and_system(run)
        self.result: Result = load_run(path)
        self.folder = RunFolder(path)
        self.sets = {table.data: table for table in self.result.tables if table.turns}
        names = {name for block in self.sets for name in self.systems(block)}
        if system is not None and system not in names:
            raise UnknownNameError(f"system of '{path}':", system, names)
        self.system = system

    def systems(self, block: str) -> list[str]:
        """The systems that have answered a set."""
        return [row.system for row in self.sets[block].rows if self.folder.done(block, row.system)]


def _folder_and_system(named: str) -> tuple[Path, str | None]:
    """Split RUN:SYSTEM into folder and system; both may contain colons, so the split that names a folder is taken."""
    parts = named.split(":")
    splits = [(":".join(parts[:end]), ":".join(parts[end:])) for end in range(len(parts), 0, -1)]
    place, system = next((split for split in splits if Path(split[0]).is_dir()), splits[-1])
    return Path(place), system or None


def _pairs(left: _ComparedRun, right: _ComparedRun, block: str, system: str | None) -> list[tuple[str, str]]:
    mine, theirs = left.systems(block), right.systems(block)
    if left.system or right.system:
        before = left.system or str(right.system)
        after = right.system or before
        return [(before, after)] if before in mine and after in theirs else []
    common = [name for name in mine if name in theirs]
    if system is not None and system not in common:
        raise UnknownNameError("system", system, common, remedy="Name one that both runs have.")
    return [(name, name) for name in common if system in (None, name)]


def _compared(left: _ComparedRun, right: _ComparedRun, block: str, pair: tuple[str, str], limit: int) -> Compared:
    before, after = pair
    columns = {column.title: column for column in left.sets[block].columns}
    titles = {column.title for column in right.sets[block].columns}
    manifests = left.result.manifest, right.result.manifest
    digests = {title: {column_digest(one, title) for one in manifests} - {""} for title in columns if title in titles}
    apart = [title for title, turn_scores in digests.items() if len(turn_scores) > 1]
    if apart:
        log.warning("The runs measure %s with other options: not compared.", ", ".join(f"'{title}'" for title in apart))
    shared = [column for title, column in columns.items() if title in titles and title not in apart]
    changed: Counter[What] = Counter()
    tallies: dict[str, Counter[str]] = {column.title: Counter() for column in shared}
    pairs: dict[str, list[tuple[str, float, float]]] = {column.title: [] for column in shared}
    biggest: list[tuple[float, int, TurnChange]] = []
    turns = unchanged = 0
    for number, (turn, one, other, turn_scores) in enumerate(_turns(left, right, block, before, after)):
        turns += 1
        scores = {title: both for title, both in turn_scores.items() if title not in apart}
        what = tuple(kind for kind in WHAT if _outcome(one.reply, kind) != _outcome(other.reply, kind))
        changed.update(what)
        unchanged += not what
        for column in shared:
            if column.title in scores:
                tallies[column.title][_verdict(column, *scores[column.title])] += 1
                pairs[column.title].append((turn.dialogue, *scores[column.title]))
        if what:
            size = sum(_distance(column, *scores[column.title]) for column in shared if column.title in scores)
            entry = size + len(what) / 100, -number, TurnChange(turn, one.reply, other.reply, what, scores, size)
            heapq.heappushpop(biggest, entry) if len(biggest) >= limit else heapq.heappush(biggest, entry)
    if not turns:
        raise InputError(f"The runs have no turn of '{block}' in common.", remedy="Compare runs of the same data.")
    same = len({data_digest(one, block) for one in manifests}) == 1
    counts = tuple(
        Count(column, tally["better"], tally["worse"], tally["same"], _chance(tally, pairs[column.title]))
        for column in shared
        if (tally := tallies[column.title])
    )
    ordered = tuple(change for _, _, change in sorted(biggest, key=lambda entry: entry[:2], reverse=True))
    return Compared(block, before, after, turns, dict(changed), unchanged, counts, ordered, same, tuple(apart))


def _turns(
    left: _ComparedRun, right: _ComparedRun, block: str, before: str, after: str
) -> Iterator[tuple[KeptTurn, Outcome, Outcome, dict[str, tuple[float, float]]]]:
    """The turns of both runs, in the order of the first."""
    others = {outcome.example: outcome for outcome in right.folder.outcomes(block, after)}
    values = dict(read_scores(left.folder.path, block, before))
    other_values = dict(read_scores(right.folder.path, block, after))
    by_example = {turn.example: turn for turn in read_turns(left.folder.path, block)}
    for outcome in left.folder.outcomes(block, before):
        other, turn = others.get(outcome.example), by_example.get(outcome.example)
        if other is not None and turn is not None:
            mine, theirs = values.get(outcome.example, {}), other_values.get(outcome.example, {})
            yield turn, outcome, other, _both(mine, theirs)


def _both(mine: Scores, theirs: Scores) -> dict[str, tuple[float, float]]:
    pairs = {}
    for title, value in mine.items():
        other = theirs.get(title)
        if value is not None and other is not None:
            pairs[title] = (value, other)
    return pairs


def _outcome(reply: Reply, what: What) -> object:
    if what == "gate":
        return reply.verdict.retrieve
    if what == "plan":
        return reply.plan.steps
    if what == "evidence":
        return [(piece.source, piece.id) for piece in reply.evidence]
    return reply.text


def _verdict(column: Column, before: float, after: float) -> str:
    if math.isclose(before, after, rel_tol=1e-9, abs_tol=1e-12) or column.direction == "none":
        return "same"
    return "better" if (after > before) == (column.direction == "up") else "worse"


def _chance(tally: Counter[str], pairs: Sequence[tuple[str, float, float]]) -> float | None:
    """The p-value of a paired bootstrap over the dialogues of turns with both values."""
    if not tally["better"] + tally["worse"]:
        return None
    import numpy as np

    dialogues, before, after = zip(*pairs, strict=True)
    one, other = mean_scores(np.array(before)), mean_scores(np.array(after))
    return paired(one, other, Draws.of(dialogues, count=_DRAWS)).p


def _distance(column: Column, before: float, after: float) -> float:
    """The difference of two values as a share of the column's range; 0 for a column without a range."""
    low, high = column.bounds
    span = high - low
    return abs(after - before) / span if math.isfinite(span) and span > 0 else 0.0


def scores_text(change: TurnChange, columns: Sequence[Column]) -> str:
    """The scores before and after a change, in printed units."""
    parts = []
    for column in columns:
        if column.title in change.scores:
            before, after = (value * column.scale for value in change.scores[column.title])
            if not math.isclose(before, after):
                parts.append(f"{column.title} {before:.{column.digits}f} > {after:.{column.digits}f}")
    return ", ".join(parts)
