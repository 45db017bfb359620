"""Vectors of two encoders are never compared, in either database, also where an index searches them."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.values import Passage, Query, Scope
from dragoman.stores.in_memory import words
from dragoman.stores.sqlite.store import SqliteStore
from dragoman.stores.transfer.copying import copy_store

SHARED = Scope("acme", "")
ROWS = [Passage(f"p{i}", "NOTES", f"row {i}") for i in range(300)]
OLD = np.random.default_rng(1).normal(size=(300, 8)).astype(np.float32)
NEW = np.random.default_rng(2).normal(size=(300, 8)).astype(np.float32)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    if request.param == "postgres":
        yield request.getfixturevalue("make_store")(index_above=100)
        return
    store = SqliteStore(path=tmp_path / "store.db", analyse=words, index_above=100)
    yield store
    store.close()


def nearest(store, vectors, place: int) -> list[str]:
    query = Query(SHARED, "NOTES", 3, vector=tuple(vectors[place].tolist()))
    return [hit.passage.id for hit in store.nearest([query])[0]]


def test_a_large_source_changes_its_encoder_page_by_page(store):
    store.use_encoder("old")
    store.put(SHARED, ROWS, OLD)
    store.refresh_index(SHARED, "NOTES")
    assert nearest(store, OLD, 7)[0] == "p7"

    change = store.use_encoder("new")
    assert nearest(store, NEW, 7) == [], "old vectors, of the same width"
    assert change.outdated(SHARED) == ["NOTES"] and change.left(SHARED, "NOTES") == 300
    assert store.put(SHARED, ROWS[:5], NEW[:5]) == 0, "no vector is taken as long as others are there"
    assert change.clear(SHARED, "NOTES") == "old"
    pages = change.pages(SHARED, "NOTES", 100)
    for _ in range(2):
        page = next(pages)
        places = [int(row.passage.id[1:]) for row in page]
        assert change.write(SHARED, "NOTES", page, NEW[places])
    assert change.left(SHARED, "NOTES") == 100
    assert nearest(store, NEW, 7)[0] == "p7" and "p299" not in nearest(store, NEW, 299)

    again = store.use_encoder("new")  # another process goes on, once the first gives its claim back
    assert not again.write(SHARED, "NOTES", page, NEW[places])
    change.release(SHARED, "NOTES")
    assert again.clear(SHARED, "NOTES") == "" and again.outdated(SHARED) == ["NOTES"]
    (last,) = again.pages(SHARED, "NOTES", 200)
    assert again.write(SHARED, "NOTES", last, NEW[[int(row.passage.id[1:]) for row in last]])
    again.finish(SHARED, "NOTES")
    assert again.outdated(SHARED) == []
    assert nearest(store, NEW, 7)[0] == "p7" and nearest(store, NEW, 299)[0] == "p299"
    assert not change.write(SHARED, "NOTES", last, OLD[:100]), "nothing is left to write"


def test_rows_that_changed_or_went_meanwhile_get_no_vector(store):
    store.use_encoder("old")
    store.put(SHARED, ROWS[:4], OLD[:4])
    change = store.use_encoder("new")
    change.clear(SHARED, "NOTES")
    (page,) = change.pages(SHARED, "NOTES", 10)
    store.remove(SHARED, ["p0"])
    store.put(SHARED, [Passage("p1", "NOTES", "another text")])
    assert change.write(SHARED, "NOTES", page, NEW[:4])
    assert set(nearest(store, NEW, 2)) == {"p2", "p3"}
    assert change.left(SHARED, "NOTES") == 1


def test_a_copy_knows_the_encoder(store, tmp_path):
    store.use_encoder("old")
    store.put(SHARED, ROWS[:4], OLD[:4])
    other = SqliteStore(path=tmp_path / "copy.db", analyse=words)
    copy_store(store, other, identity=store.identity())
    assert other.use_encoder("old").outdated(SHARED) == []
    assert other.use_encoder("new").outdated(SHARED) == ["NOTES"]
    other.close()


@pytest.mark.parametrize("writes", [True, False])
def test_vectors_of_an_unknown_encoder_are_taken_for_those_of_the_first_that_comes(store, writes):
    store.put(SHARED, ROWS[:4], OLD[:4])
    change = store.use_encoder("old")
    assert nearest(store, OLD, 3)[0] == "p3"
    if writes:
        store.put(SHARED, ROWS[4:6], OLD[4:6])
    else:
        assert change.outdated(SHARED) == []
    assert store.use_encoder("new").outdated(SHARED) == ["NOTES"]
