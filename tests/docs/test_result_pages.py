"""The pages of docs/results: rows that were measured before stand beside new ones."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from dragoman.evaluate.results import Column, Result, ResultCell, SystemRow, Table
from dragoman.evaluate.spec import Experiment

FOLDER = Path(__file__).parents[2] / "docs"
SPEC = Experiment.model_validate(
    {
        "title": "Plans",
        "paper": "Paper",
        "table": "1",
        "baseline": "mine",
        "data": [{"name": "a", "kind": "toy", "title": "Set A", "note": "A note on the set."}],
        "columns": [{"title": "F1", "metric": "plan-macro-f1"}, {"title": "seconds", "metric": "seconds"}],
        "systems": [
            {"name": "theirs", "missing": "no model", "note": "Theirs.", "paper": {"a": {"F1": 0.71}}},
            {"name": "mine", "note": "A note on a row."},
            {"name": "the other", "note": "A note on a row."},
        ],
    }
)
COLUMNS = (
    Column("F1", "plan-macro-f1", "up", (0, 1), "", True, 1, 2),
    Column("seconds", "seconds", "down", (0, 1), "", False, 1, 1),
)


@pytest.fixture(scope="module")
def docs():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield {
            name: importlib.import_module(name)
            for name in ("result_tables", "result_pages", "learning_curves", "generate_results")
        }


def run(*rows, turns=10):
    made = tuple(
        SystemRow(
            name,
            group,
            "",
            tuple(ResultCell("measured" if v is not None else "no model", v, turns, paper=p) for v, p in cells),
        )
        for name, group, cells in rows
    )
    table = Table("a", "Set A", "", turns, 2, "mine", COLUMNS, made)
    return Result("one", "Plans", "", {}, (table,))


THEIRS = ("theirs", "paper", [(None, 0.71), (None, None)])
MINE = ("mine", "untrained", [(0.6, None), (0.2, None)])
OTHER = ("the other", "trained", [(0.7, None), (0.3, None)])


@pytest.fixture
def page(docs):
    page = docs["result_pages"].Page("# Paper\n\nWritten by hand.\n")
    page.add("one", docs["result_tables"].tables_of(run(THEIRS, MINE, OTHER), "one"), SPEC)
    return page


def test_page_shows_paper_baseline_and_ours(docs, page):
    text = docs["result_pages"].written(page, {"one": SPEC})
    assert text.startswith("# Paper\n\nWritten by hand.\n\n## In short\n")
    assert "|1|a|F1|0.71 (theirs)|0.60|0.70 (the other)|" in text
    assert "```sh\ndragoman evaluate one --data a --train\n```" in text
    assert "|*paper*|||\n|theirs|0.71||\n|*untrained*|||\n|mine (baseline)|0.60|**0.2**|" in text
    assert "- Need a model that we did not have: theirs." in text


def test_page_that_is_read_and_written_is_the_same(docs, page):
    text = docs["result_pages"].written(page, {"one": SPEC})
    assert docs["result_pages"].written(docs["result_pages"].read(text), {"one": SPEC}) == text


def test_row_measured_again_replaces_the_old_one_and_others_stay(docs, page):
    again = ("mine", "untrained", [(0.8, None), (0.4, None)])
    page.add("one", docs["result_tables"].tables_of(run(again), "one"), SPEC)
    text = docs["result_pages"].written(page, {"one": SPEC})
    assert "|mine (baseline)|**0.80**|0.4|" in text
    assert "|the other|0.70|**0.3**|" in text
    assert "|theirs|0.71||" in text
    assert "0.60" not in text


def test_rows_of_a_set_with_another_number_of_turns_are_dropped(docs, page):
    page.add("one", docs["result_tables"].tables_of(run(MINE, turns=12), "one"), SPEC)
    text = docs["result_pages"].written(page, {"one": SPEC})
    assert "### Set A: 12 turns" in text
    assert "the other" not in text


def test_a_row_without_figures_is_left_out(docs):
    empty = ("empty", "trained", [(None, None), (None, None)])
    (table,) = docs["result_tables"].tables_of(run(MINE, empty), "one")
    assert table.groups == {"untrained": {"mine": ["0.60", "0.2"]}}


def test_a_row_with_a_figure_in_a_column_that_is_gone_is_dropped(docs):
    tables = docs["result_tables"]
    old, new = (tables.tables_of(run(row), "one")[0] for row in (OTHER, MINE))
    assert tables.joined(old, new, ["F1"]).groups == {}
    assert list(tables.joined(old, new, ["F1", "seconds"]).groups) == ["untrained", "trained"]


def test_curves_of_a_part_trained_again_replace_the_old_ones(docs):
    page = "# Curves\n\n|part|epoch|\n|---|---:|\n|a|1|3.00|0.5|\n|b|1|2.00|0.4|\n"
    text = docs["learning_curves"].with_rows(page, ["|b|1|1.00|0.6|"])
    assert text.startswith("# Curves\n\n|part|epoch|training loss|")
    assert text.endswith("|a|1|3.00|0.5|\n|b|1|1.00|0.6|\n")


@pytest.mark.parametrize("paper", ["unims", "safari", "ragate", "pkicr"])
def test_committed_page_is_what_the_generator_writes(docs, paper):
    text = (FOLDER / "results" / f"{paper}.md").read_text(encoding="utf-8")
    specs = {name: spec for name, spec in docs["generate_results"].specs().items() if name.startswith(f"{paper}-")}
    assert docs["result_pages"].written(docs["result_pages"].read(text), specs) == text
