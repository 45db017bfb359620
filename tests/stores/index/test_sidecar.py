"""The sidecar index: as good as exact search, never behind the store, and never trusted when it looks wrong."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

from dragoman.core.errors import StoreLockedError
from dragoman.core.values import Passage, Query, Scope
from dragoman.stores import InMemoryStore, SqliteStore
from dragoman.stores.in_memory import words
from dragoman.stores.index import vector_index
from dragoman.stores.index.files import exclusive
from dragoman.stores.index.sidecar import Sidecar
from dragoman.stores.index.vector_index import VectorIndex

SHARED = Scope("acme", "")
VOCABULARY = [f"w{i}" for i in range(400)]


def corpus(n, seed=0, start=0):
    """Passages of Zipf words and clustered vectors."""
    chance = np.random.default_rng(seed)
    ranks = np.minimum(chance.zipf(1.3, size=(n, 60)), len(VOCABULARY)) - 1
    lengths = chance.integers(5, 60, n)
    rows = [
        Passage(f"p{start + i}", "DOCS", " ".join(VOCABULARY[j] for j in ranks[i, : lengths[i]]), parent=f"g{i % 7}")
        for i in range(n)
    ]
    centres = chance.normal(size=(20, 32))
    return rows, (centres[chance.integers(0, 20, n)] + chance.normal(size=(n, 32))).astype(np.float32)


def queries(n, vectors, **filters):
    chance = np.random.default_rng(5)
    return [
        Query(
            SHARED,
            "DOCS",
            10,
            tokens=tuple(VOCABULARY[j] for j in np.minimum(chance.zipf(1.3, 5), 400) - 1),
            vector=(vectors[chance.integers(len(vectors))] + chance.normal(size=32) * 0.1).tolist(),
            **filters,
        )
        for _ in range(n)
    ]


def ids(hits):
    return [hit.passage.id for hit in hits]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_index, "_EXACT", 0)  # however few the rows: a way through the graph
    store = SqliteStore(path=tmp_path / "store.db", analyse=words, index_above=50)
    yield store
    store.close()


@pytest.fixture
def rebuilt(monkeypatch):
    """The kinds of index of which a shard was built from the store, in order."""
    built, draft = [], Sidecar._draft
    monkeypatch.setattr(
        Sidecar, "_draft", lambda self, *a, **k: (built.append(type(self).__name__), draft(self, *a, **k))[1]
    )
    return built


@pytest.mark.parametrize(
    "filters", [{}, {"parents": frozenset({"g1", "g2"})}, {"without": frozenset(f"p{i}" for i in range(900))}]
)
def test_it_finds_what_exact_search_finds(store, filters):
    rows, vectors = corpus(1500)
    exact = InMemoryStore(analyse=words)
    for each in (store, exact):
        each.put(SHARED, rows, vectors)
    asked = queries(30, vectors, **filters)
    for search in ("lexical", "nearest"):
        ours, theirs = getattr(store, search)(asked), getattr(exact, search)(asked)
        shared = sum(len(set(ids(a)) & set(ids(b))) for a, b in zip(ours, theirs, strict=True))
        assert shared >= 0.97 * sum(map(len, theirs)), search
        scores = {(i, hit.passage.id): hit.score for i, hits in enumerate(theirs) for hit in hits}
        for i, hits in enumerate(ours):
            assert len(hits) == len(theirs[i])
            for hit in hits:
                assert hit.score == pytest.approx(scores.get((i, hit.passage.id), hit.score), abs=1e-5)


def test_every_row_is_nearest_to_its_own_vector(store):
    rows, vectors = corpus(1200)
    store.put(SHARED, rows, vectors)
    found = store.nearest([Query(SHARED, "DOCS", 1, vector=vector.tolist()) for vector in vectors])
    assert [hits[0].passage.id for hits in found] == [row.id for row in rows]


def test_frequencies_are_exact(store):
    rows, _ = corpus(300)
    exact = InMemoryStore(analyse=words)
    for each in (store, exact):
        each.put(SHARED, rows)
        each.supersede(SHARED, "p3", "p4")
    assert store.frequencies(SHARED, "DOCS", VOCABULARY[:50]) == exact.frequencies(SHARED, "DOCS", VOCABULARY[:50])


def test_new_rows_are_added_without_building_anew(store, rebuilt):
    rows, vectors = corpus(200)
    store.put(SHARED, rows[:150], vectors[:150])
    query = Query(SHARED, "DOCS", 3, tokens=("zeppelin",), vector=vectors[199].tolist())
    assert store.lexical([query]) == [[]] and store.nearest([query])[0]
    assert rebuilt == ["WordIndex", "VectorIndex"]
    store.put(SHARED, [*rows[150:], Passage("z", "DOCS", "zeppelin")], vectors[[*range(150, 200), 0]])
    assert ids(store.lexical([query])[0]) == ["z"]
    assert ids(store.nearest([query])[0])[0] == "p199"
    assert rebuilt == ["WordIndex", "VectorIndex"]


def test_a_removed_row_does_not_cost_the_vectors_their_graph(store, rebuilt):
    rows, vectors = corpus(200)
    store.put(SHARED, rows, vectors)
    query = Query(SHARED, "DOCS", 1, vector=vectors[7].tolist())
    assert ids(store.nearest([query])[0]) == ["p7"]
    store.remove(SHARED, ["p7"])
    assert ids(store.nearest([query])[0]) != ["p7"]
    store.put(SHARED, [rows[7]], vectors[7:8])
    assert ids(store.nearest([query])[0]) == ["p7"]
    assert rebuilt == ["VectorIndex"]


def test_rows_in_memory_only_are_written_with_a_removal_and_not_added_again(store, monkeypatch):
    rows, vectors = corpus(260)
    store.put(SHARED, rows[:100], vectors[:100])
    every = Query(SHARED, "DOCS", 300, vector=vectors[0].tolist())
    store.nearest([every])
    added, add = [], VectorIndex._add
    monkeypatch.setattr(
        VectorIndex, "_add", lambda self, part, new, path: (added.extend(new), add(self, part, new, path))[1]
    )
    for i in range(100, 260):
        store.put(SHARED, rows[i : i + 1], vectors[i : i + 1])
        store.nearest([every])
        if i % 7 == 3:
            store.remove(SHARED, [f"p{i - 2}"])
    alive = {row.id for i, row in enumerate(rows) if i < 100 or (i + 2) % 7 != 3 or i > 257}
    assert set(ids(store.nearest([every])[0])) == alive - {"p99"}
    assert len(added) == 160


def test_a_graph_of_which_much_changed_is_built_anew(store, rebuilt):
    rows, vectors = corpus(300)
    store.put(SHARED, rows, vectors)
    every = Query(SHARED, "DOCS", 300, vector=vectors[0].tolist())
    for seed in range(5):
        store.nearest([every])
        store.put(SHARED, rows[:200], corpus(200, seed)[1])
    assert len(store.nearest([every])[0]) == 300
    assert rebuilt == ["VectorIndex"] * 6


def test_a_changed_vector_moves_its_row(store):
    rows, vectors = corpus(200)
    store.put(SHARED, rows, vectors)
    query = Query(SHARED, "DOCS", 1, vector=vectors[7].tolist())
    store.nearest([query])
    store.put(SHARED, rows[:1], vectors[7:8] * 2)
    store.put(SHARED, rows[7:8], -vectors[7:8])
    assert ids(store.nearest([query])[0]) == ["p0"]


def test_what_another_process_wrote_is_found(tmp_path, store):
    rows, vectors = corpus(120)
    store.put(SHARED, rows, vectors)
    query = Query(SHARED, "DOCS", 3, tokens=("zeppelin",), vector=vectors[0].tolist())
    store.lexical([query]), store.nearest([query])
    other = SqliteStore(path=tmp_path / "store.db", analyse=words, index_above=50)
    other.put(SHARED, [Passage("z", "DOCS", "zeppelin")], vectors[:1])
    other.remove(SHARED, ["p0"])
    other.lexical([query]), other.nearest([query])
    assert ids(store.lexical([query])[0]) == ["z"]
    assert ids(store.nearest([query])[0])[0] == "z"
    other.close()


def damage_manifest(folder):
    for path in folder.rglob("manifest.json"):
        path.write_text("{ half")


def damage_vectors(folder):
    for path in folder.glob("*/vectors/*"):
        if path.name != "manifest.json":
            path.write_bytes(b"junk" * 100)


def truncate_vectors(folder):
    for path in folder.glob("*/vectors/*"):
        if path.name != "manifest.json":
            path.write_bytes(path.read_bytes()[:5000])


def damage_words(folder):
    for path in folder.glob("*/words/*/*"):
        path.write_bytes(b"junk")


def remove_files(folder):
    for path in folder.glob("*/*/*"):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "manifest.json":
            path.unlink()


@pytest.mark.trust
@pytest.mark.parametrize("damage", [damage_manifest, damage_vectors, truncate_vectors, damage_words, remove_files])
def test_a_damaged_index_is_rebuilt_with_a_warning(tmp_path, store, damage, caplog):
    rows, vectors = corpus(120)
    store.put(SHARED, rows, vectors)
    asked = queries(3, vectors)
    before = [list(map(ids, store.lexical(asked))), list(map(ids, store.nearest(asked)))]
    store.close()
    damage(tmp_path / "index")
    with caplog.at_level(logging.WARNING, logger="dragoman"):
        assert [list(map(ids, store.lexical(asked))), list(map(ids, store.nearest(asked)))] == before
    assert caplog.records and "w1" not in " ".join(caplog.messages).replace(str(tmp_path), "")


def test_an_index_of_an_older_format_is_rebuilt(tmp_path, store, rebuilt):
    rows, vectors = corpus(120)
    store.put(SHARED, rows, vectors)
    asked = queries(3, vectors)
    before = store.lexical(asked)
    store.close()
    for path in (tmp_path / "index").rglob("manifest.json"):
        held = json.loads(path.read_text())
        path.write_text(json.dumps({key: held[key] for key in ("store", "counter", "width")} | {"format": 1}))
    assert store.lexical(asked) == before
    assert rebuilt == ["WordIndex", "WordIndex"]


def test_an_index_of_another_store_is_not_trusted(tmp_path, store):
    rows, vectors = corpus(120)
    store.put(SHARED, rows, vectors)
    store.lexical(queries(1, vectors)), store.nearest(queries(1, vectors))
    store.close()
    for path in tmp_path.glob("store.db*"):
        path.unlink()
    fresh = SqliteStore(path=tmp_path / "store.db", analyse=words, index_above=50)
    others = [Passage(f"q{i}", "DOCS", f"zeppelin {i}") for i in range(60)]
    fresh.put(SHARED, others, vectors[:60])
    query = Query(SHARED, "DOCS", 5, tokens=("zeppelin",), vector=vectors[0].tolist())
    assert len(fresh.lexical([query])[0]) == 5
    assert ids(fresh.nearest([query])[0])[0] == "q0"
    fresh.close()


def test_scores_do_not_jump_when_a_source_outgrows_the_threshold(tmp_path):
    rows, vectors = corpus(200)
    small = SqliteStore(path=tmp_path / "a" / "store.db", analyse=words, index_above=1000)
    large = SqliteStore(path=tmp_path / "b" / "store.db", analyse=words, index_above=10)
    for each in (small, large):
        each.put(SHARED, rows, vectors)
    for a, b in zip(small.lexical(queries(10, vectors)), large.lexical(queries(10, vectors)), strict=True):
        assert [hit.score for hit in a] == pytest.approx([hit.score for hit in b])
    small.close()
    large.close()


@pytest.mark.trust
def test_private_rows_never_go_into_an_index(tmp_path, store):
    rows, vectors = corpus(120)
    ana = Scope("acme", "ana")
    store.put(ana, rows, vectors)
    store.lexical([Query(ana, "DOCS", 3, tokens=("w1",))])
    store.remove(ana, ["p1"])
    assert not (tmp_path / "index").exists()


def test_an_index_can_be_checked_refreshed_and_rebuilt(store, rebuilt):
    rows, vectors = corpus(120)
    store.put(SHARED, rows[:100], vectors[:100])
    (state,) = store.check_index(Scope("acme", "ana"))
    assert (state.source, state.rows, state.words_current, state.vectors_current) == ("DOCS", 100, None, None)
    store.refresh_index(SHARED, "DOCS")
    (state,) = store.check_index(SHARED)
    assert (state.words_current, state.vectors_current) == (True, True)
    store.put(SHARED, rows[100:], vectors[100:])
    (state,) = store.check_index(SHARED)
    assert (state.rows, state.words_current, state.vectors_current) == (120, False, False)
    store.rebuild_index(SHARED, "DOCS")
    (state,) = store.check_index(SHARED)
    assert (state.words_current, state.vectors_current) == (True, True)
    assert rebuilt == ["WordIndex", "VectorIndex"] * 2


def test_odd_tokens_are_harmless(store):
    rows, _ = corpus(60)
    odd = Passage("odd", "DOCS", "x" * 70_000 + " 渡轮 \x00 w1")
    store.put(SHARED, [*rows, odd])
    asked = [("\ud800",), ("",), (" ",), ("a b",), ("x" * 70_000,), ("渡轮",), ('"', "AND", "tokens:w1")]
    found = store.lexical([Query(SHARED, "DOCS", 3, tokens=tokens) for tokens in asked])
    assert ids(found[5]) == ["odd"]
    assert found[0] == found[1] == found[2] == []


def test_a_held_index_is_named(tmp_path):
    again = exclusive(tmp_path, SHARED, seconds=0.05)
    with exclusive(tmp_path, SHARED, seconds=0), pytest.raises(StoreLockedError, match="being rebuilt"), again:
        pass
    with exclusive(tmp_path, SHARED, seconds=0), exclusive(tmp_path, Scope("other", ""), seconds=0):
        pass


def test_searching_while_another_store_writes_and_removes(tmp_path, store):
    rows, vectors = corpus(160)
    store.put(SHARED, rows[:100], vectors[:100])
    other = SqliteStore(path=tmp_path / "store.db", analyse=words, index_above=50)
    failures, done = [], threading.Event()

    def search():
        try:
            while not done.is_set():
                for asked in queries(2, vectors):
                    other.lexical([asked]), other.nearest([asked])
        except Exception as error:  # noqa: BLE001 - carried to the main thread
            failures.append(error)

    thread = threading.Thread(target=search)
    thread.start()
    for i in range(12):
        store.put(SHARED, rows[100 + i * 5 : 105 + i * 5], vectors[100 + i * 5 : 105 + i * 5])
        store.remove(SHARED, [f"p{i}"])
    done.set()
    thread.join()
    assert failures == []
    exact = InMemoryStore(analyse=words)
    exact.put(SHARED, list(store.passages(SHARED, "DOCS")))
    assert [set(ids(hits)) for hits in other.lexical(queries(5, vectors))] == [
        set(ids(hits)) for hits in exact.lexical(queries(5, vectors))
    ]
    other.close()


def test_other_libraries_load_after_the_index_was_used():
    program = "from dragoman.stores.index.vector_index import _usearch; _usearch(); import onnxruntime, xllamacpp"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
