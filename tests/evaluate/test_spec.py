"""Experiment files: what is wrong with one is said in its own words, and agents of one's own are further rows."""

from __future__ import annotations

import pytest

from dragoman.core.errors import ConfigError
from dragoman.evaluate.experiment_files import find, shipped
from dragoman.evaluate.spec import experiment_of, load_experiment

TABLES = {
    "title": "T",
    "defaults": {"planner": {"kind": "gold"}},
    "data": [{"name": "toy", "kind": "toy"}],
    "columns": [{"title": "hit", "metric": "hit"}],
    "systems": [{"name": "mine"}],
}


def test_an_empty_file_is_told_what_it_lacks(tmp_path):
    file = tmp_path / "empty.toml"
    file.touch()
    with pytest.raises(ConfigError, match="lacks title, data, columns, systems") as error:
        load_experiment(file)
    assert "[[systems]]" in error.value.remedy


def test_an_agent_is_a_row_of_its_own_that_takes_no_defaults(tmp_path):
    agent = str(tmp_path / "robin")
    own = experiment_of(TABLES, agents=[agent]).systems[-1]
    assert (own.name, own.agent, own.planner) == ("robin", agent, {})
    assert experiment_of(TABLES, agents=[f"{agent}/agent.toml"]).systems[-1].name == "robin"


def test_an_agent_whose_name_is_taken_goes_by_its_path(tmp_path):
    agents = [str(tmp_path / "mine"), str(tmp_path / "other")]
    assert [row.name for row in experiment_of(TABLES, agents=agents).systems] == ["mine", agents[0], "other"]


def test_overrides_reach_the_row_of_an_agent():
    own = experiment_of(TABLES, overrides=["systems.harbour.reader.kind=silent"], agents=["harbour"]).systems[-1]
    assert own.reader == {"kind": "silent"}
    assert own.planner == {}


@pytest.mark.parametrize("named", ["toy", "shop.jsonl", "kbp/dev.json"])
def test_a_set_in_the_place_of_an_experiment_is_told_how_to_be_measured(named):
    with pytest.raises(ConfigError, match="is a set") as error:
        find(named)
    assert error.value.remedy.endswith(f"dragoman evaluate --data {named}")


LIBRARY = """
[[parts]]
name = "lent"
recipe = "gate-linear"
data = {train = ["toy"]}

[[parts]]
name = "other"
recipe = "gate-linear"
data = {train = ["toy-zh"]}
"""
BORROWER = """
title = "T"
library = "parts/shared.toml"
columns = [{title = "rate", metric = "gate-rate"}]
[[data]]
name = "toy"
kind = "toy"
[[systems]]
name = "mine"
gate = {kind = "linear", part = "@PART"}
"""


@pytest.fixture
def borrower(tmp_path):
    """An experiment that takes its part from a library; what it asks for and what the library holds are given."""

    def write(part="lent", library=LIBRARY):
        (tmp_path / "parts").mkdir(exist_ok=True)
        (tmp_path / "parts" / "shared.toml").write_text(library, encoding="utf-8")
        file = tmp_path / "mine.toml"
        file.write_text(BORROWER.replace("PART", part), encoding="utf-8")
        return file

    return write


def test_a_library_lends_the_parts_that_an_experiment_names_and_overrides_reach_them(borrower):
    spec = load_experiment(borrower(), ["parts.lent.recipe=gate-encoder"])
    assert [(part.name, part.recipe) for part in spec.parts] == [("lent", "gate-encoder")]


def test_a_part_that_a_library_does_not_have_is_an_error_that_knows_what_it_has(borrower):
    with pytest.raises(ConfigError, match=r"othr.*Did you mean 'other'"):
        load_experiment(borrower("othr"))


def test_a_library_that_is_not_there_or_is_something_else_is_refused(borrower, tmp_path):
    with pytest.raises(ConfigError, match="holds more than"):
        load_experiment(borrower(library=LIBRARY + '[[systems]]\nname = "x"\n'))
    (tmp_path / "parts" / "shared.toml").unlink()
    with pytest.raises(ConfigError, match=r"There is no .*shared\.toml"):
        load_experiment(tmp_path / "mine.toml")


def test_files_that_experiments_share_are_no_experiments():
    assert not [name for name in shipped() if name.startswith("parts/") or name == "data"]


SHARED = """
title = "T"
data = ["small", {name = "own", kind = "toy"}]
columns = [{title = "rate", metric = "gate-rate"}]
[[systems]]
name = "mine"
"""


def test_a_set_by_name_is_the_table_of_data_toml_and_overrides_reach_it(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(SHARED, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"There is no .*data\.toml"):
        load_experiment(file)
    (tmp_path / "data.toml").write_text(
        '[small]\nname = "toy"\nkind = "toy"\n[other]\nkind = "toy"\n', encoding="utf-8"
    )
    spec = load_experiment(file, ["data.toy.title=Mine"])
    assert [(block.name, block.title) for block in spec.data] == [("toy", "Mine"), ("own", "")]
    file.write_text(SHARED.replace("small", "smal"), encoding="utf-8")
    with pytest.raises(ConfigError, match="Did you mean 'small'"):
        load_experiment(file)
