from __future__ import annotations

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InputError, UnknownNameError
from dragoman.core.examples import Example, Gold
from dragoman.core.trace import Reply, Trace
from dragoman.core.values import NULL_PLAN, Context, Passage, Source, Turn, Verdict
from dragoman.evaluate.judging.answers import SheetItem, markdown, read_key, read_sheet, read_sheets, to_json, verdicts
from dragoman.evaluate.judging.sheets import (
    COLUMNS,
    Grounding,
    JudgeRow,
    export,
    gather,
    rows,
    sheet,
    shielded,
    unshielded,
)
from dragoman.evaluate.results import Outcome, Result, SystemRow, Table
from dragoman.evaluate.running.kept_turns import write_turns
from dragoman.evaluate.running.run_folder import RunFolder
from dragoman.evaluate.show.tables import result_json

PERSONA = Grounding("persona", "I have a dog.", "persona")
KNOWLEDGE = Grounding("knowledge", "Dogs eat meat.", "documents")


def row(system="alpha", example="t1", grounding=(PERSONA, KNOWLEDGE), reply="Woof."):
    return JudgeRow(system, example, (Turn("user", "Hello?"),), tuple(grounding), reply)


def made_run(path, systems, *, blocks=("toy",), turns=2):
    """The folder of a run that came to its end, as the runner writes it."""
    sources = (Source("persona", about="bot", private=True), Source("documents"))
    candidates = (Passage("p", "persona", "I have a dog."), Passage("d", "documents", "Dogs eat meat."))
    examples = [
        Example(f"t{n}", Context.of("Hello?"), sources, candidates, Gold(evidence=("p", "d"))) for n in range(turns)
    ]
    tables = []
    with RunFolder(path) as folder:
        for block in blocks:
            write_turns(path, block, examples)
            for system in systems:
                replies = [Reply(f"Woof {n}.", Verdict(False, 0.0), NULL_PLAN, (), Trace()) for n in range(turns)]
                folder.append(block, system, [Outcome(e.id, r) for e, r in zip(examples, replies, strict=True)])
            rows = tuple(SystemRow(system, "", "", ()) for system in (*systems, "not built"))
            tables.append(Table(block, block, "", turns, 1, None, (), rows))
        folder.write("results.json", result_json(Result("x", "x", "", {}, tuple(tables))))
    return path


def both(count):
    return [row(s, f"t{n}", reply=f"{s[0]}{n}") for s in ("alpha", "beta") for n in range(count)]


def cells_of(file):
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig"))))


def fill(file, answer, **cells):
    """Write answers into a sheet as an annotator would; `answer` says the coherence by id."""
    written = cells_of(file)
    with file.open("w", encoding="utf-8-sig", newline="") as opened:
        writer = csv.DictWriter(opened, COLUMNS)
        writer.writeheader()
        for one in written:
            told = {q: one[q] if one[q] == "-" else "1" for q in ("persona", "knowledge")}
            writer.writerow({**one, "coherence": answer(one["id"]), **told, **cells})


def test_systems_are_judged_on_the_same_turns_under_ids_that_tell_nothing(tmp_path):
    sheets = export(both(20), tmp_path / "sheet.csv", n=5)
    assert (sheets.turns, sheets.available, sheets.systems) == (5, 20, ("alpha", "beta"))
    key = read_key(sheets.key)
    turns = {system: {item.example for item in key.values() if item.system == system} for system in sheets.systems}
    assert turns["alpha"] == turns["beta"]
    for file in sheets.files:
        text = file.read_text(encoding="utf-8-sig")
        assert "alpha" not in text
        assert "beta" not in text
        assert {one["id"] for one in cells_of(file)} == set(key)


def test_every_annotator_gets_an_order_of_their_own_and_a_seed_repeats_it(tmp_path):
    first = export(both(20), tmp_path / "a.csv", n=10, seed=3)
    again = export(both(20), tmp_path / "b.csv", n=10, seed=3)
    other = export(both(20), tmp_path / "c.csv", n=10, seed=4)
    orders = [[one["id"] for one in cells_of(file)] for file in first.files]
    assert len(orders) == 3
    assert len({tuple(order) for order in orders}) == 3
    assert orders == [[one["id"] for one in cells_of(file)] for file in again.files]
    assert [one["id"] for one in cells_of(other.files[0])] != orders[0]


