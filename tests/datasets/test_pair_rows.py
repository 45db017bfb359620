"""Pair rows: what is written is read again, and a file of them is a set."""

from __future__ import annotations

import json

from dragoman.core.examples import Example, Problem
from dragoman.datasets.open import open_dataset, sniff
from dragoman.datasets.pair_rows import PairRow, read_rows, write_rows
from dragoman.datasets.pairs import row_of

ROWS = [
    PairRow("houses", "Can I go?", "Tower: 112 steps.", "I use a wheelchair.", answers=1, bears=1, verdict="no"),
    PairRow("ikat", "What should I eat?", "I'm vegan.", needs=1),
    PairRow("nli", "A dog runs.", "An animal moves.", entails="entailed"),
]


def test_rows_are_read_as_they_were_written(tmp_path):
    for name in ("rows.jsonl", "rows.jsonl.gz"):
        assert write_rows(ROWS, tmp_path / name) == 3
        assert list(read_rows(tmp_path / name)) == ROWS


def test_the_same_rows_give_the_same_bytes(tmp_path):
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        write_rows(ROWS, tmp_path / name)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_a_file_of_rows_is_known_as_a_set(tmp_path):
    file = tmp_path / "rows.jsonl"
    write_rows(ROWS, file)
    assert sniff(file) == "pairs"
    found = list(open_dataset("pairs", file).examples())
    assert [row_of(example.meta) for example in found if isinstance(example, Example)] == ROWS


def test_a_line_that_is_no_row_is_told(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"set": "x", "question": "q", "text": "t", "colour": 1}) + "\n")
    [problem] = open_dataset("pairs", file).examples()
    assert isinstance(problem, Problem)
    assert problem.row == 1


def test_a_teachers_chances_go_there_and_back(tmp_path):
    row = PairRow("exercises", "Am I free?", "Under six: free.", "I am five.", chances=(0.9, 0.05, 0.05, 0.0))
    write_rows([row], tmp_path / "rows.jsonl")
    (read,) = read_rows(tmp_path / "rows.jsonl")
    assert tuple(read.chances) == row.chances
