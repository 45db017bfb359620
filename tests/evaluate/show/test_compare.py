"""Two systems turn by turn, and several runs in one table."""

from __future__ import annotations

import pytest

from dragoman.core.errors import InputError, UnknownNameError
from dragoman.evaluate.api import run_experiment
from dragoman.evaluate.running.kept_turns import read_turns
from dragoman.evaluate.running.run_record import load_run
from dragoman.evaluate.show.compare import compare_runs, scores_text
from dragoman.evaluate.show.join import join
from dragoman.evaluate.spec import load_experiment


@pytest.fixture
def ran(ferry_file, tmp_path):
    def run(name, *overrides, **options):
        run_experiment(load_experiment(ferry_file, overrides), tmp_path / name, name=name, **options)
        return str(tmp_path / name)

    return run


def test_a_run_does_not_differ_from_itself(ran):
    one, other = ran("one"), ran("other")
    found = list(compare_runs(one, other))
    assert [(compared.before, compared.after) for compared in found] == [("bm25", "bm25"), ("never", "never")]
    assert all(compared.unchanged == compared.turns == 12 and compared.same_data for compared in found)
    assert all(count.better == count.worse == 0 and count.p is None for one in found for count in one.counts)


def test_changes_are_counted_by_kind_and_by_measure(ran):
    run = ran("one")
    (compared,) = compare_runs(f"{run}:never", f"{run}:bm25", limit=3)
    assert compared.changed == {"gate": 12, "plan": 12, "evidence": 6}  # thanks share no word with a passage
    counts = {count.column.title: (count.better, count.worse, count.same) for count in compared.counts}
    assert counts["Hit@1"] == (6, 0, 0)
    assert counts["gate F1"] == (6, 6, 0)  # right on questions, wrong on thanks
    chances = {count.column.title: count.p for count in compared.counts}
    assert chances["Hit@1"] < 0.05 < chances["gate F1"]
    assert len(compared.biggest) == 3
    first = compared.biggest[0]
    assert first.turn.context[-1].text == "What does the ferry of Ellisund cost?"
    assert first.turn.gold.evidence == ("p0",)
    assert "Hit@1 0.0 > 100.0" in scores_text(first, [count.column for count in compared.counts])


def test_the_reverse_is_worse(ran):
    run = ran("one")
    (compared,) = compare_runs(f"{run}:bm25", f"{run}:never")
    counts = {count.column.title: count for count in compared.counts}
    assert (counts["Hit@1"].better, counts["Hit@1"].worse) == (0, 6)


def test_runs_of_other_data_are_compared_on_what_both_have_and_say_so(ran):
    (compared, _) = compare_runs(ran("one"), ran("few", limit=4))
    assert compared.turns == 4
    assert not compared.same_data


def test_a_system_with_a_colon_in_its_name_can_be_named(ran):
    run = ran("one: first", "systems.never.name=top 3: never")
    (compared,) = compare_runs(f"{run}:bm25", f"{run}:top 3: never")
    assert (compared.before, compared.after) == ("bm25", "top 3: never")


def test_wrong_names_are_told(ran, tmp_path):
    run = ran("one")
    with pytest.raises(UnknownNameError, match="Did you mean 'bm25'"):
        list(compare_runs(f"{run}:bm2", run))
    with pytest.raises(UnknownNameError, match="ferries"):
        list(compare_runs(run, run, data="ferry"))
    with pytest.raises(UnknownNameError, match="bm25"):
        list(compare_runs(run, run, system="great"))
    with pytest.raises(InputError, match=r"results\.json"):
        list(compare_runs(run, str(tmp_path)))


def test_a_run_keeps_its_turns_with_gold_passages(ran, tmp_path):
    ran("one")
    turns = list(read_turns(tmp_path / "one", "ferries"))
    assert len(turns) == 12
    assert [passage.text for passage in turns[0].passages] == ["The ferry of Ellisund costs 10 francs."]
    assert turns[1].passages == ()


def test_joined_runs_stand_in_one_table_where_the_data_is_the_same(ran):
    one = load_run(ran("one"))
    other = load_run(ran("other", "systems.bm25.k=1", "systems.bm25.name=bm25 k1", "baseline=bm25 k1"))
    table = join([one, other]).tables[0]
    assert [row.system for row in table.rows] == ["bm25", "never", "bm25 k1", "never (other)", "great"]
    assert table.baseline is None
    assert all(not cell.tests for row in table.rows for cell in row.cells)
    assert "different baselines" in table.note


def test_rows_that_say_the_same_stand_once(ran):
    first = load_run(ran("one"))
    table = join([first, first]).tables[0]
    assert [row.system for row in table.rows] == ["bm25", "never", "great"]
    assert table.baseline == "bm25"


def test_runs_over_other_bytes_stand_apart(ran):
    result = join([load_run(ran("one")), load_run(ran("few", limit=4))])
    assert [table.turns for table in result.tables] == [12, 4]
    assert all("stands apart" in table.note for table in result.tables)
    assert ["first 4 turns" in table.note for table in result.tables] == [False, True]


def test_one_run_is_itself(ran):
    result = load_run(ran("one"))
    assert join([result]) == result


def test_columns_of_one_name_that_were_measured_otherwise_are_not_compared(ran, caplog):
    one, other = ran("one"), ran("other", "columns.Hit@1.k=3")
    compared = next(compare_runs(one, other))
    assert compared.apart == ("Hit@1",)
    assert "Hit@1" not in {count.column.title for count in compared.counts}
    assert "'Hit@1' with other options" in caplog.text


def test_columns_of_one_name_that_were_measured_otherwise_stand_apart(ran):
    joined = join([load_run(ran("one")), load_run(ran("other", "columns.Hit@1.k=3"))])
    table = joined.tables[0]
    assert [column.title for column in table.columns][:1] == ["Hit@1"]
    assert "Hit@1 (other)" in [column.title for column in table.columns]
    assert "measured otherwise stand apart" in table.note


def test_how_a_column_is_printed_does_not_set_it_apart(ran):
    one, other = ran("one"), ran("other", "columns.Hit@1.digits=3")
    assert next(compare_runs(one, other)).apart == ()
    assert len(join([load_run(one), load_run(other)]).tables[0].columns) == 3


def test_a_system_is_not_asked_for_twice(ran):
    run = ran("one")
    with pytest.raises(InputError, match="'nonsense' is asked for"):
        list(compare_runs(f"{run}:bm25", f"{run}:never", system="nonsense"))


def test_a_column_that_one_run_could_not_measure_stands_with_its_namesake(ran):
    one, other = load_run(ran("one")), load_run(ran("other"))
    for column in other.manifest["experiment"]["columns"]:
        if column["title"] == "Hit@1":
            column["missing"] = "not trained"
            column["k"] = 3
    for runs in ([one, other], [other, one]):
        table = join(runs).tables[0]
        assert [column.title for column in table.columns] == [column.title for column in one.tables[0].columns]
        assert "measured otherwise" not in table.note