def test_a_sheet_opens_in_spreadsheets_and_shows_what_is_to_be_judged(tmp_path):
    file = export([row(reply="汪汪，\n你好")], tmp_path / "s.csv", annotators=1).files[0]
    assert file.name == "s.csv"
    assert file.read_bytes().startswith(b"\xef\xbb\xbf")
    shown = cells_of(file)[0]
    assert shown["context"] == "user: Hello?"
    assert shown["persona grounding"] == "I have a dog."
    assert shown["reply"] == "汪汪，\n你好"
    assert (shown["coherence"], shown["persona"], shown["knowledge"]) == ("", "", "")


def test_only_turns_with_gold_evidence_are_taken_unless_all_are_wanted(tmp_path):
    judged = [row(example="bare", grounding=()), row(example="full", grounding=(PERSONA,))]
    taken = export(judged, tmp_path / "a.csv")
    assert [item.example for item in read_key(taken.key).values()] == ["full"]
    assert cells_of(taken.files[0])[0]["knowledge"] == "-"
    assert export(judged, tmp_path / "b.csv", grounded=False).turns == 2


def test_answers_that_stand_in_a_sheet_are_never_overwritten(tmp_path):
    export(both(3), tmp_path / "s.csv")
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(InputError, match="exists already"):
        export(both(3), tmp_path / "s.csv")
    assert before == {file: file.read_bytes() for file in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        ([], "no replies"),
        ([row(), row()], "twice"),
        ([row("alpha", "t1"), row("beta", "t2")], "no turn in common"),
        ([row(grounding=())], "no turn with gold evidence"),
    ],
)
def test_runs_that_cannot_be_judged_are_refused(tmp_path, judged, words):
    with pytest.raises(InputError, match=words):
        export(judged, tmp_path / "s.csv")
    assert list(tmp_path.iterdir()) == []


@given(st.text(max_size=30) | st.text("=+-@'\t\r＝ a", max_size=6))
def test_no_cell_is_a_formula_and_each_can_be_had_back(text):
    assert not shielded(text).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert unshielded(shielded(text)) == text


def test_a_reply_that_is_a_formula_is_disarmed(tmp_path):
    text = sheet({"r1": row(reply='=HYPERLINK("http://evil")')})
    assert "'=HYPERLINK" in text
    assert "\n=" not in text
    assert ",=" not in text


def test_the_page_cannot_be_broken_by_a_reply(tmp_path):
    export([row(reply="</script><script>alert(1)</script>")], tmp_path / "s.csv", annotators=1)
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    told = re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1)
    assert json.loads(told)["items"][0]["reply"] == "</script><script>alert(1)</script>"
    assert "http" not in page.replace("http-equiv", "")
    assert "alpha" not in page


def test_a_whole_round_gives_means_and_agreement(tmp_path):
    sheets = export(both(4), tmp_path / "s.csv", n=4)
    key = read_key(sheets.key)
    for index, file in enumerate(sheets.files):
        fill(file, lambda code, index=index: 5 if key[code].system == "alpha" else 2 + (index == 0))
    found = read_sheets(sheets.files, sheets.key)
    assert found.annotators == ("s-1", "s-2", "s-3")
    alpha, beta = found.systems["alpha"], found.systems["beta"]
    assert (alpha["coherence"].mean, alpha["coherence"].n) == (5, 4)
    assert beta["coherence"].mean == pytest.approx(7 / 3)
    assert alpha["persona"].mean == 1
    # alpha's four agree wholly, beta's in one pair of three
    assert found.agreement["coherence"].percent == pytest.approx((4 + 4 / 3) / 8)
    assert found.agreement["coherence"].method == "Fleiss"
    assert "| alpha | 5.00 [5.00, 5.00] n=4 | 100.0" in markdown(found)
    assert "undefined" in markdown(found)
    assert to_json(found)["agreement"]["persona"]["kappa"] is None
    json.dumps(to_json(found), allow_nan=False)


