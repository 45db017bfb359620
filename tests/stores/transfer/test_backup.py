"""Backups: taken while the store is written to, refused where they are damaged, and the same content when restored."""

from __future__ import annotations

import gzip
import json
import threading

import pytest

from dragoman.core.errors import InputError, StoreCorruptError
from dragoman.core.values import Passage, Query, Scope, Turn
from dragoman.stores import SqliteStore
from dragoman.stores.in_memory import words
from dragoman.stores.transfer.backup import MANIFEST, back_up, read_manifest, restore, restore_file, verify_backup
from dragoman.stores.transfer.checking import problems
from dragoman.stores.transfer.portable import summary
from dragoman.stores.transfer.record_file import RecordFile, write_file
from dragoman.testing.stores import ALL, ANA, BEN, VECTORS

SHARED = Scope("acme", "")


@pytest.fixture
def make(tmp_path):
    made = []

    def one(name, **options):
        made.append(SqliteStore(path=tmp_path / name / "store.db", analyse=words, **options))
        return made[-1]

    yield one
    for store in made:
        store.close()


@pytest.fixture
def store(make):
    filled = make("live", index_above=1)
    for scope in (ANA, BEN, SHARED):
        filled.put(scope, ALL, VECTORS)
        filled.append(scope, "d", [Turn("user", "hello"), Turn("agent", "hi")], ["trace"])
        filled.keep(scope, "key", "value")
    filled.supersede(SHARED, "ferry", "museum")
    return filled


def test_a_backup_is_restored_with_the_same_content(store, tmp_path, make):
    manifest = back_up(store, tmp_path / "backup")
    assert manifest.content == summary(store)
    store.forget(ANA)
    assert restore_file(tmp_path / "backup", tmp_path / "new" / "store.db") == manifest.content
    restored = make("new", index_above=1)
    assert summary(restored) == manifest.content
    assert restored.identity() != store.identity(), "indexes that lie beside it are not taken for its own"
    assert [hit.passage.id for hit in restored.lexical([Query(SHARED, "NOTES", 5, tokens=("the",))])[0]] == [
        "museum",
        "tram",
    ]
    assert not list(problems(restored))


def test_a_backup_holds_one_moment_while_others_write(store, tmp_path):
    stop = threading.Event()

    def write():
        i = 0
        while not stop.is_set():
            store.put(BEN, [Passage(f"a{i}", "PAIRS", "one"), Passage(f"b{i}", "PAIRS", "two")])
            i += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        manifests = [back_up(store, tmp_path / f"backup{i}") for i in range(3)]
    finally:
        stop.set()
        thread.join()
    for i, manifest in enumerate(manifests):
        assert verify_backup(tmp_path / f"backup{i}") == manifest
        copied = SqliteStore(path=tmp_path / f"backup{i}" / "store.db", analyse=words)
        names = [passage.id for passage in copied.passages(BEN, "PAIRS")]
        copied.close()
        assert {name[1:] for name in names if name[0] == "a"} == {name[1:] for name in names if name[0] == "b"}


def test_a_file_or_folder_that_is_there_is_let_alone(store, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        back_up(store, tmp_path / "full")
    back_up(store, tmp_path / "backup")
    with pytest.raises(InputError, match="is there already"):
        restore_file(tmp_path / "backup", tmp_path / "live" / "store.db")


def test_a_damaged_backup_is_refused(store, tmp_path):
    back_up(store, tmp_path / "backup")
    file = tmp_path / "backup" / "store.db"
    content = bytearray(file.read_bytes())
    place = content.find(b"museum opens")
    content[place] ^= 1
    file.write_bytes(content)
    with pytest.raises(StoreCorruptError, match="not what was written"):
        verify_backup(tmp_path / "backup")
    with pytest.raises(StoreCorruptError):
        restore_file(tmp_path / "backup", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_an_unfinished_backup_is_refused(store, tmp_path):
    back_up(store, tmp_path / "backup")
    (tmp_path / "backup" / MANIFEST).unlink()
    with pytest.raises(InputError, match="no finished backup"):
        read_manifest(tmp_path / "backup")
    (tmp_path / "backup" / MANIFEST).write_text("{}")
    with pytest.raises(StoreCorruptError, match="cannot be read"):
        read_manifest(tmp_path / "backup")


def test_a_file_of_records_is_a_store_to_read_from(store, tmp_path, make):
    file = tmp_path / "records.jsonl.gz"
    whole = write_file(file, store, identity="s")
    assert whole == summary(store) == summary(RecordFile(file)) == RecordFile(file).check()
    assert list(RecordFile(file).scopes()) == [SHARED, ANA, BEN]
    found = [record for record, _ in store.records(BEN)]
    reader = RecordFile(file)
    for scope in (BEN, ANA, BEN):  # in any order
        assert len(list(reader.records(scope))) == len(found)
    assert [record for record, _ in RecordFile(file).records(BEN)] == found
    (_, position), *_ = RecordFile(file).records(BEN)
    assert [record for record, _ in RecordFile(file).records(BEN, position)] == found[1:]
    assert not list(RecordFile(file).records(Scope("no", "body")))


@pytest.mark.parametrize("damage", ["cut", "changed", "dropped", "other", "short"])
def test_a_damaged_file_of_records_is_refused(store, tmp_path, damage):
    file = tmp_path / "records.jsonl.gz"
    write_file(file, store, identity="s")
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-40])
    elif damage == "changed":
        file.write_bytes(gzip.compress(b"".join(lines).replace(b"museum opens", b"museum shuts")))
    elif damage == "dropped":
        file.write_bytes(gzip.compress(b"".join(lines[:2] + lines[3:])))
    elif damage == "other":
        file.write_bytes(gzip.compress(b'{"another": "file"}\n'))
    else:
        file.write_bytes(gzip.compress(b"".join(lines[:-1])))
    with pytest.raises(StoreCorruptError, match="not a whole copy"):
        RecordFile(file).check()


def test_a_backup_of_records_is_restored_through_the_copy(store, tmp_path, make, monkeypatch):
    def dump(folder):
        write_file(folder / "records.jsonl.gz", store, identity="s")
        return folder / "records.jsonl.gz"

    monkeypatch.setattr(store, "dump", dump)
    manifest = back_up(store, tmp_path / "backup")
    assert restore_file(tmp_path / "backup", tmp_path / "new" / "store.db") is None
    target = make("new", index_above=1)
    assert restore(tmp_path / "backup", target) == manifest.content == summary(store)


def test_wrong_counts_changed_rows_and_stray_vectors_are_found(store):
    assert not list(problems(store))
    connection = store._database.connections()[1]
    connection.execute("UPDATE places SET live = live + 1 WHERE user = 'ana'")
    connection.execute("UPDATE passages SET text = 'Forged.' WHERE user = 'ben' AND id = 'tram'")
    connection.execute("UPDATE vectors SET seq = seq + 1000 WHERE user = 'ben' AND id = 'ferry'")
    found = "\n".join(problems(store))
    assert "acme/ana: the counts of its sources are wrong" in found
    assert "acme/ben: the passage 'tram' is not what was written" in found
    assert "acme/ben: 1 vectors belong to no passage" in found
    assert "Forged" not in found


def test_the_manifest_says_what_is_there(store, tmp_path):
    back_up(store, tmp_path / "backup")
    told = json.loads((tmp_path / "backup" / MANIFEST).read_text())
    assert told["content"]["passages"] == 9 and told["content"]["scopes"] == 3
    assert told["store"] == store.identity() and told["bytes"] == (tmp_path / "backup" / "store.db").stat().st_size
