"""Every experiment file runs: on the toy sets, on the data here where there is any, and its slow rows on a few turns.

What is asserted is that no cell is silently empty: a row that can run has figures within the bounds of their metrics,
and a row or column that cannot says why. All files share one home, so that a text is encoded once.
"""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.evaluate.api import run_experiment
from dragoman.evaluate.results import Column, Result, ResultCell, SystemRow, Table
from dragoman.evaluate.show.figures import KINDS
from dragoman.evaluate.spec import Experiment, SystemSpec, load_experiment
from dragoman.evaluate.systems.trained_parts import TrainedParts

pytestmark = [pytest.mark.slow, pytest.mark.integration]

FOLDER = Path(__file__).parents[2] / "experiments"
NAMES = sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem != "data")
LIMIT, FEW = 50, 2
DRAWS = 100  # the least there may be: intervals are not what is tested here

UNDEFINED = {"plan-f1", "null-rank", "zero-accuracy", "least"}
"""Metrics that may have nothing to say of a system: a decision that neither it nor the labels take, scores or
probabilities that it does not report."""
OF_SOME_TURNS = {"plan-f1", "hit", "gate-auc", "gate-ap"}
"""Metrics that speak of certain turns, which the first few of a set may not have."""


@pytest.fixture(scope="module")
def shared_home(weights_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for all files, with the weights: vectors of a text are kept there between runs."""
    place = tmp_path_factory.mktemp("experiments")
    (place / "models").symlink_to(weights_home / "models", target_is_directory=True)
    return place


@pytest.fixture(autouse=True)
def in_shared_home(own_home: Path, shared_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_HOME", str(shared_home))


def read(name: str) -> Experiment:
    return load_experiment(FOLDER / f"{name}.toml").model_copy(update={"draws": DRAWS})


def as_it_runs(spec: Experiment) -> Experiment:
    """What a file says of its rows and columns, and of their trained parts whether these are here."""
    return TrainedParts(spec).filled(spec.quick())


def toys(spec: Experiment) -> list[str]:
    return [block.name for block in spec.data if block.kind == "toy"]


def slow_rows(spec: Experiment) -> list[SystemSpec]:
    return [system for system in spec.systems_of("toy") if system.slow]


def slow_once() -> list[str]:
    """Files with slow rows; of those that have the very same rows (UniMS-RAG's and SAFARI's tables), the first."""
    files = {repr(slow_rows(read(name))): name for name in reversed(NAMES)}
    return sorted(name for rows, name in files.items() if rows != "[]")


@pytest.mark.parametrize("name", NAMES)
def test_every_file_runs_on_the_toy_sets(name: str, tmp_path: Path) -> None:
    spec = read(name)
    result = run_experiment(spec, tmp_path, data=dict.fromkeys(toys(spec)), limit=LIMIT)
    assert [table.data for table in result.tables] == toys(spec)
    check(as_it_runs(spec), result, tmp_path, limit=LIMIT)


@pytest.mark.skipif("DRAGOMAN_DATA" not in os.environ, reason="DRAGOMAN_DATA is not set")
@pytest.mark.parametrize("name", NAMES)
def test_every_file_runs_on_the_data_here(name: str, tmp_path: Path) -> None:
    spec = mentioned_only(read(name))
    result = run_experiment(spec, tmp_path, limit=LIMIT)
    assert [table.data for table in result.tables] == [block.name for block in spec.data if not block.asked]
    assert any(table.turns for table in result.tables)
    check(as_it_runs(spec), result, tmp_path, limit=LIMIT)


@pytest.mark.parametrize("name", slow_once())
def test_slow_rows_run_on_the_toy_set(name: str, tmp_path: Path) -> None:
    spec = read(name)
    spec = TrainedParts(spec).filled(spec)
    rows = [system.name for system in slow_rows(spec) if system.runs]
    if not rows:
        pytest.skip("the parts of the slow rows are not trained here")
    result = run_experiment(spec, tmp_path, data={"toy": None}, systems=rows, slow=True, limit=FEW)
    [whole] = result.tables
    untrained = {system.name for system in spec.systems if not system.runs}
    table = replace(whole, rows=tuple(row for row in whole.rows if row.system not in untrained))
    assert [row.system for row in table.rows] == rows
    missing = {column.title for column in spec.columns if column.missing or column.metric in OF_SOME_TURNS}
    for index, column in enumerate(table.columns):
        assert column.title in missing or any(row.cells[index].status == "measured" for row in table.rows), column.title
    for row in table.rows:
        assert any(cell.status == "measured" for cell in row.cells), row.system
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell.status == "measured":
                assert_sound(column, cell, f"{row.system}: {column.title}")


def mentioned_only(spec: Experiment) -> Experiment:
    """The whole corpus of DSTC11 takes minutes to encode: here only what is said about the entities of a dialogue."""
    blocks = tuple(
        block.model_copy(update={"pool": "mentioned"}) if block.options.get("pool") == "corpus" else block
        for block in spec.data
    )
    return spec.model_copy(update={"data": blocks})


def check(spec: Experiment, result: Result, folder: Path, *, limit: int) -> None:
    for table in result.tables:
        assert [column.title for column in table.columns] == [one.title for one in spec.columns_of(table.data)]
        assert [row.system for row in table.rows] == [one.name for one in spec.systems_of(table.data)]
        if table.turns:
            assert table.turns == limit, table.data
            check_measured(spec, table)
        else:
            check_absent(spec, table)
    check_figures(spec, result)
    for kind in ("results.json", "results.md", "results.csv", "report.html"):
        assert (folder / kind).stat().st_size > 0, kind


def check_absent(spec: Experiment, table: Table) -> None:
    """Of a set that is not here every cell says so, unless its row would not have run anyway; none has a figure."""
    for system, row in rows_of(spec, table):
        for column, cell in zip(table.columns, row.cells, strict=True):
            where = f"{table.data}: {row.system}: {column.title}"
            assert cell.status == (system.missing or ("not run" if system.slow else "no data")), where
            assert cell.value is None, where
            assert cell.paper == system.paper.get(table.data, {}).get(column.title), where


def check_measured(spec: Experiment, table: Table) -> None:
    missing = {column.title: column.missing for column in spec.columns}
    optional = {column.title for column in spec.columns if column.metric in UNDEFINED}
    for system, row in rows_of(spec, table):
        for column, cell in zip(table.columns, row.cells, strict=True):
            where = f"{table.data}: {row.system}: {column.title}"
            reason = system.missing or ("not run" if system.slow else None) or missing[column.title]
            if reason is not None:
                assert cell.status == reason, where
                assert cell.value is None, where
            elif cell.status != "measured":
                assert column.title in optional, f"{where} is {cell.status}"
            else:
                assert_sound(column, cell, where)
            printed = system.paper.get(table.data, {}).get(column.title)
            assert cell.paper == printed, where
    for index, column in enumerate(table.columns):
        if missing[column.title] is None and column.title not in optional:
            assert any(row.cells[index].status == "measured" for row in table.rows), f"{table.data}: {column.title}"


def assert_sound(column: Column, cell: ResultCell, where: str) -> None:
    low, high = column.bounds
    assert cell.value is not None, where
    assert low <= cell.value <= high, where
    assert cell.n > 0, where
    for edge in (cell.low, cell.high):
        assert edge is None or low <= edge <= high, where


def check_figures(spec: Experiment, result: Result) -> None:
    """Every figure of the file is drawn for every set that it speaks of and that was measured.

    One whose rows all wait for a part that is not trained has nothing to show.
    """
    drawn = {(figure.title, figure.data) for figure in result.figures}
    measured = [table.data for table in result.tables if table.turns]
    waiting = {system.name for system in spec.systems if not system.runs}
    for figure in spec.figures:
        assert figure.kind in KINDS
        if figure.options.get("systems") and set(figure.options["systems"]) <= waiting:
            continue
        expected = [(figure.title, name) for name in measured if figure.data is None or name in figure.data]
        assert set(expected) <= drawn, figure.title


def rows_of(spec: Experiment, table: Table) -> Iterable[tuple[SystemSpec, SystemRow]]:
    return zip(spec.systems_of(table.data), table.rows, strict=True)