def test_two_annotators_are_compared_by_cohens_kappa():
    key = {"r1": SheetItem("a", "t", frozenset(["coherence"])), "r2": SheetItem("a", "u", frozenset(["coherence"]))}
    told = {
        "one": {"r1": {"coherence": 1}, "r2": {"coherence": 5}},
        "two": {"r1": {"coherence": 1}, "r2": {"coherence": 5}},
    }
    found = verdicts(told, key)
    assert (found.agreement["coherence"].method, found.agreement["coherence"].kappa) == ("Cohen", 1.0)
    assert verdicts({"one": told["one"]}, key).agreement == {}


KEY = {
    "r1": SheetItem("a", "t1", frozenset(["coherence", "persona", "knowledge"])),
    "r2": SheetItem("a", "t2", frozenset(["coherence", "persona"])),
}


def problems_of(tmp_path, text, encoding="utf-8"):
    file = tmp_path / "s.csv"
    file.write_bytes(text.encode(encoding))
    return [str(problem).removeprefix(f"{file}:") for problem in read_sheet(file, KEY)[2]]


HEAD = "id,reply,coherence,persona,knowledge,comment\n"
GOOD = HEAD + "r1,x,3,0,1,\nr2,y,5,1,,fine\n"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("r1,x,3", "r1,x,", "2: coherence is missing"),
        ("r1,x,3", "r1,x,6", "2: coherence is '6', not a whole number from 1 to 5"),
        ("r1,x,3", "r1,x,3.5", "2: coherence is '3.5', not a whole number from 1 to 5"),
        ("r1,x,3", "r1,x,good", "2: coherence is 'good', not a whole number from 1 to 5"),
        ("r1,x,3", "r1,x,nan", "2: coherence is 'nan', not a whole number from 1 to 5"),
        ("5,1,,", "5,2,,", "3: persona is '2', not a whole number from 0 to 1"),
        ("5,1,,", "5,1,1,", "3: knowledge is '1', but this reply has no knowledge to agree with"),
        ("r2,y", "r1,y", "3: the id 'r1' stands here a second time"),
        ("r2,y", "r9,y", "3: the id 'r9' is not in the key"),
        ("r2,y", ",y", "3: the id is missing"),
    ],
)
def test_each_wrong_cell_is_named_with_its_row(tmp_path, old, new, problem):
    assert problem in problems_of(tmp_path, GOOD.replace(old, new))


def test_rows_are_counted_as_a_spreadsheet_counts_them(tmp_path):
    text = HEAD + 'r1,"two\nlines",3,0,1,\nr2,y,9,1,,\n'
    assert problems_of(tmp_path, text) == ["3: coherence is '9', not a whole number from 1 to 5"]


def test_rows_that_were_deleted_are_missed(tmp_path):
    assert problems_of(tmp_path, HEAD + "r1,x,3,0,1,\n") == ["1: 1 of 2 rows are not there: r2"]


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace(",", ";"),
        GOOD.replace(",", "\t"),
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        GOOD.replace("x", "another text").replace("3,0", "3.0,0"),
        GOOD.replace("5,1,,", "5,1,-,") + ",,,,,\n",
        "id,coherence,persona,knowledge\nr2,5,1,\nr1,3,0,1\n",
    ],
)
def test_what_spreadsheets_do_to_a_sheet_does_no_harm(tmp_path, text):
    assert problems_of(tmp_path, text) == []
    answers = read_sheet(tmp_path / "s.csv", KEY)[0]
    assert answers == {
        "r1": {"coherence": 3, "persona": 0, "knowledge": 1},
        "r2": {"coherence": 5, "persona": 1},
    }


def test_comments_come_back_as_they_were_written(tmp_path):
    (tmp_path / "s.csv").write_text(GOOD.replace("fine", "'=odd"), encoding="utf-8")
    assert read_sheet(tmp_path / "s.csv", KEY)[1] == {"r2": "=odd"}


