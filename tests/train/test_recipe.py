"""Recipes: found by name or path, overridden by path, refused with what was meant, written down whole."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.train.recipe import differences, load_recipe, recipe_of, shipped_recipes, toml_of
from dragoman.train.registry import learners
from dragoman.train.spec import Recipe

FILE = """
kind = "gate.tiny"
[input]
turns = 3
[train]
epochs = 2
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    return path


def test_a_recipe_is_read_with_its_overrides(file):
    recipe = load_recipe(file, ["train.epochs=7", "input.order=newest", "train.metric=f1"])
    assert (recipe.train.epochs, recipe.train.metric) == (7, "f1")
    assert recipe.input == {"turns": 3, "order": "newest"}


def test_overrides_may_be_a_mapping(file):
    assert load_recipe(file, {"train.rate": 0.5, "train.patience": "2"}).train.patience == 2


def test_a_wrong_key_is_told_with_what_was_meant(file):
    with pytest.raises(ConfigError, match=r"^--set train.epoch: unknown key 'train.epoch'. Did you mean 'epochs'"):
        load_recipe(file, ["train.epoch=3"])
    with pytest.raises(ConfigError, match=r"^--set modle.rate: unknown key 'modle'. Did you mean 'model'"):
        load_recipe(file, ["train.epochs=3", "modle.rate=3"])
    with pytest.raises(ConfigError, match=r"'train.epochs'.*It is 0"):
        load_recipe(file, ["train.epochs=0"])
    file.write_text(file.read_text() + "\n[modle]\nrate = 3\n")
    with pytest.raises(ConfigError, match=rf"^{file}: unknown key 'modle'"):
        load_recipe(file, ["train.epochs=3"])


def test_what_is_no_recipe_is_told(file, tmp_path):
    name = next(iter(shipped_recipes()))
    with pytest.raises(UnknownNameError, match=f"Did you mean '{name}'"):
        load_recipe(f"{name}x")
    with pytest.raises(ConfigError, match="is a set, not a recipe"):
        load_recipe("toy")
    with pytest.raises(ConfigError, match="is a folder"):
        load_recipe(tmp_path)
    file.write_text("kind = ")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_recipe(file)


def test_every_shipped_recipe_can_be_read_and_says_what_it_makes():
    for name in shipped_recipes():
        recipe = load_recipe(name)
        assert recipe.kind in learners.names(), name
        assert recipe.about, name


def test_a_recipe_written_down_is_the_same_recipe(file):
    recipe = load_recipe(file, ["train.head_rate=0.001", 'about="Says \\"yes\\"\\nor no"'])
    assert recipe_of(tomllib.loads(toml_of(recipe))) == recipe


_SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=("Cs",))),
)
_TABLES = st.recursive(
    st.dictionaries(
        st.text(st.characters(exclude_categories=("Cs",))), st.one_of(_SCALARS, st.lists(_SCALARS, max_size=3))
    ),
    lambda inner: st.dictionaries(st.text("abc.é "), st.one_of(inner, st.lists(inner, max_size=2)), max_size=3),
    max_leaves=6,
)


@given(_TABLES)
def test_any_tables_of_a_learner_survive_the_writing(table):
    recipe = Recipe(kind="gate.tiny", model=table)
    assert recipe_of(tomllib.loads(toml_of(recipe))).model == table


def test_differences_go_by_path():
    assert differences({"train": {"rate": 1, "epochs": 2}}, {"train": {"rate": 3, "epochs": 2}, "dev": 0.1}) == [
        "train.rate: 1 before, 3 now",
        "dev: null before, 0.1 now",
    ]
