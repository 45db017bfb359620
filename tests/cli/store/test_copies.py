"""`dragoman store`: copy, back up, restore and check, as one types it."""

from __future__ import annotations

import json

import pytest

from dragoman.core.errors import DragomanError, InputError, StoreError
from dragoman.core.values import Passage, Scope, Turn
from dragoman.stores import SqliteStore
from dragoman.stores.in_memory import words
from dragoman.stores.purging import Purged
from dragoman.stores.transfer.copying import MARK
from dragoman.stores.transfer.table_records import NOTE

ANA = Scope("acme", "ana")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / ".dragoman" / "dragoman.db"
    store = SqliteStore(path=path, analyse=words)
    store.put(ANA, [Passage("a", "NOTES", "One."), Passage("b", "NOTES", "Two.")])
    store.append(ANA, "d", [Turn("user", "hello")])
    store.close()
    return path


def told(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_store_is_copied_and_found_to_be_the_same(invoke, file, tmp_path):
    target = tmp_path / "new" / "copy.db"
    copied = told(invoke("store", "migrate", str(file), str(target), "--json"))
    assert (copied["passages"], copied["turns"], copied["kept"], copied["scopes"]) == (2, 1, 0, 1)
    assert copied["state"] == "copied" and copied["where"] == str(target)
    left, right = (told(invoke("store", "verify", str(path), "--json")) for path in (file, target))
    assert left["digest"] == right["digest"] == copied["digest"]
    assert left["state"] == "sound" and left["problems"] == []


def test_an_agents_folder_stands_for_the_file_in_it(invoke, file, tmp_path):
    result = invoke("store", "verify", str(tmp_path))
    assert result.exit_code == 0
    assert f"Sound: {file}" in result.stdout and "2 passages, 1 turns and 0 kept values of 1 scopes" in result.stdout


def test_a_backup_is_taken_checked_and_restored(invoke, file, tmp_path):
    backup, new = tmp_path / "backup", tmp_path / "new" / "dragoman.db"
    taken = told(invoke("store", "backup", str(file), str(backup), "--json"))
    assert told(invoke("store", "verify", str(backup), "--json"))["digest"] == taken["digest"]
    restored = told(invoke("store", "restore", str(backup), str(new), "--json"))
    assert restored["digest"] == taken["digest"] and restored["where"] == str(new)
    assert told(invoke("store", "verify", str(new), "--json"))["digest"] == taken["digest"]


def test_a_store_that_is_not_there_is_not_made(invoke, tmp_path):
    missing = tmp_path / "missing.db"
    for words_ in (("migrate", str(missing), "x.db"), ("backup", str(missing), "y"), ("verify", str(missing))):
        result = invoke("store", *words_)
        assert isinstance(result.exception, InputError) and "There is no store" in str(result.exception)
    assert not missing.exists()


def test_a_target_with_content_is_let_alone(invoke, file, tmp_path):
    other = tmp_path / "other.db"
    store = SqliteStore(path=other, analyse=words)
    store.keep(ANA, "mine", "yes")
    store.close()
    result = invoke("store", "migrate", str(file), str(other))
    assert isinstance(result.exception, DragomanError) and "is not empty" in str(result.exception)
    result = invoke("store", "restore", str(tmp_path), str(other))
    assert isinstance(result.exception, DragomanError)


def test_half_a_copy_is_not_taken_for_a_store(invoke, file, tmp_path):
    store = SqliteStore(path=file, analyse=words)
    store.receive(MARK, (), {NOTE: json.dumps({"from": "other", "state": "copying"})})
    store.close()
    result = invoke("store", "migrate", str(file), str(tmp_path / "new.db"))
    assert isinstance(result.exception, StoreError) and "half a copy" in str(result.exception)
    result = invoke("store", "verify", str(file))
    assert result.exit_code == 1 and "half a copy" in result.output


def test_damage_is_told_and_leaves_with_one(invoke, file):
    store = SqliteStore(path=file, analyse=words)
    store._database.connections()[1].execute("UPDATE passages SET text = 'Forged.' WHERE id = 'a'")
    store.close()
    result = invoke("store", "verify", str(file), "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["problems"] == ["acme/ana: the passage 'a' is not what was written"]


def test_an_unset_variable_is_named(invoke, file):
    result = invoke("store", "migrate", str(file), "env:NO_SUCH_PLACE")
    assert isinstance(result.exception, DragomanError) and "NO_SUCH_PLACE" in str(result.exception)


def test_purging_a_file_changes_nothing_that_is_there(invoke, file, monkeypatch):
    before = told(invoke("store", "verify", str(file), "--json"))["digest"]
    assert told(invoke("store", "purge", str(file), "--json")) == {
        "state": "purged",
        "where": str(file),
        "tables": 0,
        "left": [],
    }
    assert told(invoke("store", "verify", str(file), "--json"))["digest"] == before
    monkeypatch.setattr("dragoman.stores.sql_store.TableStore.purge", lambda store: Purged(3, ("the log",)))
    result = invoke("store", "purge", str(file))
    assert (result.exit_code, result.stderr) == (1, "Left: the log\n")