def test_all_that_is_wrong_is_told_at_once_and_nothing_is_counted(tmp_path):
    sheets = export(both(2), tmp_path / "s.csv", annotators=2)
    fill(sheets.files[0], lambda code: 9)
    with pytest.raises(InputError, match="things are wrong") as told:
        read_sheets(sheets.files, sheets.key)
    assert str(told.value).count("coherence is '9'") == 4
    assert str(told.value).count("coherence is missing") == 4
    assert f"{sheets.files[1]}:2: coherence is missing" in str(told.value)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s.csv", b"id,coherence\nr1,3\n", "column 'persona' is missing"),
        ("s.csv", b"id,reply\n" + "汪".encode("gbk"), "not UTF-8"),
        ("s.csv", b"", "column 'id' is missing"),
    ],
)
def test_a_file_that_is_no_sheet_is_refused(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_sheet(tmp_path / name, KEY)


def test_a_file_that_is_no_key_is_refused(tmp_path):
    (tmp_path / "k.json").write_text('{"format": "other"}', encoding="utf-8")
    with pytest.raises(InputError, match="not a key"):
        read_key(tmp_path / "k.json")
    with pytest.raises(InputError, match="Cannot read"):
        read_key(tmp_path / "none.json")


def test_the_same_sheet_twice_is_no_second_annotator(tmp_path):
    sheets = export(both(2), tmp_path / "s.csv", annotators=1)
    with pytest.raises(InputError, match="given twice"):
        read_sheets([sheets.files[0], sheets.files[0]], sheets.key)


def test_a_run_gives_its_rows(tmp_path):
    found = list(rows(made_run(tmp_path / "run", ["alpha", "beta"])))
    assert [(one.system, one.example, one.reply) for one in found] == [
        ("alpha", "t0", "Woof 0."),
        ("alpha", "t1", "Woof 1."),
        ("beta", "t0", "Woof 0."),
        ("beta", "t1", "Woof 1."),
    ]
    assert found[0].context == (Turn("user", "Hello?"),)
    assert found[0].grounding == (PERSONA, KNOWLEDGE)


def test_of_several_sets_one_has_to_be_named(tmp_path):
    run = made_run(tmp_path / "run", ["alpha"], blocks=("toy", "kbp"))
    with pytest.raises(InputError, match="toy, kbp"):
        list(rows(run))
    assert len(list(rows(run, "kbp"))) == 2
    with pytest.raises(UnknownNameError, match="Did you mean 'kbp'"):
        list(rows(run, "kbq"))


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no results\.json"):
        list(rows(tmp_path))


def test_systems_of_the_same_name_are_told_apart_by_their_runs(tmp_path):
    one, two = made_run(tmp_path / "one", ["alpha", "beta"]), made_run(tmp_path / "two", ["alpha"])
    assert {row.system for row in gather([one, two, one])} == {"one: alpha", "two: alpha", "beta"}


def test_systems_that_say_nothing_are_refused_with_those_that_can_be_judged(tmp_path):
    judged = [row("alpha"), row("retrieves only", reply=" ")]
    with pytest.raises(InputError, match="replies of retrieves only: all of them are empty") as error:
        export(judged, tmp_path / "a.csv")
    assert error.value.remedy.endswith("--system alpha")
    assert not list(tmp_path.iterdir())


def test_some_systems_can_be_chosen(tmp_path):
    run = made_run(tmp_path / "run", ["alpha", "beta"])
    assert {one.system for one in gather([run], systems=["beta"])} == {"beta"}
    with pytest.raises(UnknownNameError, match="Did you mean 'beta'"):
        gather([run], systems=["betta"])


def test_a_wrong_column_is_told_by_its_first_rows(tmp_path):
    sheets = export(both(30), tmp_path / "s.csv", annotators=1)
    fill(sheets.files[0], lambda _: "7")
    with pytest.raises(InputError, match="60 things are wrong") as error:
        read_sheets(sheets.files, sheets.key)
    lines = error.value.message.splitlines()
    assert (len(lines), lines[-1]) == (22, "... and 40 more")
