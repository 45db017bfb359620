"""What is removed, forgotten or overwritten is in no file: every raw byte beside the store is scanned."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dragoman.core.errors import StoreLockedError
from dragoman.core.values import Passage, Query, Scope, Turn
from dragoman.stores import SqliteStore
from dragoman.stores.in_memory import words
from dragoman.stores.vectors import pack

pytestmark = pytest.mark.trust

ANA, BEN = Scope("acme", "ana-zq81"), Scope("acme", "ben")
SECRET = "quillfeather"


def raw_files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def found(folder, *needles):
    """The files that hold any needle, with the needle."""
    return [
        (path.name, needle) for path, raw in raw_files(folder).items() for needle in needles if needle and needle in raw
    ]


def forms(vector):
    """A vector's bytes as the store and the index hold them, in halves, so that a partial overwrite shows."""
    unit = np.frombuffer(pack(vector[None], 1)[0], dtype="<f4")
    small = np.trunc(unit.astype(np.float64) * 127).astype(np.int8)
    return [part for kept in (unit, small) for part in (kept.tobytes()[: kept.nbytes // 2], kept.tobytes()[-32:])]


def indexed_rows(folder):
    """In how many rows of any word index the secret is; tantivy compresses its words, so it is asked."""
    import tantivy

    total = 0
    for meta in folder.rglob("meta.json"):
        total += tantivy.Index.open(str(meta.parent)).searcher().doc_freq("tokens", SECRET)
    return total


def secret(i=0, source="NOTES"):
    return Passage(
        f"{SECRET}-id-{i}",
        source,
        f"The {SECRET} said 渡轮秘密 number {i}. " * 3,
        title=f"Title {SECRET}",
        headings=(f"Heading {SECRET}",),
        parent=f"{SECRET}-parent",
        origin=f"{SECRET}.md",
        meta={"said": SECRET},
    )


def lock_name(folder):
    return next((folder / "index").glob("*.lock")).name


def noise(i):
    return Passage(f"noise-{i}", "NOTES", f"Nothing to see here, row {i}. " * (1 + i % 40))


@pytest.fixture
def store(tmp_path):
    store = SqliteStore(path=tmp_path / "store.db", analyse=words, index_above=100)
    yield store
    store.close()


@pytest.fixture
def vectors():
    return np.random.default_rng(7).normal(size=(400, 64)).astype(np.float32)


def test_the_scan_finds_what_is_there(store, tmp_path, vectors):
    shared = BEN.shared
    store.put(shared, [noise(i) for i in range(150)] + [secret()], vectors[:151])
    store.lexical([Query(shared, "NOTES", 3, tokens=(SECRET,))])
    store.nearest([Query(shared, "NOTES", 3, vector=vectors[150].tolist())])
    names = {path for path, _ in found(tmp_path, SECRET.encode(), *forms(vectors[150]))}
    assert any(name.startswith("store.db") for name in names)
    assert indexed_rows(tmp_path) == 1, "the index holds the words"
    for form in forms(vectors[150]):
        assert found(tmp_path, form), "both the store and the index hold the vector"


@pytest.mark.parametrize("reader_open", [False, True])
def test_a_forgotten_user_is_in_no_file(store, tmp_path, vectors, reader_open):
    store.put(BEN, [noise(i) for i in range(100)], vectors[:100])
    store.put(ANA, [secret(i) for i in range(20)], vectors[100:120])
    store.append(ANA, SECRET, [Turn("user", f"I am {SECRET}"), Turn("agent", "hi")], {"trace": [SECRET]})
    store.keep(ANA, SECRET, SECRET)
    store.lexical([Query(ANA, "NOTES", 3, tokens=(SECRET,))])
    other = SqliteStore(path=tmp_path / "store.db", analyse=words)
    if reader_open:
        assert other.count(ANA, "NOTES") == 20
    store.forget(ANA)
    wanted = [SECRET.encode(), "渡轮秘密".encode(), ANA.user.encode()]
    assert found(tmp_path, *wanted, *(form for row in vectors[100:120] for form in forms(row))) == []
    assert store.lexical([Query(ANA, "NOTES", 3, tokens=(SECRET,))]) == [[]]
    assert store.count(BEN, "NOTES") == 100
    other.close()


def test_removed_facts_are_in_no_file_among_many_that_stay(store, tmp_path, vectors):
    rows = [noise(i) for i in range(300)]
    chance = random.Random(3)
    for i in range(40):
        rows.insert(chance.randrange(len(rows)), secret(i))
    for start in range(0, len(rows), 20):
        store.put(ANA, rows[start : start + 20], vectors[start : start + 20])
    secrets = [(row, vectors[i]) for i, row in enumerate(rows) if SECRET in row.text]
    chance.shuffle(secrets)
    for passage, vector in secrets:
        assert store.remove(ANA, [passage.id]) == 1
        assert found(tmp_path, f"{passage.id}\x00".encode(), *forms(vector)) == []
    assert found(tmp_path, SECRET.encode()) == []
    assert store.verify().is_sound


def test_overwritten_content_is_in_no_file(store, tmp_path, vectors):
    store.put(ANA, [noise(i) for i in range(50)] + [secret()], vectors[:51])
    store.put(ANA, [Passage(secret().id, "NOTES", "plain")], vectors[60:61])
    assert found(tmp_path, "渡轮秘密".encode(), f"Title {SECRET}".encode(), *forms(vectors[50])) == []
    assert found(tmp_path, forms(vectors[60])[0]) != []


def test_redacted_turns_are_in_no_file(store, tmp_path):
    store.append(ANA, "d", [Turn("user", f"I am {SECRET}"), Turn("agent", f"Hello {SECRET}")], {"t": SECRET})
    store.redact(ANA, [SECRET.upper()])
    assert found(tmp_path, SECRET.encode()) == []


@pytest.mark.parametrize("how", ["remove", "overwrite", "forget"])
def test_a_shared_row_leaves_the_index_too(store, tmp_path, vectors, how):
    shared = BEN.shared
    rows = [noise(i) for i in range(200)] + [secret(i) for i in range(5)]
    store.put(shared, rows, vectors[:205])
    query = Query(shared, "NOTES", 5, tokens=(SECRET,), vector=vectors[202].tolist())
    assert len(store.lexical([query])[0]) == 5 and store.nearest([query])[0][0].passage.id == secret(2).id
    ids = [secret(i).id for i in range(5)]
    before = set(raw_files(tmp_path / "index"))
    assert indexed_rows(tmp_path) == 5
    if how == "remove":
        store.remove(shared, ids)
    elif how == "overwrite":
        store.put(shared, [Passage(i, "NOTES", "plain") for i in ids])
    else:
        store.forget(shared)
    told = [SECRET.encode()] if how != "overwrite" else ["渡轮秘密".encode(), f"Title {SECRET}".encode()]
    gone = [form for row in vectors[200:205] for form in forms(row)]
    assert found(tmp_path, *told, *gone) == []
    assert {path.name for path in before & set(raw_files(tmp_path / "index"))} <= {"manifest.json", lock_name(tmp_path)}
    assert store.lexical([query]) == [[]]
    assert indexed_rows(tmp_path) == 0
    assert not {hit.passage.id for hit in store.nearest([query])[0]} & set(ids)
    assert found(tmp_path, *told, *gone) == [], "searching again must not bring it back"


def test_a_reader_in_the_way_is_named_and_the_next_call_ends_it(tmp_path):
    import apsw

    store = SqliteStore(path=tmp_path / "store.db", analyse=words, busy_seconds=0.2)
    store.put(ANA, [secret()])
    reader = apsw.Connection(str(tmp_path / "store.db"))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM passages").fetchall()
    with pytest.raises(StoreLockedError, match="another process keeps reading"):
        store.remove(ANA, [secret().id])
    assert list(store.get(ANA, [secret().id])) == [None]
    reader.execute("COMMIT")
    assert store.remove(ANA, [secret().id]) == 0
    assert found(tmp_path, SECRET.encode()) == []
    reader.close()
    store.close()
