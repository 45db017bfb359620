"""`dragoman store index`: how indexes stand, and building them anew, as one types it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dragoman.core.errors import InputError, UnknownNameError
from dragoman.core.values import Passage, Query, Scope
from dragoman.stores import SqliteStore
from dragoman.stores.in_memory import words

SHARED = Scope("acme", "")


@pytest.fixture
def file(tmp_path):
    """A store whose agent indexes from eleven rows on, with an index of DOCS and none of FEW."""
    path = tmp_path / ".dragoman" / "dragoman.db"
    store = SqliteStore(path=path, analyse=words, index_above=10)
    rows = [Passage(f"d{i}", "DOCS", f"ferry {i}") for i in range(30)]
    store.put(SHARED, rows, np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32))
    store.put(SHARED, [Passage("f", "FEW", "One.")])
    store.put(Scope("acme", "ana"), [Passage("p", "NOTES", "Private.")])
    store.refresh_index(SHARED, "DOCS")
    store.close()
    return path


def told(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def shards(file: Path) -> set[str]:
    return {path.name for path in (file.parent / "index").glob("*/*/*") if path.name != "manifest.json"}


def test_each_shared_source_is_shown_and_no_private_one(invoke, file):
    result = invoke("store", "index", str(file))
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        f"Looked at: {file}",
        "DOCS of acme: 30 rows; words current, 1 shard; vectors current, 1 shard",
        "FEW of acme: 1 rows; words not indexed; vectors not indexed",
    ]


def test_new_rows_leave_the_index_behind(invoke, file):
    store = SqliteStore(path=file, analyse=words, index_above=10)
    store.put(SHARED, [Passage("new", "DOCS", "late")])
    store.close()
    (docs,) = told(invoke("store", "index", str(file), "--source", "DOCS", "--json"))["sources"]
    assert (docs["rows"], docs["words_current"]) == (31, False)


def test_an_index_is_built_anew_while_its_store_is_searched_and_one_that_is_not_there_is_not(invoke, file):
    store = SqliteStore(path=file, analyse=words, index_above=10)
    asked = [Query(SHARED, "DOCS", 30, ("ferry",))]
    before, old = store.lexical(asked), shards(file)
    rebuilt = told(invoke("store", "index", str(file), "--rebuild", "--json"))
    assert rebuilt["state"] == "rebuilt"
    docs, few = rebuilt["sources"]
    assert docs["words_current"] and docs["vectors_current"] and few["words_current"] is None
    assert len(shards(file)) == len(old) == 2 and not shards(file) & old
    assert store.lexical(asked) == before
    store.put(SHARED, [Passage("new", "DOCS", "ferry late")])
    assert len(store.lexical([Query(SHARED, "DOCS", 40, ("ferry",))])[0]) == 31
    store.close()


def test_a_damaged_shard_is_named_and_mended(invoke, file):
    (victim,) = (path for path in (file.parent / "index").glob("*/vectors/*") if path.name != "manifest.json")
    victim.write_bytes(b"damage" + victim.read_bytes()[6:])
    result = invoke("store", "index", str(file))
    assert result.exit_code == 1 and "the shard of vectors after row 0 is damaged" in result.stderr
    assert invoke("store", "index", str(file), "--rebuild").exit_code == 0
    assert invoke("store", "index", str(file)).exit_code == 0


def test_a_source_that_is_not_there_and_a_server_without_a_folder_are_refused(invoke, file):
    result = invoke("store", "index", str(file), "--source", "DOC")
    assert isinstance(result.exception, UnknownNameError) and result.exception.suggestion == "DOCS"
    result = invoke("store", "index", "postgresql://localhost/none")
    assert isinstance(result.exception, InputError) and "--index-folder" in result.exception.remedy
