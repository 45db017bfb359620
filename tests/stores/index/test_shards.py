"""Shards: as one index in every answer, each mended, changed and rebuilt without the others."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import seconds_of

from dragoman.core.errors import InputError, StoreError
from dragoman.core.values import Passage, Query, Scope
from dragoman.stores import InMemoryStore, SqliteStore
from dragoman.stores.in_memory import words
from dragoman.stores.index.merging import merged
from dragoman.stores.index.shards import Drafts, IndexManifest, IndexShard, RowSpan, discard, sum_of, sweep
from dragoman.stores.index.sidecar import Sidecar
from dragoman.stores.index.vector_index import VectorIndex
from dragoman.stores.index.word_index import WordIndex

SHARED = Scope("acme", "")
CHANCE = np.random.default_rng(3)
VECTORS = CHANCE.normal(size=(400, 16)).astype(np.float32)


def row(i, text=None):
    return Passage(f"p{i}", "DOCS", text or f"number{i} common {'even' if i % 2 else 'odd'} " + "long " * (i % 50))


def ids(hits):
    return [hit.passage.id for hit in hits]


@contextmanager
def sized(words_of, vectors_of=40, inline=1000):
    """Shards of other sizes."""
    with pytest.MonkeyPatch.context() as patch:
        for index, capacity in ((WordIndex, words_of), (VectorIndex, vectors_of)):
            patch.setattr(index, "capacity", capacity)
            patch.setattr(index, "inline", inline)
        yield patch


@pytest.fixture
def small():
    with sized(30) as patch:
        yield patch


@pytest.fixture
def store(tmp_path, small):
    store = SqliteStore(path=tmp_path / "store.db", analyse=words, index_above=20)
    yield store
    store.close()


@pytest.fixture
def built(monkeypatch):
    """Where the shards began that were built from the store."""
    seen, draft = [], Sidecar._draft
    monkeypatch.setattr(
        Sidecar,
        "_draft",
        lambda self, span, *a, **k: (seen.append((self.folder.name, span.after)), draft(self, span, *a, **k))[1],
    )
    return seen


def manifest(folder, kind):
    (path,) = (folder / "index").glob(f"*/{kind}")
    made = (WordIndex if kind == "words" else VectorIndex)(path, "")
    made._store = __import__("json").loads((path / "manifest.json").read_text())["store"]
    return made.manifest()


texts = st.lists(st.sampled_from("ferry harbour lamp tide gull mast buoy".split()), min_size=1, max_size=60)


def test_shards_answer_as_exact_search(store, small):
    exact = InMemoryStore(analyse=words)
    for each in (store, exact):
        each.put(SHARED, [row(i) for i in range(100)])
    asked = [("even",), ("long", "odd"), ("number7", "number70", "long", "long"), ("common",), ("nowhere",)]
    queries = [Query(SHARED, "DOCS", k, tokens=tokens) for tokens in asked for k in (1, 10, 99)]
    ours, theirs = store.lexical(queries), exact.lexical(queries)
    assert list(map(ids, ours)) == list(map(ids, theirs))
    for mine, wanted in zip(ours, theirs, strict=True):
        assert [hit.score for hit in mine] == pytest.approx([hit.score for hit in wanted], rel=1e-9)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(texts, min_size=6, max_size=40),
    later=st.lists(texts, max_size=12),
    capacity=st.integers(3, 25),
    asked=st.lists(texts, min_size=1, max_size=4),
    k=st.integers(1, 12),
)
def test_shards_answer_as_one_index_and_as_exact_search(tmp_path_factory, rows, later, capacity, asked, k):
    folder = tmp_path_factory.mktemp("shards")
    with sized(capacity):
        sharded = SqliteStore(path=folder / "a" / "store.db", analyse=words, index_above=3)
        exact = InMemoryStore(analyse=words)
        queries = [Query(SHARED, "DOCS", k, tokens=tuple(tokens)) for tokens in asked]
        for start, batch in ((0, rows), (len(rows), later)):
            given_rows = [row(start + i, " ".join(tokens)) for i, tokens in enumerate(batch)]
            for each in (sharded, exact):
                each.put(SHARED, given_rows)
            sharded.lexical(queries)
        found = sharded.lexical(queries)
        shards = len(manifest(folder / "a", "words").shards)
        sharded.close()
    with sized(10_000):
        shutil.rmtree(folder / "a" / "index")
        assert sharded.lexical(queries) == found
        assert len(manifest(folder / "a", "words").shards) == 1
        sharded.close()
    assert shards >= (len(rows) + len(later)) // capacity
    for ours, theirs in zip(found, exact.lexical(queries), strict=True):
        assert ids(ours) == ids(theirs)
        assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs], rel=1e-9)
    shutil.rmtree(folder)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(["put", "edit", "remove", "supersede"]), st.integers(0, 99)), max_size=10))
def test_whatever_happens_to_rows_shows_in_the_next_search(tmp_path_factory, acts):
    folder = tmp_path_factory.mktemp("acts")
    with sized(8, vectors_of=9, inline=20):
        stores = [SqliteStore(path=folder / "store.db", analyse=words, index_above=3), InMemoryStore(analyse=words)]
        for each in stores:
            each.put(SHARED, [row(i) for i in range(30)], VECTORS[:30])
        for step, (act, i) in enumerate(acts):
            for each in stores:
                if act == "put":
                    each.put(SHARED, [row(100 + step)], VECTORS[100 + step][None])
                elif act == "edit":
                    each.put(SHARED, [row(i % 30, f"edited {step} number{i % 30}")], VECTORS[200 + step][None])
                elif act == "remove":
                    each.remove(SHARED, [f"p{i % 30}"])
                elif each.get(SHARED, [f"p{i % 30}"]) != [None]:
                    each.supersede(SHARED, f"p{i % 30}", "p1")
            asked = [Query(SHARED, "DOCS", 4, tokens=("common", "edited", f"number{i % 30}"))]
            asked.append(Query(SHARED, "DOCS", 1, tokens=("even",), vector=VECTORS[i % 30].tolist()))
            ours, theirs = stores[0].lexical(asked), stores[1].lexical(asked)
            assert list(map(ids, ours)) == list(map(ids, theirs))
            assert ids(stores[0].nearest(asked[1:])[0]) == ids(stores[1].nearest(asked[1:])[0])
        stores[0].close()
    shutil.rmtree(folder)


def test_rows_lie_in_shards_in_the_order_they_came(store, tmp_path):
    store.put(SHARED, [row(i) for i in range(100)], VECTORS[:100])
    store.refresh_index(SHARED, "DOCS")
    held = manifest(tmp_path, "words")
    assert [shard.rows for shard in held.shards] == [30, 30, 30, 10]
    assert [(shard.after, shard.last) for shard in held.shards] == [(0, 30), (30, 60), (60, 90), (90, 100)]
    assert [shard.rows for shard in manifest(tmp_path, "vectors").shards] == [40, 40, 20]
    found = store.nearest([Query(SHARED, "DOCS", 1, vector=vector.tolist()) for vector in VECTORS[:100]])
    assert [ids(hits) for hits in found] == [[f"p{i}"] for i in range(100)]


def test_one_changed_row_costs_the_words_of_one_shard(store, built):
    store.put(SHARED, [row(i) for i in range(100)], VECTORS[:100])
    store.refresh_index(SHARED, "DOCS")
    built.clear()
    store.put(SHARED, [row(45, "zeppelin")], VECTORS[300:301])
    assert ids(store.lexical([Query(SHARED, "DOCS", 3, tokens=("zeppelin",))])[0]) == ["p45"]
    assert ids(store.nearest([Query(SHARED, "DOCS", 1, vector=VECTORS[300].tolist())])[0]) == ["p45"]
    assert built == [("words", 30)]


def test_many_new_rows_take_a_half_empty_last_shard_along(tmp_path, store, small):
    store.put(SHARED, [row(i) for i in range(35)], VECTORS[:35])
    store.refresh_index(SHARED, "DOCS")
    small.setattr(WordIndex, "inline", 20)
    store.put(SHARED, [row(i) for i in range(35, 95)])
    store.lexical([Query(SHARED, "DOCS", 3, tokens=("common",))])
    assert [shard.rows for shard in manifest(tmp_path, "words").shards] == [30, 30, 30, 5]


def test_rows_in_memory_only_are_found_by_who_opens_the_files(store, tmp_path):
    store.put(SHARED, [row(i) for i in range(60)], VECTORS[:60])
    store.refresh_index(SHARED, "DOCS")
    store.put(SHARED, [row(60)], VECTORS[60:61])
    query = Query(SHARED, "DOCS", 1, vector=VECTORS[60].tolist())
    assert ids(store.nearest([query])[0]) == ["p60"]
    assert sum(shard.rows for shard in manifest(tmp_path, "vectors").shards) == 60
    other = SqliteStore(path=tmp_path / "store.db", analyse=words, index_above=20)
    assert ids(other.nearest([query])[0]) == ["p60"]
    other.remove(SHARED, ["p60"])
    assert ids(store.nearest([query])[0]) != ["p60"]
    other.put(SHARED, [row(61)], VECTORS[60:61])
    assert ids(store.nearest([query])[0]) == ["p61"]
    other.close()


@pytest.mark.trust
@pytest.mark.parametrize("kind", ["words", "vectors"])
def test_a_damaged_shard_is_mended_alone_and_named(store, tmp_path, built, caplog, kind):
    store.put(SHARED, [row(i) for i in range(100)], VECTORS[:100])
    store.refresh_index(SHARED, "DOCS")
    asked = [Query(SHARED, "DOCS", 5, tokens=("even", "number7"), vector=VECTORS[7].tolist())]
    before = store.lexical(asked), store.nearest(asked)
    store.close()
    shard = manifest(tmp_path, kind).shards[1]
    (path,) = (tmp_path / "index").glob(f"*/{kind}/{shard.name}")
    victim = max(path.iterdir(), key=lambda file: file.stat().st_size) if path.is_dir() else path
    raw = bytearray(victim.read_bytes())
    raw[len(raw) // 2] ^= 255
    victim.write_bytes(bytes(raw))
    (state,) = store.check_index(SHARED)
    assert state.problems == (f"the shard of {kind} after row {shard.after} is damaged ({shard.rows} rows)",)
    built.clear()
    with caplog.at_level(logging.WARNING, logger="dragoman"):
        assert (store.lexical(asked), store.nearest(asked)) == before
    assert built == [(kind, shard.after)]
    assert f"after row {shard.after}" in caplog.text and "rebuilt from the store" in caplog.text
    assert store.check_index(SHARED)[0].problems == ()


@pytest.mark.trust
def test_searches_go_on_while_the_index_is_rebuilt(store, monkeypatch, tmp_path):
    store.put(SHARED, [row(i) for i in range(100)], VECTORS[:100])
    store.refresh_index(SHARED, "DOCS")
    asked = [Query(SHARED, "DOCS", 5, tokens=("even",), vector=VECTORS[7].tolist())]
    before = store.lexical(asked), store.nearest(asked)
    names = {shard.name for kind in ("words", "vectors") for shard in manifest(tmp_path, kind).shards}
    reached, go_on = threading.Event(), threading.Event()
    make = VectorIndex._make

    def slow(self, *given):
        reached.set()
        assert go_on.wait(60)
        return make(self, *given)

    monkeypatch.setattr(VectorIndex, "_make", slow)
    thread = threading.Thread(target=store.rebuild_index, args=(SHARED, "DOCS"))
    thread.start()
    assert reached.wait(60)
    assert (store.lexical(asked), store.nearest(asked)) == before
    store.put(SHARED, [row(200, "zeppelin")])
    assert ids(store.lexical([Query(SHARED, "DOCS", 1, tokens=("zeppelin",))])[0]) == ["p200"]
    assert thread.is_alive()
    after = store.lexical(asked), store.nearest(asked)
    go_on.set()
    thread.join()
    assert (store.lexical(asked), store.nearest(asked)) == after
    assert not names & {shard.name for kind in ("words", "vectors") for shard in manifest(tmp_path, kind).shards}


def test_a_rebuild_tells_of_each_index_how_many_shards_are_built(store):
    store.put(SHARED, [row(i) for i in range(90)], VECTORS[:90])
    told = []
    store.rebuild_index(SHARED, "DOCS", progress=lambda *said: told.append(said))
    assert told == [("words", done, 4) for done in range(5)] + [("vectors", done, 3) for done in range(4)]
    (state,) = store.check_index(SHARED)
    assert (state.word_shards, state.vector_shards, state.is_indexed) == (4, 3, True)


@pytest.mark.trust
@pytest.mark.parametrize("kind", [WordIndex, VectorIndex])
def test_a_row_removed_during_a_rebuild_is_in_no_file_after_it(store, monkeypatch, tmp_path, kind):
    store.put(SHARED, [row(i) for i in range(90)] + [row(90, "quillfeather")], VECTORS[:91])
    store.refresh_index(SHARED, "DOCS")
    make, removed = kind._make, []

    def interrupted(self, path, rows, width):
        rows = list(rows)
        if any(key == 91 for key, _ in rows) and not removed:
            removed.append(store.remove(SHARED, ["p90"]))
        return make(self, path, rows, width)

    monkeypatch.setattr(kind, "_make", interrupted)
    store.rebuild_index(SHARED, "DOCS")
    assert removed == [1]
    assert store.lexical([Query(SHARED, "DOCS", 1, tokens=("quillfeather",))]) == [[]]
    small = np.trunc(VECTORS[90] / np.linalg.norm(VECTORS[90]) * 127).astype(np.int8).tobytes()
    for path in (tmp_path / "index").rglob("*"):
        assert not path.is_file() or small not in path.read_bytes()
    assert not list((tmp_path / "index").rglob("drafts"))


def test_a_broken_off_build_goes_on_where_it_was(store, monkeypatch, built):
    store.put(SHARED, [row(i) for i in range(100)], VECTORS[:100])
    make, calls = WordIndex._make, []

    def third_fails(self, *given):
        calls.append(1)
        if len(calls) == 3:
            raise OSError("No space left on device")
        return make(self, *given)

    monkeypatch.setattr(WordIndex, "_make", third_fails)
    with pytest.raises(StoreError, match="could not be built: No space left") as refused:
        store.refresh_index(SHARED, "DOCS")
    assert "nothing is lost" in refused.value.remedy
    built.clear()
    query = Query(SHARED, "DOCS", 1, tokens=("number99",))
    assert ids(store.lexical([query])[0]) == ["p99"]
    assert built == [("words", 60), ("words", 90)]


def test_a_write_that_fails_after_the_purge_loses_nothing(store, monkeypatch):
    store.put(SHARED, [row(i) for i in range(100)], VECTORS[:100])
    store.refresh_index(SHARED, "DOCS")
    monkeypatch.setattr("dragoman.stores.passage_writes._DELETE", "DELETE FROM nowhere")
    with pytest.raises(StoreError):
        store.remove(SHARED, ["p45"])
    monkeypatch.undo()
    query = Query(SHARED, "DOCS", 1, tokens=("number45",), vector=VECTORS[45].tolist())
    assert ids(store.lexical([query])[0]) == ids(store.nearest([query])[0]) == ["p45"]


def test_a_store_put_back_to_an_older_state_gets_another_index(store, tmp_path):
    store.put(SHARED, [row(i) for i in range(60)], VECTORS[:60])
    store.close()
    shutil.copy(tmp_path / "store.db", tmp_path / "older.db")
    store.put(SHARED, [row(60, "zeppelin")], VECTORS[60:61])
    query = Query(SHARED, "DOCS", 1, tokens=("zeppelin",), vector=VECTORS[60].tolist())
    assert ids(store.lexical([query])[0]) == ids(store.nearest([query])[0]) == ["p60"]
    store.close()
    shutil.move(tmp_path / "older.db", tmp_path / "store.db")
    assert store.lexical([query]) == [[]] and ids(store.nearest([query])[0]) != ["p60"]


def test_rows_of_a_shard_are_found_by_hand():
    held = IndexManifest("s", 9, (IndexShard(0, "a"), IndexShard(30, "b"), IndexShard(60)))
    assert [held.place_of(key) for key in (1, 30, 31, 60, 61, 999)] == [0, 0, 1, 1, 2, 2]
    assert [held.span(place) for place in range(3)] == [RowSpan(0, 30), RowSpan(30, 60), RowSpan(60, None)]
    assert held.missing() == [RowSpan(60, None)] and held.void([0]).missing() == [RowSpan(0, 30), RowSpan(60, None)]


ranked = st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), max_size=12).map(sorted), max_size=6)


@given(ranked, st.integers(1, 20), st.integers(1, 20))
def test_merging_gives_the_lowest_of_all(shards, n, first):
    asks = [lambda count, mine=mine: mine[:count] for mine in shards]
    assert merged(asks, n, first=first) == sorted(row for mine in shards for row in mine)[:n]


def test_a_sum_tells_any_change_of_a_folder(tmp_path):
    folder = tmp_path / "shard"
    folder.mkdir()
    (folder / "a").write_bytes(b"xy")
    before = sum_of(folder)
    (folder / "tantivy.lock").touch()
    assert sum_of(folder) == before
    (folder / "a").write_bytes(b"xz")
    assert sum_of(folder) != before
    (folder / "a").rename(folder / "b")
    (folder / "b").write_bytes(b"xy")
    assert sum_of(folder) != before


def test_drafts_of_removed_rows_are_spoilt_and_others_stay(tmp_path):
    drafts = Drafts(tmp_path, "s")
    for after in (0, 30):
        drafts.begin(RowSpan(after, after + 30)).write_bytes(b"x")
        drafts.finish(RowSpan(after, after + 30), IndexShard(after, "n", 5), 0)
    assert drafts.finished(RowSpan(0, 30), 0, 4) is None, "newer than the store"
    assert drafts.finished(RowSpan(0, 29), 0, 9) is None, "of other rows"
    drafts.spoil([31])
    assert (
        drafts.finished(RowSpan(0, 30), 0, 9) == IndexShard(0, "n", 5)
        and drafts.finished(RowSpan(30, 60), 0, 9) is None
    )
    with pytest.raises(OSError):
        drafts.finish(RowSpan(30, 60), IndexShard(30, "n", 5), 0)
    drafts.adopt(IndexShard(0, "n", 5), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["n"]
    sweep(tmp_path, IndexManifest("s", 0, (IndexShard(0, "m"),)))
    discard(tmp_path / "n")
    assert list(tmp_path.iterdir()) == []


def test_a_refused_query_is_refused_by_shards_too(store):
    store.put(SHARED, [row(i) for i in range(100)], VECTORS[:100])
    with pytest.raises(InputError):
        store.nearest([Query(SHARED, "DOCS", 1, vector=(float("nan"),) * 16)])


@pytest.mark.slow
@pytest.mark.trust
def test_another_machine_mends_only_the_shards_that_differ(make_store, small, built):
    here, there = make_store(index_above=20), make_store(index_above=20)
    here.put(SHARED, [row(i) for i in range(100)])
    query = Query(SHARED, "DOCS", 100, tokens=("common",))
    assert len(there.lexical([query])[0]) == 100
    here.lexical([query])
    built.clear()
    here.remove(SHARED, ["p45"])
    here.put(SHARED, [row(70, "zeppelin")])
    assert len(there.lexical([query])[0]) == 98
    assert there.frequencies(SHARED, "DOCS", ["number45", "zeppelin"]) == (99, {"number45": 0, "zeppelin": 1})
    assert [span % 30 for _, span in built] == [built[0][1] % 30] * 2, "two of four"
    assert len(built) == 2


@pytest.mark.slow
def test_fifty_thousand_rows_in_shards(tmp_path):
    chance = np.random.default_rng(11)
    ranks = np.minimum(chance.zipf(1.2, size=(50_000, 30)), 20_000)
    centres = chance.normal(size=(500, 64))
    vectors = (centres[chance.integers(0, 500, 50_000)] + 0.7 * chance.normal(size=(50_000, 64))).astype(np.float32)
    rows = [Passage(f"p{i}", "DOCS", " ".join(f"w{rank}" for rank in each)) for i, each in enumerate(ranks.tolist())]
    exact = InMemoryStore(analyse=words)
    with sized(8192, vectors_of=16_384, inline=9000):
        store = SqliteStore(path=tmp_path / "store.db", analyse=words)
        for start in range(0, 50_000, 5000):
            for each in (store, exact):
                each.put(SHARED, rows[start : start + 5000], vectors[start : start + 5000])
        building = seconds_of(lambda: store.refresh_index(SHARED, "DOCS"), clock=time.process_time)
        asked = [
            Query(SHARED, "DOCS", 10, tuple(f"w{rank}" for rank in ranks[i, :4]), tuple(vectors[i].tolist()))
            for i in chance.integers(0, 50_000, 40).tolist()
        ]
        assert list(map(ids, store.lexical(asked))) == list(map(ids, exact.lexical(asked)))
        shared = sum(
            len(set(ids(a)) & set(ids(b))) for a, b in zip(store.nearest(asked), exact.nearest(asked), strict=True)
        )
        assert shared >= 0.97 * 400

        def add_and_find(number):
            store.put(SHARED, [row(number, f"zeppelin{number}")], vectors[:1])
            assert ids(store.lexical([Query(SHARED, "DOCS", 1, tokens=(f"zeppelin{number}",))])[0]) == [f"p{number}"]

        added = min(seconds_of(partial(add_and_find, 60_000 + i), clock=time.process_time) for i in range(3))
        assert added < building / 10, "one row more builds no index anew"
        store.close()
