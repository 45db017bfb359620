"""One file of the word index is gone or cut short, as after a crash: it is made anew, and the search is right."""

from __future__ import annotations

import shutil

import pytest

from dragoman.core.values import Passage, Query, Scope
from dragoman.stores import SqliteStore
from dragoman.stores.in_memory import words

pytestmark = pytest.mark.trust
SHARED = Scope("acme", "")
ROWS = [Passage(f"p{i}", "DOCS", f"row {i} says w{i % 13}") for i in range(30)]
QUERY = Query(SHARED, "DOCS", 30, tokens=("w5",))


def found(folder):
    store = SqliteStore(path=folder / "store.db", analyse=words, index_above=10)
    try:
        return sorted(hit.passage.id for hit in store.lexical([QUERY])[0])
    finally:
        store.close()


@pytest.mark.parametrize("how", ["removed", "emptied", "halved"])
def test_whatever_file_of_the_words_is_damaged_the_search_is_right(tmp_path, how):
    whole = tmp_path / "whole"
    whole.mkdir()
    store = SqliteStore(path=whole / "store.db", analyse=words, index_above=10)
    store.put(SHARED, ROWS[:20])
    store.lexical([QUERY])
    store.put(SHARED, ROWS[20:])
    store.lexical([QUERY])  # a second segment
    store.close()
    files = [path.relative_to(whole) for path in (whole / "index").rglob("*") if path.is_file()]
    files = [path for path in files if path.suffix not in (".lock", ".json") and "words" in path.parts]
    assert len(files) > 5
    for number, file in enumerate(sorted(files)):
        place = tmp_path / str(number)
        shutil.copytree(whole, place)
        damaged = place / file
        if how == "removed":
            damaged.unlink()
        else:
            content = damaged.read_bytes()
            damaged.write_bytes(content[: len(content) // 2] if how == "halved" else b"")
        assert found(place) == ["p18", "p5"], file
