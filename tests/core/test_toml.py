"""TOML files: read, overridden by path, and explained in their own words."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dragoman.core.errors import ConfigError
from dragoman.core.toml import explained, known_keys, override, read_toml, scalar, set_by_path


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    depth: int = 1


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str = ""
    one: Inner | None = None
    many: tuple[Inner, ...] = Field(default=(), min_length=0)
    named: tuple[str, ...] = Field(default=("a",), min_length=1)


def told(**values):
    with pytest.raises(ValidationError) as error:
        Outer.model_validate(values)
    return explained(error.value, "file.toml", Outer)


@pytest.mark.parametrize(
    ("text", "value"), [("0.6", 0.6), ("true", True), ("[1, 2]", [1, 2]), ("hybrid", "hybrid"), ("a\nb", "a\nb")]
)
def test_a_value_needs_no_quotes(text, value):
    assert scalar(text) == value


def test_an_override_is_a_path_and_a_value():
    assert override("baseline=quotes: Aug-All") == ("baseline", "quotes: Aug-All")
    with pytest.raises(ConfigError, match=r"as in train\.epochs=3"):
        override("train.epochs", example="train.epochs=3")


def test_entries_of_lists_go_by_name_or_title():
    tables = {"systems": [{"name": "a"}, {"name": "b"}], "columns": [{"title": "F1"}]}
    set_by_path(tables, "systems.b.gate.kind", "never")
    set_by_path(tables, "columns.F1.scale", 100)
    set_by_path(tables, "defaults.k", 3)
    assert tables["systems"] == [{"name": "a"}, {"name": "b", "gate": {"kind": "never"}}]
    assert tables["columns"] == [{"title": "F1", "scale": 100}]
    assert tables["defaults"] == {"k": 3}


@pytest.mark.parametrize(
    ("dotted", "words"),
    [
        ("systems.c.k", "no table 'systems.c'"),
        ("title.x.y", "no table 'title'"),
        ("systems", ""),
        ("a.", "name a value"),
    ],
)
def test_a_path_that_leads_nowhere_is_told(dotted, words):
    tables = {"systems": [{"name": "a"}], "title": "T"}
    if not words:
        set_by_path(tables, dotted, 1)
        assert tables["systems"] == 1
        return
    with pytest.raises(ConfigError, match=words):
        set_by_path(tables, dotted, 1)


@pytest.mark.parametrize(
    ("values", "known"),
    [
        ({"titel": 1}, "unknown key 'titel'. Did you mean 'title'? Known: many, named, one, title."),
        ({"one": {"depht": 1}}, "unknown key 'one.depht'. Did you mean 'depth'? Known: depth."),
        ({"many": [{}, {"depht": 1}]}, "unknown key 'many.1.depht'. Did you mean 'depth'? Known: depth."),
    ],
)
def test_a_misspelt_key_is_told_with_those_that_are_known_there(values, known):
    assert str(told(**values)) == f"file.toml: {known}"


def test_a_wrong_value_is_shown_and_an_empty_list_is_called_empty():
    assert "It is 'deep'." in str(told(one={"depth": "deep"}))
    assert str(told(named=[])) == "file.toml: 'named' is empty. Name at least one."
    assert told(one={"depth": "deep"}).fields == {"file": "file.toml", "key": "one.depth"}


def test_keys_are_found_through_lists_and_optional_tables():
    assert known_keys(Outer, ("many", 0, "x")) == known_keys(Outer, ("one", "x")) == ["depth"]


def test_files_that_cannot_be_read_are_told(tmp_path):
    with pytest.raises(ConfigError, match=r"There is no .*Give one"):
        read_toml(tmp_path / "none.toml", absent="Give one.")
    with pytest.raises(ConfigError, match="Cannot read"):
        read_toml(tmp_path)
    bad = tmp_path / "bad.toml"
    bad.write_bytes(b"a = \xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_toml(bad)
    bad.write_bytes(b"\xef\xbb\xbfa = 1\nb = =\n")
    with pytest.raises(ConfigError, match=r"not valid TOML.*line 2"):
        read_toml(bad)
    bad.write_bytes(b"\xef\xbb\xbfa = 1")
    assert read_toml(bad) == {"a": 1}


@pytest.mark.parametrize("text", ["a" + ".a" * 200 + " = 1", "a = " + "[" * 60 + "]" * 60, "a = " + "[" * 5000])
def test_what_nests_too_deeply_is_told(tmp_path, text):
    file = tmp_path / "agent.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match="nests too deeply"):
        read_toml(file)
    file.write_text("a" + ".a" * 20 + " = 1")
    assert read_toml(file)
    assert scalar("[" * 5000) == "[" * 5000
