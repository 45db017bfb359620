"""Aggregation of outcomes to tables: every column for every system of a set, with intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol, cast

from dragoman.core.codec import Json
from dragoman.core.errors import DragomanError, StoreCorruptError
from dragoman.core.examples import Example, Problem
from dragoman.evaluate.columns import LabelledSet, MeasuredColumn
from dragoman.evaluate.contract import Judged, Scores
from dragoman.evaluate.results import Figure, Outcome, Result, ResultCell, Status, SystemRow, Table, Test
from dragoman.evaluate.running.kept_turns import ReadableSet, lean_examples
from dragoman.evaluate.show.tables import plain
from dragoman.evaluate.spec import DataSpec, Experiment, FigureSpec, SystemSpec

if TYPE_CHECKING:
    from dragoman.evaluate.significance import Comparison, Draws

_SHOWN_PROBLEMS = 5
Progress = Callable[[int, int, str], None]
"""Called with the number of figures done, of all figures, and the current column."""


class OutcomeReader(Protocol):
    """Source of outcomes."""

    def outcomes(self, block: str, system: str) -> Iterator[Outcome]: ...


class TurnReader(LabelledSet, ReadableSet, Protocol):
    """Source of a set's turns."""

    @property
    def problems(self) -> Sequence[Problem]: ...

    @property
    def skipped(self) -> int: ...


