"""Files that cannot be read are refused with a remedy; lines that cannot are problems in place."""

from __future__ import annotations

import pytest

from dragoman.core.errors import InputError
from dragoman.core.examples import Problem
from dragoman.datasets.reading import Record, json_lines, parsed, text_lines


class Thing(Record):
    name: str
    sizes: list[int]


def test_a_missing_file_is_named_with_the_folder_that_is_there(tmp_path):
    with pytest.raises(InputError, match=r"no file '.*nowhere/dev\.json'") as caught:
        list(text_lines(tmp_path / "nowhere" / "dev.json"))
    assert str(tmp_path) in caught.value.remedy


def test_a_folder_is_refused_and_its_files_are_offered(write):
    folder = write("x", "split/train.json").parent
    with pytest.raises(InputError, match=r"is a folder.*train\.json"):
        list(text_lines(folder))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        ("你好".encode("utf-16"), "UTF-16"),
        ("hello".encode("utf-32"), "UTF-16 or UTF-32"),
        (b"\x1f\x8b\x08\x00\x00", "binary"),
    ],
)
def test_what_is_no_text_is_refused(write, content, said):
    with pytest.raises(InputError, match=said):
        list(json_lines(write(content)))


def test_blank_lines_are_counted_but_not_given(write):
    rows = list(text_lines(write("\ufeffone\r\n\n  \ntwo")))
    assert [(row.number, row.record) for row in rows] == [(1, "one"), (4, "two")]


def test_a_line_of_another_encoding_is_a_problem_and_the_next_one_is_read(write):
    path = write(b'{"a": 1}\n{"a": "caf\xe9"}\n{"a": 3}\n')
    first, problem, last = json_lines(path)
    assert (first.record, last.record) == ({"a": 1}, {"a": 3})
    assert isinstance(problem, Problem)
    assert (problem.row, problem.what) == (2, "not UTF-8: byte 0xe9 at 10")


@pytest.mark.parametrize("line", ['{"a": ', '{"a": "b', "nope", "[" * 100_000, "1" * 5000])
def test_a_line_that_is_no_json_is_a_problem(write, line):
    first, problem = json_lines(write('{"a": 1}\n' + line))
    assert first.record == {"a": 1}
    assert isinstance(problem, Problem)
    assert problem.row == 2
    assert "not JSON" in problem.what
    assert "at at" not in problem.what


def test_one_json_list_is_not_taken_for_json_lines(write):
    with pytest.raises(InputError, match="one JSON list"):
        list(json_lines(write('[{"a": 1}]')))


def test_a_line_without_end_is_refused_before_it_fills_memory(write, monkeypatch):
    monkeypatch.setattr("dragoman.datasets.reading._LONGEST_LINE", 100)
    with pytest.raises(InputError, match="Line 2 of"):
        list(text_lines(write("short\n" + "x" * 101)))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ('{"name": "x"}', "sizes: Field required"),
        ('{"name": 5, "sizes": []}', "name: Input should be a valid string, not 5"),
        ('{"name": "x", "sizes": [1, "2"]}', "sizes.1: Input should be a valid integer, not '2'"),
        ('{"name": null, "sizes": 1}', "(1 more such faults)"),
        ("3", "the record: "),
        ('{"name": "\\ud800", "sizes": []}', "half a character"),
    ],
)
def test_a_record_of_wrong_types_says_where(write, record, said):
    (problem,) = parsed(json_lines(write(record)), Thing)
    assert isinstance(problem, Problem)
    assert said in problem.what
    assert str(problem).startswith(f"{problem.file}:1: ")


def test_what_is_not_declared_is_not_read(write):
    ((row, thing),) = parsed(json_lines(write('{"name": "x", "sizes": [1], "more": {}}')), Thing)
    assert (row.number, thing.name, thing.sizes) == (1, "x", [1])
