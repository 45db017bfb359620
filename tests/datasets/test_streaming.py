"""One big JSON value is read record by record, and what is wrong with it is said in place."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.core.errors import InputError, MissingExtraError
from dragoman.core.examples import Problem
from dragoman.datasets.streaming import json_records

SCALARS = (
    st.none() | st.booleans() | st.integers(1 - 2**63, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=6,
)
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def records(path, *where):
    return list(json_records(path, *(where or (int,)), holds="a list of things"))


@SAME_FOLDER
@given(st.lists(VALUES, max_size=6), st.sampled_from([None, 1]))
def test_a_list_gives_what_json_gives(write, members, indent):
    text = json.dumps(members, indent=indent)
    assert [row.record for row in records(write(text))] == json.loads(text)


@SAME_FOLDER
@given(st.lists(st.dictionaries(st.text("ab", min_size=1), SCALARS, max_size=3), min_size=1, max_size=5), st.data())
def test_what_stands_before_a_cut_is_given_and_then_the_cut(write, members, draw):
    text = json.dumps(members)
    cut = draw.draw(st.integers(1, len(text) - 1))
    *rows, last = records(write(text[:cut]))
    assert [row.record for row in rows] == json.loads(text)[: len(rows)]
    assert isinstance(last, Problem)
    assert (last.severity, last.row) == ("error", len(rows) + 1)


@SAME_FOLDER
@given(st.binary(max_size=60))
def test_any_bytes_end_in_records_problems_or_an_input_error(write, content):
    try:
        found = records(write(content))
    except InputError:
        return
    assert all(isinstance(one, Problem) for one in found[-1:]) or json.loads(content.decode("utf-8-sig")) is not None


@SAME_FOLDER
@given(st.dictionaries(st.text("xyz"), VALUES, max_size=4), st.lists(VALUES, max_size=4))
def test_a_named_list_is_found_among_other_entries(write, others, members):
    text = json.dumps({**others, "data": members, "zz": others})
    expected = json.loads(text)["data"]
    assert [row.record for row in records(write(text), "data", int)] == expected


def test_entries_of_entries_come_with_their_keys(write):
    path = write({"a": {"1": [2], "": 3}, "b": {}, "c": {"4": {}}})
    assert [(row.keys, row.record) for row in records(path, str, str)] == [
        (("a", "1"), [2]),
        (("a", ""), 3),
        (("c", "4"), {}),
    ]


@pytest.mark.parametrize("content", ['{"a": [1]}', "3", '""', "null"])
def test_another_shape_is_refused_by_name(write, content):
    with pytest.raises(InputError, match=r"set\.json' does not hold a list of things"):
        records(write(content))


@pytest.mark.parametrize("content", ['{"dat": [1]}', '{"data": {"a": 1}}', '{"data": 3}', "[1]"])
def test_an_object_without_the_named_list_is_refused(write, content):
    with pytest.raises(InputError, match="does not hold"):
        records(write(content), "data", int)


@pytest.mark.parametrize(
    ("content", "said", "row"),
    [
        (b'[{"a": 1}, nope]', "not JSON", 2),
        (b'[{"a": 1}] x', "not JSON: trailing garbage", 2),
        (b'[{"a": 1}, {"a": "\xff"}]', "not UTF-8", 2),
        (b'[{"a": 1}, {"a": 2}, {"a"', "breaks off", 3),
        (b"hello", "not JSON", 1),
        (b"[1, " + b"9" * 5000 + b"]", "not JSON: integer overflow", 2),
        (b"[[" + b"[" * 100_000, "nests deeper", 1),
        (b'[1, {"a": ' + b'{"a": ' * 100_000, "nests deeper", 2),
    ],
)
def test_a_fault_is_a_problem_with_its_record(write, content, said, row):
    problem = records(write(content))[-1]
    assert isinstance(problem, Problem)
    assert said in problem.what
    assert problem.row == row
    assert problem.file.endswith("set.json")


def test_a_byte_order_mark_is_passed_over(write):
    assert [row.record for row in records(write(b"\xef\xbb\xbf[1]"))] == [1]


def test_without_ijson_the_remedy_is_named(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "ijson", None)
    with pytest.raises(MissingExtraError, match=r"pip install dragoman\[eval\]"):
        records(write("[]"))


MEASURE = """
import resource, sys
from pathlib import Path
from dragoman.core.examples import Example
from dragoman.core.registry import datasets
kind, path = sys.argv[1:]
for _ in datasets.factory(kind)(file=Path(path + ".small")).examples(): pass
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(isinstance(found, Example) for found in datasets.factory(kind)(file=Path(path)).examples())
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["kbp", "dulemon"])
def test_a_large_file_does_not_fill_memory(tmp_path, data, kind):
    """120 MB may cost 20 MB: what one record and the parser's buffers need, and room for the allocator."""
    source = data / ("kbp.json" if kind == "kbp" else "dulemon.jsonl")
    if kind == "kbp":
        record = json.loads(source.read_text(encoding="utf-8"))[0]
        turns = 3
    else:
        record = json.loads(source.read_text(encoding="utf-8").splitlines()[0])
        turns = 4
    record["padding"] = "多" * 10_000  # a field that is not read, so that the parser's share is what is measured
    line = json.dumps(record, ensure_ascii=False)
    copies = 120_000_000 // len(line.encode())
    head, between, tail = ("[", ",\n", "]") if kind == "kbp" else ("", "\n", "\n")
    path = tmp_path / "large.json"
    (tmp_path / "large.json.small").write_text(head + line + tail, encoding="utf-8")
    with path.open("w", encoding="utf-8") as out:
        out.write(head + line)
        for _ in range(copies - 1):
            out.write(between + line)
        out.write(tail)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, kind, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    count, grown = map(int, done.stdout.split())
    assert count == copies * turns
    assert grown * (1024 if sys.platform != "darwin" else 1) < 20_000_000