class Keep(Protocol):
    """Sink of per-turn scores."""

    def turns(self, block: str, examples: Sequence[Example]) -> None: ...

    def scores(
        self, block: str, system: str, examples: Sequence[str], columns: Mapping[str, Sequence[float | None]]
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Measured:
    """Set that was run, with its columns; `untaught` are the systems whose trained part is missing."""

    spec: DataSpec
    block: TurnReader
    measures: Sequence[MeasuredColumn]
    untaught: frozenset[str] = frozenset()


def aggregate(
    experiment: Experiment,
    sets: Sequence[Measured | DataSpec],
    rows: OutcomeReader,
    *,
    name: str,
    manifest: Mapping[str, Json],
    systems: Sequence[str] | None = None,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> Result:
    """Return the result of an experiment. A set given as a bare spec has no data; its rows say "no data".

    `systems` limits the table to some of the rows that run; rows that cannot run stay.
    """
    tables, figures = [], []
    for entry in sets:
        spec = entry.spec if isinstance(entry, Measured) else entry
        chosen = [
            system
            for system in experiment.systems_of(spec.name)
            if systems is None or system.name in systems or not system.runs
        ]
        if isinstance(entry, Measured):
            chosen = [
                system.model_copy(update={"missing": "no data"}) if system.name in entry.untaught else system
                for system in chosen
            ]
            table, drawn = _Tabling(experiment, entry, chosen, rows, progress=progress, keep=keep).made()
            tables.append(table)
            figures += drawn
        else:
            tables.append(_empty(experiment, spec, chosen))
    return Result(name, experiment.title, experiment.about, manifest, tuple(tables), tuple(figures))


class _Tabling:
    """Builder of one set's table; one system at a time is in memory."""

    def __init__(
        self,
        experiment: Experiment,
        measured: Measured,
        systems: Sequence[SystemSpec],
        rows: OutcomeReader,
        *,
        progress: Progress | None,
        keep: Keep | None,
    ) -> None:
        self._experiment = experiment
        self._measured = measured
        self._systems = systems
        self._rows = rows
        self._progress = progress
        self._keep = keep
        self._examples = lean_examples(measured.block)
        self._done = 0

    def made(self) -> tuple[Table, list[Figure]]:
        from dragoman.evaluate.significance import Draws

        if self._keep is not None:
            self._keep.turns(self._measured.spec.name, self._examples)
        dialogues = [_unit(example) for example in self._examples]
        draws = Draws.of(dialogues, count=self._experiment.draws, seed=self._experiment.seed)
        running = [system for system in self._systems if system.runs]
        scores = {system.name: self._scores(system.name) for system in running}
        columns = [
            self._column(index, {name: column_scores[index] for name, column_scores in scores.items()}, draws)
            for index in range(len(self._measured.measures))
        ]
        table = self._table(columns, len(set(dialogues)))
        return table, self._figures(table, [system.name for system in running])

    def _turns(self, system: str) -> list[Judged]:
        spec = self._measured.spec
        judged = []
        for number, outcome in enumerate(self._rows.outcomes(spec.name, system)):
            example = self._examples[number] if number < len(self._examples) else None
            if example is None or example.id != outcome.example:
                raise StoreCorruptError(
                    f"Turn {number + 1} of '{system}' on '{spec.name}' is '{outcome.example}', "
                    f"and the set has '{example.id if example else 'no such turn'}' there.",
                    remedy="Run again with --fresh, which measures everything anew.",
                )
            judged.append(Judged(example, outcome.reply, outcome.usage, outcome.encoded))
        if len(judged) < len(self._examples):
            raise StoreCorruptError(
                f"'{system}' has answered {len(judged)} of the {len(self._examples)} turns of '{spec.name}'.",
                remedy="Run the experiment again: it goes on from there.",
            )
        return judged

    def _scores(self, system: str) -> list[Scores]:
        turns = self._turns(system)
        all_scores = []
        for measure in self._measured.measures:
            self._tell(measure.spec.title)
            if measure.spec.missing is not None:
                all_scores.append(Scores([False] * len(turns), lambda weights: weights[:, :0].sum(axis=1)))
                continue
            try:
                all_scores.append(measure.metric.score(turns))
            except DragomanError as error:
                raise _failed(measure, self._measured.spec.name, system, error.message, error.remedy) from error
            except Exception as error:  # a plugin's metric may raise anything; name the metric in the error
                words = f"{type(error).__name__}: {error}"
                raise _failed(measure, self._measured.spec.name, system, words) from error
        if self._keep is not None:
            columns = {
                measure.spec.title: [_or_none(value) for value in scores.per_turn.tolist()]
                for measure, scores in zip(self._measured.measures, all_scores, strict=True)
                if scores.per_turn is not None and measure.metric.about.repeatable
            }
            self._keep.scores(self._measured.spec.name, system, [example.id for example in self._examples], columns)
        return all_scores

    def _tell(self, what: str) -> None:
        if self._progress is not None:
            running = sum(system.runs for system in self._systems)
            self._progress(self._done, 2 * running * len(self._measured.measures), what)
        self._done += 1

    def _column(self, index: int, scores: Mapping[str, Scores], draws: Draws) -> dict[str, ResultCell]:
        """Compute the cells of one column by system: values first, then tests against the baseline."""
        measure = self._measured.measures[index]
        if measure.spec.missing is not None:
            return {system: ResultCell(measure.spec.missing) for system in scores}
        somewhere = any(any(system_scores.counted) for system_scores in scores.values())
        cells = {}
        for system, system_scores in scores.items():
            self._tell(measure.spec.title)
            cells[system] = self._cell(system_scores, draws, measure, somewhere=somewhere)
        baseline = self._baseline(scores)
        if baseline is None or cells[baseline].status != "measured" or not measure.metric.about.repeatable:
            return cells  # turns of a batch share its seconds, so tests cannot treat them as independent
        others = [name for name, cell in cells.items() if name != baseline and cell.status == "measured"]
        return {**cells, **_tested(cells, scores, baseline, others, draws)}

    def _baseline(self, scores: Mapping[str, Scores]) -> str | None:
        baseline = self._experiment.baseline
        return baseline if baseline in scores else None

    def _cell(self, scores: Scores, draws: Draws, measure: MeasuredColumn, *, somewhere: bool) -> ResultCell:
        from dragoman.evaluate.significance import interval

        if not any(scores.counted):
            spoken = somewhere or not measure.metric.about.needs
            return ResultCell("not available" if spoken else "no turns")
        estimate = interval(scores, draws, name=measure.spec.title)
        details = cast(dict[str, Json], plain(dict(scores.details)))
        if math.isnan(estimate.value):
            return ResultCell("not available", n=estimate.n, details=details)
        return ResultCell(
            "measured",
            estimate.value,
            estimate.n,
            _or_none(estimate.error),
            _or_none(estimate.low),
            _or_none(estimate.high),
            details=details,
        )

    def _table(self, columns: Sequence[Mapping[str, ResultCell]], dialogues: int) -> Table:
        spec, block = self._measured.spec, self._measured.block
        rows = []
        for system in self._systems:
            cells = [
                _with_paper(
                    column[system.name] if system.runs else ResultCell(cast(Status, system.missing)),
                    system,
                    spec.name,
                    measure.spec.title,
                )
                for column, measure in zip(columns, self._measured.measures, strict=True)
            ]
            rows.append(SystemRow(system.name, system.group, system.note, tuple(cells)))
        problems = tuple(block.problems)
        examples = [f"{PurePath(one.file).name}:{one.row}: {one.what}" for one in problems[:_SHOWN_PROBLEMS]]
        if len(problems) > _SHOWN_PROBLEMS:
            examples.append(f"... and {len(problems) - _SHOWN_PROBLEMS} more")
        running = {system.name for system in self._systems if system.runs}
        return Table(
            spec.name,
            spec.title,
            spec.note,
            len(self._examples),
            dialogues,
            self._experiment.baseline if self._experiment.baseline in running else None,
            tuple(measure.column() for measure in self._measured.measures),
            tuple(rows),
            tuple(examples),
            block.skipped,
        )

    def _figures(self, table: Table, systems: Sequence[str]) -> list[Figure]:
        name = self._measured.spec.name
        rows = {row.system for row in table.rows}
        absent = {system.name for system in self._experiment.systems} - rows
        specs = [_without(spec, absent) for spec in self._experiment.figures if spec.data is None or name in spec.data]
        specs = [spec for spec in specs if spec.options.get("systems") != []]
        if not specs:
            return []
        from dragoman.evaluate.show.figures import figure

        turns = _LazyTurns(systems, self._turns)
        figures = [figure(spec, table, turns) for spec in specs]
        return [one for one in figures if one is not None]


def _without(spec: FigureSpec, absent: set[str]) -> FigureSpec:
    """Drop systems from a figure that this table does not have."""
    named = spec.options.get("systems")
    if not isinstance(named, list) or absent.isdisjoint(named):
        return spec
    places = [place for place, name in enumerate(named) if name not in absent]
    x = spec.options.get("x")
    along = {"x": [x[place] for place in places]} if isinstance(x, list) and len(x) == len(named) else {}
    return spec.model_copy(update={"systems": [named[place] for place in places], **along})


class _LazyTurns(Mapping[str, Sequence[Judged]]):
    """Turns of each system, read on first use; the last ones are cached."""

    def __init__(self, systems: Sequence[str], read: Callable[[str], list[Judged]]) -> None:
        self._systems = systems
        self._read = read
        self._last: tuple[str, list[Judged]] | None = None

    def __getitem__(self, system: str) -> Sequence[Judged]:
        if system not in self._systems:
            raise KeyError(system)
        if self._last is None or self._last[0] != system:
            self._last = system, self._read(system)
        return self._last[1]

    def __contains__(self, system: object) -> bool:
        return system in self._systems

    def __iter__(self) -> Iterator[str]:
        return iter(self._systems)

    def __len__(self) -> int:
        return len(self._systems)


def _tested(
    cells: Mapping[str, ResultCell], scores: Mapping[str, Scores], baseline: str, others: Sequence[str], draws: Draws
) -> dict[str, ResultCell]:
    """Add tests to the cells of the other systems, corrected over the column for each kind of test."""
    from dragoman.evaluate.significance import are_decisions, compare, holm

    decisions = are_decisions(*(scores[name] for name in (baseline, *others)))
    comparisons: dict[str, Comparison] = {
        name: compare(scores[baseline], scores[name], draws, decisions=decisions) for name in others
    }
    adjusted: dict[tuple[str, str], float] = {}
    for test in {kind for comparison in comparisons.values() for kind in comparison.tests}:
        names = [name for name in others if test in comparisons[name].tests]
        for name, p in zip(names, holm([comparisons[name].tests[test] for name in names]), strict=True):
            adjusted[name, test] = p
    return {
        name: replace(
            cells[name],
            difference=_or_none(comparison.paired.difference),
            tests=tuple(
                Test(cast(Any, test), p, adjusted[name, test])
                for test, p in comparison.tests.items()
                if not math.isnan(p)
            ),
        )
        for name, comparison in comparisons.items()
    }


def _unit(example: Example) -> str:
    """Return the unit of a bootstrap draw: the dialogue, or logs that a set cut from one dialogue."""
    return example.meta.get("opening") or example.context.dialogue or example.id


def _with_paper(cell: ResultCell, system: SystemSpec, block: str, title: str) -> ResultCell:
    paper = system.paper.get(block, {}).get(title)
    return cell if paper is None else replace(cell, paper=paper)


def _empty(experiment: Experiment, spec: DataSpec, systems: Sequence[SystemSpec]) -> Table:
    """Return the table of a missing set: the paper's figures, and holes."""
    from dragoman.evaluate.columns import Measures

    measures = Measures(experiment).unchecked(spec.name)
    rows = tuple(
        SystemRow(
            system.name,
            system.group,
            system.note,
            tuple(
                _with_paper(
                    ResultCell(cast(Status, system.missing or "no data")), system, spec.name, measure.spec.title
                )
                for measure in measures
            ),
        )
        for system in systems
    )
    columns = tuple(measure.column() for measure in measures)
    return Table(spec.name, spec.title, spec.note, 0, 0, None, columns, rows)


def _failed(measure: MeasuredColumn, block: str, system: str, words: str, remedy: str = "") -> DragomanError:
    kept = "The turns are kept: mend this and run the same command again, and only the figures are made."
    return DragomanError(
        f"The column '{measure.spec.title}' ({measure.kind}) failed for '{system}' on '{block}': {words.rstrip('.')}.",
        remedy=f"{remedy} {kept}".strip(),
        column=measure.spec.title,
        system=system,
        data=block,
    )


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number
