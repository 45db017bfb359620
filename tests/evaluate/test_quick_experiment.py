"""The experiment that a set of one's own gets, and where experiments are found."""

from __future__ import annotations

import pytest

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.datasets.open import open_dataset
from dragoman.evaluate import experiment_files
from dragoman.evaluate.columns import Measures
from dragoman.evaluate.quick_experiment import quick_tables
from dragoman.evaluate.running.dataset_table import open_table
from dragoman.evaluate.spec import experiment_of, load_experiment
from dragoman.evaluate.systems.build import system_design


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("prompted", [False, True])
def test_every_row_can_be_built_and_every_column_fits(language, prompted):
    options = {"language": language, "part": "dev"}
    dataset = open_dataset("toy", **options)
    spec = experiment_of(quick_tables(dataset, "toy", None, name="toy", prompted=prompted, options=options))
    assert len(Measures(spec).of("toy", open_table(spec.data[0]))) == len(spec.columns)
    recipes = [system_design(system) for system in spec.systems]
    uses_model = [
        whole for whole in recipes if any("language_model" in whole.dependencies(role) for role in whole.roles)
    ]
    names = {whole.system for whole in uses_model} - {"agent"}
    assert bool(names) == prompted
    assert spec.baseline in {system.name for system in spec.systems}


def test_rows_follow_the_labels(tmp_path, make_set):
    file = make_set(tmp_path / "mine.jsonl", labels=("evidence",))
    spec = experiment_of(quick_tables(open_dataset("jsonl", file), "jsonl", file, name="mine"))
    names = {system.name for system in spec.systems}
    assert {"bm25", "tf-idf", "dense", "hybrid", "agent"} <= names
    assert not names & {"never", "copy", "frequent", "similarity plan"}
    assert all(system.reader == {"kind": "silent"} for system in spec.systems)


def test_evidence_has_a_column_a_source_where_there_are_several():
    dataset = open_dataset("toy", language="en")
    titles = [column["title"] for column in quick_tables(dataset, "toy", None, name="toy")["columns"]]
    assert [title for title in titles if title.startswith("Hit@1")] == [
        f"Hit@1 {source.name}" for source in dataset.sources
    ]


def test_an_experiment_is_found_by_path_and_by_name(ferry_file):
    assert experiment_files.find(ferry_file) == ("ferry", ferry_file)
    for given in ("safari-5", "safari-5.toml", "experiments/safari-5"):
        name, path = experiment_files.find(given)
        assert (name, path.name) == ("safari-5", "safari-5.toml")
    with pytest.raises(UnknownNameError, match="Did you mean 'safari-5'"):
        experiment_files.find("safari5")
    with pytest.raises(ConfigError, match="is a folder"):
        experiment_files.find(ferry_file.parent)


def test_every_shipped_experiment_has_a_title_and_can_be_read():
    titles = experiment_files.titles()
    assert titles
    for name, path in experiment_files.shipped().items():
        assert load_experiment(path).title == titles[name]
