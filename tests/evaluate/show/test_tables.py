"""How a result is shown: figures, papers' figures, holes, marks, and every format."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace

import pytest
from rich.console import Console

from dragoman.core.errors import InputError
from dragoman.evaluate.results import (
    Column,
    Result,
    ResultCell,
    SystemRow,
    Table,
    Test,
    best,
    figure_text,
    legend,
    paper_text,
    printed,
)
from dragoman.evaluate.show.tables import (
    csv_text,
    markdown,
    plain,
    result_json,
    result_of,
    terminal,
)

HIT = Column("Hit@1", "metric.hit.v1", "up", (0.0, 1.0), "cited", True, 100.0, 1)
COST = Column("cost", "metric.cost.v1", "down", (0.0, math.inf), "cited", True, 1.0, 2)
STARS = (Test("paired bootstrap", 0.001, 0.002), Test("mcnemar", 0.02, 0.04))
ROWS = (
    SystemRow(
        "base", "ours", "",
        (ResultCell("measured", 0.48, 100, 0.01, 0.46, 0.51, paper=36.8), ResultCell("measured", 2.0, 100)),
    ),
    SystemRow(
        "better", "ours", "a note",
        (ResultCell("measured", 0.6, 100, 0.01, 0.58, 0.62, 0.12, STARS), ResultCell("not available")),
    ),
    SystemRow("the|ir_s", "theirs", "", (ResultCell("not built", paper=99.0), ResultCell("no turns"))),
)  # fmt: skip
TABLE = Table("set", "The set", "", 100, 20, "base", (HIT, COST), ROWS, ("set.jsonl:3: odd",), 1)
RESULT = Result(
    "run", "Title", "About.", {"experiment": {"draws": 500, "paper": "A paper", "table": "5"}, "limit": 100}, (TABLE,)
)


def shown(width, result=RESULT):
    console = Console(width=width, file=io.StringIO(), markup=False, highlight=False)
    for part in terminal(result, width):
        console.print(part)
    return console.file.getvalue()


def test_a_figure_has_its_uncertainty_and_the_papers_stands_beside_it():
    assert figure_text(ROWS[0].cells[0], HIT) == "48.0 ±2.5"
    assert paper_text(ROWS[0].cells[0], HIT) == "paper 36.8"
    assert paper_text(replace(ROWS[0].cells[0], paper=36.81), HIT) == "paper 36.81"
    assert paper_text(replace(ROWS[0].cells[0], paper=36.0), HIT) == "paper 36.0"


def test_a_mark_needs_every_test():
    assert figure_text(ROWS[1].cells[0], HIT) == "60.0 ±2.0*"
    unsure = replace(ROWS[1].cells[0], tests=(*STARS, Test("wilcoxon", 0.2, 0.4)))
    assert figure_text(unsure, HIT) == "60.0 ±2.0"
    sure = replace(ROWS[1].cells[0], tests=STARS[:1])
    assert figure_text(sure, HIT) == "60.0 ±2.0**"


def test_zero_has_no_sign():
    assert printed(-1e-9, HIT) == "0.0"


def test_holes_say_why():
    assert [figure_text(cell, HIT) for cell in ROWS[2].cells] == ["not built", "no turns"]
    told = " ".join(legend(RESULT, TABLE))
    assert "not built: the paper's own system" in told
    assert "no data" not in told


def test_the_best_is_by_direction_and_needs_two():
    assert best(TABLE, 0) == 0.6
    assert best(TABLE, 1) is None
    cheap = replace(ROWS[1], cells=(ROWS[1].cells[0], ResultCell("measured", 1.0, 9)))
    assert best(replace(TABLE, rows=(ROWS[0], cheap)), 1) == 1.0


def test_a_wide_terminal_shows_one_line_a_system():
    text = shown(120)
    assert "48.0 ±2.5 (paper 36.8)" in text
    assert "not built (paper 99.0)" in text
    assert "n=100" in text
    assert "base (baseline)" in text
    assert "20 dialogues, 1 rows of the file left out" in text
    assert "set.jsonl:3: odd" in text


@pytest.mark.parametrize("width", [30, 40, 60, 80])
def test_a_narrow_terminal_loses_no_figure(width):
    text = shown(width)
    assert max(len(line) for line in text.splitlines()) <= width
    for figure in ("48.0 ±2.5", "paper 36.8", "60.0 ±2.0*", "not built", "2.00", "not available"):
        assert figure in text


@pytest.mark.parametrize("width", range(40, 140, 3))
def test_names_and_groups_stand_whole_beside_their_figures_at_any_width(width):
    row = SystemRow("bm25", "retrievers", "", tuple(ResultCell("measured", 0.5, 100, 0.1, 0.3, 0.6) for _ in range(7)))
    columns = tuple(replace(HIT, title=f"Hit@1 of {name}") for name in ("A", "BB", "CCC", "D", "EE", "FFF", "G"))
    text = shown(width, replace(RESULT, tables=(replace(TABLE, columns=columns, rows=(row,), baseline=None),)))
    figures = [line for line in text.splitlines() if "50.0 ±15.0" in line]
    assert sum(line.count("50.0 ±15.0") for line in figures) == 7
    assert all(line.lstrip().startswith("bm25 ") for line in figures)
    assert sum(line.strip() == "retrievers" for line in text.splitlines()) == len(figures)


def test_the_legend_tells_interval_tests_correction_and_paper():
    told = " ".join(legend(RESULT, TABLE))
    for part in (
        "95 %",
        "dialogues",
        "500 draws",
        "Holm",
        "paired bootstrap, mcnemar",
        "'base'",
        "A paper, Table 5",
        "--limit",
    ):
        assert part in told


def test_markdown_is_a_table_with_the_best_in_bold_and_names_escaped():
    text = markdown(RESULT)
    assert "| **60.0** ±2.0\\* |" in text
    assert "the\\|ir\\_s" in text
    widths = {line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {4}


def test_csv_has_a_line_a_cell_in_full_precision():
    lines = list(csv.DictReader(io.StringIO(csv_text(RESULT))))
    assert len(lines) == 6
    assert lines[0]["value"] == "0.48"
    assert lines[2]["Holm p mcnemar"] == "0.04"
    assert lines[4]["status"] == "not built"
    assert lines[4]["paper (printed units)"] == "99.0"


def test_json_goes_both_ways_and_is_json():
    text = result_json(RESULT)
    assert result_of(text) == RESULT
    assert "Infinity" not in text
    json.loads(text, parse_constant=pytest.fail)


def test_what_is_no_result_is_refused():
    for text in ("{", "[]", '{"tables": 3}', '{"tables": [], "title": "x"}'):
        with pytest.raises(InputError):
            result_of(text, "some file")


def test_plain_json_has_no_nan():
    assert plain({"a": [1.0, math.nan, {"b": math.inf}]}) == {"a": [1.0, None, {"b": None}]}


def test_notebooks_show_each_figure_with_its_mark_once_and_the_legend():
    page = RESULT._repr_html_()
    assert "60.0 ±2.0*<" in page and "60.0 ±2.0* *" not in page
    assert "after Holm&#x27;s correction" in page and '<td style="text-align:left">the|ir_s</td>' in page
