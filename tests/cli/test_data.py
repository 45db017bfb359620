"""`dragoman data` as its user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dragoman.cli.data import app
from dragoman.core.errors import ConfigError, InputError

CONTEXT = [{"speaker": "user", "text": "Do you have a hobby?"}]
CANDIDATES = [
    {"id": "p1", "source": "PERSONA", "text": "I keep bees."},
    {"id": "p2", "source": "PERSONA", "text": "I live [b]by the sea[/b]."},
]


def row(number, **changes):
    made = {
        "dialogue": f"d{number}",
        "context": CONTEXT,
        "candidates": CANDIDATES,
        "retrieve": number % 4 > 0,
        "plan": ["PERSONA"] if number % 4 else [],
        "evidence": ["p1"] if number % 4 else [],
        "reply": f"I keep {number} bees.",
    }
    return made | changes


@pytest.fixture
def own(tmp_path):
    def write(*rows, name="own.jsonl"):
        path = tmp_path / name
        texts = [line if isinstance(line, str) else json.dumps(line) for line in rows]
        path.write_text("\n".join(texts) + "\n", encoding="utf-8")
        return str(path)

    return write


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("DRAGOMAN_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "160")


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=True)


def cells(output):
    """The words of each line of a table."""
    return [" ".join(line.split()) for line in output.splitlines()]


def test_check_counts_and_shows_the_balance(own):
    result = run("check", own(*(row(number) for number in range(8))))
    assert result.exit_code == 0
    shown = cells(result.output)
    assert "dialogues 8" in shown
    assert "candidates per turn 2 to 2, median 2" in shown
    assert any(line.startswith("retrieve true 6 75.0 %") for line in shown)
    assert any(line.startswith("NULL 2 25.0 %") for line in shown)


def test_check_says_what_to_do_next(own):
    path = own(row(1))
    assert f"Next: dragoman evaluate --data {path}" in run("check", path).output


def test_check_says_how_a_set_whose_kind_was_given_comes_to_be_measured(own):
    path = own(row(1))
    written = f"{Path(path).stem}.turns.jsonl"
    said = run("check", path, "--kind", "jsonl").output
    assert f"Next: dragoman data convert {path} {written} --kind jsonl" in said
    assert f"dragoman evaluate --data {written}" in said


def test_check_names_each_error_with_its_line_and_leaves_with_1(own):
    path = own(row(1), "{", row(2, evidence=["p9"]), row(3))
    result = run("check", path)
    assert result.exit_code == 1
    assert f"Error: {path}:2: this is not whole, valid JSON" in result.stderr
    assert f"Error: {path}:3: the evidence 'p9' is not among the candidates" in result.stderr
    assert "2 rows are wrong and left out." in result.stderr
    assert "turns to answer 2" in cells(result.stdout)


def test_check_shows_as_many_problems_as_asked_for_errors_first(own):
    path = own(row(1, retrieve=False), "{", "{", "{")
    result = run("check", path, "--errors", "2")
    assert result.stderr.count(f"{path}:") == 2
    assert "Warning" not in result.stderr
    assert "... and 2 more: --errors 4" in result.stderr


def test_a_warning_is_no_failure(own):
    result = run("check", own(row(1, retrieve=False)))
    assert result.exit_code == 0
    assert "Warning:" in result.stderr


def test_check_writes_json(own, tmp_path):
    path = own(row(1), "{")
    result = run("check", path, "--json", str(tmp_path / "out.json"))
    report = json.loads((tmp_path / "out.json").read_text())
    assert result.exit_code == 1
    assert (report["turns"], report["errors"], report["problems"][0]["row"]) == (1, 1, 2)


def test_check_of_a_header_alone_is_an_error(own):
    assert isinstance(run("check", own({"dataset": {"name": "x"}})).exception, InputError)


def test_check_of_what_is_not_there_says_so():
    error = run("check", "nowhere.jsonl").exception
    assert isinstance(error, InputError)
    assert error.message == "There is no nowhere.jsonl."


def test_check_takes_the_shipped_set():
    result = run("check", "toy")
    assert result.exit_code == 0
    assert "Nothing is wrong." in result.output


def test_options_of_a_kind_are_given_by_name():
    assert cells(run("check", "toy", "-o", "part=dev").output) != cells(run("check", "toy").output)
    assert isinstance(run("check", "toy", "-o", "prt=dev").exception, ConfigError)
    assert isinstance(run("check", "toy", "-o", "part").exception, ConfigError)


def test_show_marks_the_gold(own):
    result = run("show", own(row(1), row(2)), "-n", "1")
    assert "user: Do you have a hobby?" in result.output
    assert "* p1: I keep bees." in result.output
    assert "  p2: I live [b]by the sea[/b]." in result.output, "a document is no markup"
    assert "right plan: PERSONA" in result.output
    assert "d2" not in result.output


def test_show_finds_a_turn_by_its_id(own):
    path = own(*(row(number) for number in range(5)))
    assert "right reply: I keep 3 bees." in run("show", path, "--id", "d3#0").output
    error = run("show", path, "--id", "none").exception
    assert isinstance(error, InputError) and "has no turn with the id 'none'" in error.message


def test_show_looks_shared_gold_up(own):
    own({"id": "x", "source": "FAQ", "text": "At nine."}, {"id": "y", "source": "FAQ", "text": "No."}, name="faq.jsonl")
    turn = row(1, candidates=[], plan=["FAQ"], evidence=["x"])
    output = run("show", own({"dataset": {"passages": "faq.jsonl"}}, turn)).output
    assert "* x: At nine." in output
    assert "No." not in output


def test_convert_writes_what_check_accepts(own, tmp_path):
    target = str(tmp_path / "new.jsonl")
    result = run("convert", own(row(1), "{", row(2)), target)
    assert result.exit_code == 0
    assert f"2 turns: {target}" in result.output
    assert "1 row is wrong and left out" in result.stderr
    assert run("check", target).exit_code == 0


def test_convert_does_not_overwrite_what_it_reads(own):
    path = own(row(1))
    assert isinstance(run("convert", path, path).exception, InputError)


def test_split_writes_the_parts(own, tmp_path):
    path = own(*(row(number) for number in range(20)))
    result = run("split", path, "--out", str(tmp_path / "cut"), "--parts", "train=0.5,test=0.5", "--seed", "3")
    assert result.exit_code == 0
    assert sorted(found.name for found in (tmp_path / "cut").iterdir()) == ["split.json", "test.jsonl", "train.jsonl"]
    assert any(line.startswith("train 10 10") for line in cells(result.output))


def test_split_says_what_was_dropped(own, tmp_path):
    chain = [[f"fact {number}", f"fact {number + 1}"] for number in range(30)]
    rows = [
        row(number, evidence=[], candidates=[{"id": text, "source": "PERSONA", "text": text} for text in texts])
        for number, texts in enumerate(chain)
    ]
    result = run("split", own(*rows), "--by", "evidence", "--out", str(tmp_path / "cut"))
    assert result.exit_code == 0
    dropped = json.loads((tmp_path / "cut" / "split.json").read_text())["dropped"]["dialogues"]
    assert dropped >= 1
    assert f"Dropped: {dropped} dialogue" in result.output


def test_split_draws_a_control(own, tmp_path):
    pairs = [[f"fact {number % 30}", f"fact {number * 7 // 9 % 30}"] for number in range(90)]
    rows = [
        row(number, evidence=[], candidates=[{"id": text, "source": "PERSONA", "text": text} for text in set(texts)])
        for number, texts in enumerate(pairs)
    ]
    result = run("split", own(*rows), "--by", "evidence", "--control", "--out", str(tmp_path / "cut"))
    assert result.exit_code == 0
    parts = json.loads((tmp_path / "cut" / "split.json").read_text())["parts"]
    assert parts["control"]["turns"] == parts["train"]["turns"]
    assert parts["control"]["held_out_seen"] > 0
    assert f"Control: {100 * parts['control']['held_out_seen']:.1f} % of the held-out evidence" in result.output


@pytest.mark.parametrize("wrong", [["--by", "folds"], ["--by", "evidence", "--parts", "train=1,control=1"], []])
def test_a_control_that_cannot_be_is_refused(own, tmp_path, wrong):
    path = own(*(row(number) for number in range(9)))
    result = run("split", path, "--control", "--out", str(tmp_path / "cut"), *wrong)
    assert isinstance(result.exception, InputError)
    assert not (tmp_path / "cut").exists()


def test_split_into_folds(own, tmp_path):
    path = own(*(row(number) for number in range(9)))
    result = run("split", path, "--by", "folds", "--folds", "3", "--out", str(tmp_path / "cut"))
    assert result.exit_code == 0
    assert (tmp_path / "cut" / "fold-3" / "test.jsonl").is_file()


@pytest.mark.parametrize(
    ("given", "unread"),
    [
        (["--folds", "10"], "by dialogue does not read --folds"),
        (["--by", "evidence", "--folds", "5"], "by evidence does not read --folds"),
        (["--by", "folds", "--parts", "train=0.8,test=0.2"], "by folds does not read --parts"),
    ],
)
def test_an_option_that_the_cut_does_not_read_is_refused(own, tmp_path, given, unread):
    result = run("split", own(*(row(number) for number in range(12))), "--out", str(tmp_path / "cut"), *given)
    assert isinstance(result.exception, ConfigError)
    assert unread in str(result.exception)
    assert not (tmp_path / "cut").exists()


def test_split_does_not_replace_what_it_reads(own, tmp_path):
    path = Path(own(*(row(number) for number in range(20)))).rename(tmp_path / "train.jsonl")
    before = path.read_bytes()
    assert isinstance(run("split", str(path), "--out", str(tmp_path)).exception, InputError)
    assert path.read_bytes() == before


@pytest.mark.parametrize("parts", ["train", "train=x", "train=1,train=2"])
def test_parts_that_cannot_be_read_are_refused(own, tmp_path, parts):
    result = run("split", own(row(1)), "--out", str(tmp_path / "cut"), "--parts", parts)
    assert isinstance(result.exception, ConfigError)


def test_list_shows_kinds_and_what_is_found(own, tmp_path, monkeypatch):
    assert "Set DRAGOMAN_DATA" in run("list").output
    own(row(1))
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path))
    shown = cells(run("list").output)
    assert "jsonl own.jsonl" in shown
    assert any(line.startswith("kbp file, spaces=remove") for line in shown)


def test_list_refuses_a_data_folder_that_is_none(monkeypatch, tmp_path):
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path / "none"))
    assert isinstance(run("list").exception, InputError)


@pytest.mark.parametrize("command", ["list", "check", "show", "convert", "split"])
def test_every_command_has_help(command):
    assert run(command, "--help").exit_code == 0
