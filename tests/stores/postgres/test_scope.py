"""Each transaction sees the rows of one scope, whatever its statements say; and each machine's index keeps up."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from dragoman.core.errors import StoreError
from dragoman.core.values import Passage, Query, Scope, Turn
from dragoman.stores import InMemoryStore
from dragoman.stores.in_memory import words
from dragoman.stores.postgres import rows as postgres_rows
from dragoman.stores.postgres.dialect import translate
from dragoman.stores.postgres.schema import SCOPED_ROLE, TABLES
from dragoman.stores.postgres.search import exact_statement, graph_statement
from dragoman.testing.stores import ALL, ANA, BEN, FERRY, VECTORS

pytestmark = [pytest.mark.slow, pytest.mark.trust]
SHARED = Scope("acme", "")


@pytest.fixture
def filled(make_store):
    store = make_store()
    for scope in (ANA, BEN, SHARED):
        store.put(scope, ALL, VECTORS)
        store.append(scope, "d", [Turn("user", "hello"), Turn("agent", "hi")], ["trace"])
        store.keep(scope, "key", "value")
    return store


@pytest.mark.parametrize("table", TABLES)
def test_a_statement_without_a_where_sees_only_its_scope(filled, table):
    with filled._database._transaction(ANA) as connection:
        seen = connection.execute(f'SELECT DISTINCT tenant, "user" FROM {table}').fetchall()
        assert seen == [("acme", "ana")]
        changed = connection.execute(f"DELETE FROM {table}").rowcount
        mine = 1 if table in ("places", "kept", "scopes") else 2 if table == "turns" else 3
        assert changed == mine
        connection.rollback()


def test_a_row_cannot_be_written_into_another_scope(filled):
    with pytest.raises(StoreError), filled._database._transaction(ANA) as connection:
        connection.execute("INSERT INTO kept VALUES ('acme', 'ben', 'key2', 'planted')")
    with pytest.raises(StoreError), filled._database._transaction(ANA) as connection:
        connection.execute("""UPDATE kept SET "user" = 'ben'""")
    assert filled.kept(BEN, "key2") is None


def test_without_a_scope_there_are_no_rows(filled):
    with filled._database._transaction(None) as connection:
        for table in set(TABLES) - {"scopes"}:
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert list(filled._database.scopes()) == [SHARED, ANA, BEN]


def test_the_role_is_neither_above_row_level_security_nor_able_to_read_partitions(schema, filled):
    assert schema.run(f"SELECT rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname = '{SCOPED_ROLE}'") == [
        (False, False, False)
    ]
    with pytest.raises(StoreError, match="may not"), filled._database._transaction(ANA) as connection:
        connection.execute("SELECT * FROM passages_00")


def test_an_ordinary_owner_is_held_to_its_scope_without_a_role(schema, make_store):
    schema.run("DROP DATABASE IF EXISTS owned")
    schema.run("DROP ROLE IF EXISTS plain")
    schema.run("CREATE ROLE plain LOGIN")
    schema.run("CREATE DATABASE owned OWNER plain")
    schema.run("CREATE EXTENSION vector", database="owned")
    store = make_store(url=schema.url(user="plain", database="owned"))
    store.put(ANA, ALL, VECTORS)
    store.put(BEN, ALL[:1], VECTORS[:1])
    with store._database._transaction(BEN) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("plain",)
        assert connection.execute("SELECT count(*) FROM passages").fetchone() == (1,)
        partitions = [f"SELECT count(*) AS n FROM passages_{i:02}" for i in range(16)]
        total = connection.execute(f"SELECT sum(n) FROM ({' UNION ALL '.join(partitions)}) AS all_of_them").fetchone()
        assert total == (1,)
    assert store.count(ANA, "NOTES") == 3


def test_a_user_who_only_has_the_role_reads_writes_and_searches_exactly(schema, make_store):
    schema.run("DROP ROLE IF EXISTS application")
    schema.run(f"CREATE ROLE application LOGIN IN ROLE {SCOPED_ROLE}")
    store = make_store(url=schema.url(user="application"), index_above=1)
    vectors = np.eye(5, dtype=np.float32)
    store.put(SHARED, [Passage(f"p{i}", "NOTES", f"row {i}") for i in range(5)], vectors)
    assert store.nearest([Query(SHARED, "NOTES", 1, vector=(0, 0, 1, 0, 0))])[0][0].passage.id == "p2"
    assert store._search._graphs == {5: False}, "it may not make an index, so every row is compared"


def test_rows_of_many_users_are_spread_over_partitions(schema, make_store):
    store = make_store()
    for i in range(40):
        store.keep(Scope("acme", f"user{i}"), "key", "value")
    used = schema.run("SELECT count(DISTINCT tableoid) FROM dragoman.kept")[0][0]
    assert 8 <= used <= 16


def test_a_removal_on_one_machine_reaches_the_index_of_another(make_store):
    here, there = make_store(index_above=1), make_store(index_above=1)
    rows = [Passage(f"p{i}", "NOTES", f"number{i} shared secret{i}") for i in range(6)]
    here.put(SHARED, rows)
    query = Query(SHARED, "NOTES", 10, tokens=("shared",))
    assert len(there.lexical([query])[0]) == 6
    here.remove(SHARED, ["p3"])
    assert [hit.passage.id for hit in there.lexical([query])[0]] == ["p0", "p1", "p2", "p4", "p5"]
    assert there.frequencies(SHARED, "NOTES", ["secret3", "shared"]) == (5, {"secret3": 0, "shared": 5})
    here.put(SHARED, [Passage("p4", "NOTES", "other words")])
    assert there.frequencies(SHARED, "NOTES", ["secret4", "other"]) == (5, {"secret4": 0, "other": 1})
    here.forget(SHARED)
    here.put(SHARED, rows[:2])
    assert there.frequencies(SHARED, "NOTES", ["shared"]) == (2, {"shared": 2})


def test_the_graph_finds_what_exact_search_finds(make_store, schema):
    chance = np.random.default_rng(5)
    vectors = chance.normal(size=(600, 8)).astype(np.float32)
    rows = [Passage(f"p{i}", "NOTES", f"row {i}", parent=f"parent{i % 3}") for i in range(600)]
    store, exact = make_store(index_above=100), InMemoryStore(analyse=words)
    store.put(SHARED, rows, vectors)
    exact.put(SHARED, rows, vectors)
    store.refresh_index(SHARED, "NOTES")
    assert store._search._graphs == {8: True}
    some = frozenset({"parent1"})
    queries = [Query(SHARED, "NOTES", 10, vector=tuple(row)) for row in chance.normal(size=(20, 8)).tolist()]
    queries += [Query(SHARED, "NOTES", 10, vector=query.vector, parents=some) for query in queries[:5]]
    for found, wanted in zip(store.nearest(queries), exact.nearest(queries), strict=True):
        assert len({hit.passage.id for hit in found} & {hit.passage.id for hit in wanted}) >= 9
        assert np.isclose(found[0].score, wanted[0].score, atol=1e-5)


def test_the_planner_can_use_the_graph_for_the_statement_that_is_sent(make_store):
    store = make_store(index_above=100)
    vectors = np.random.default_rng(5).normal(size=(300, 8)).astype(np.float32)
    store.put(SHARED, [Passage(f"p{i}", "NOTES", f"row {i}") for i in range(300)], vectors)
    store.refresh_index(SHARED, "NOTES")
    from pgvector import Vector

    bound = {"source": "NOTES", "k": 5, "without": [], "vector": Vector(vectors[0]), "tenant": "acme", "user": ""}
    bound["encoder"] = "some encoder"
    with store._database._transaction(SHARED) as connection:
        connection.execute("SET LOCAL enable_sort = off")
        connection.execute("SET LOCAL enable_seqscan = off")
        sql = f"EXPLAIN {translate(graph_statement(8, parents=False)).sql}"
        plan = "\n".join(line for (line,) in connection.execute(sql, bound).fetchall())
    assert "vectors_" in plan and "<=>" in plan and "Order By" in plan


def test_a_private_search_is_exact_and_reads_one_partition(make_store):
    store, exact = make_store(), InMemoryStore(analyse=words)
    vectors = np.random.default_rng(7).normal(size=(60, 8)).astype(np.float32)
    rows = [Passage(f"p{i}", "NOTES", f"row {i}") for i in range(60)]
    for each in (store, exact):
        each.put(ANA, rows, vectors)
    query = Query(ANA, "NOTES", 7, vector=tuple(vectors[3].tolist()), without=frozenset({"p3"}))
    found, wanted = store.nearest([query])[0], exact.nearest([query])[0]
    assert [hit.passage for hit in found] == [hit.passage for hit in wanted]
    assert np.allclose([hit.score for hit in found], [hit.score for hit in wanted], atol=1e-6)
    bound = {"tenant": "acme", "user": "ana", "source": "NOTES", "width": 8, "k": 7, "without": []}
    bound["encoder"] = "some encoder"
    with store._database._transaction(ANA) as connection:
        sql = f"EXPLAIN {translate(exact_statement(parents=False)).sql}"
        plan = "\n".join(line for (line,) in connection.execute(sql, bound | {"vector": vectors[3]}).fetchall())
        assert "Join Filter" not in plan  # passages are looked up one by one, also before the server has counted rows
        sql = """EXPLAIN SELECT * FROM vectors WHERE tenant = 'acme' AND "user" = 'ana'"""
        plan = "\n".join(line for (line,) in connection.execute(sql).fetchall())
    assert len({word for word in plan.split() if word.startswith("vectors_") and "pkey" not in word}) == 1


def test_writers_to_one_dialogue_do_not_mingle_their_turns(make_store):
    store = make_store(connections=6)

    def talk(name):
        for i in range(10):
            store.append(ANA, "d", [Turn("user", f"{name}{i}"), Turn("agent", f"{name}{i}")], [name])

    threads = [threading.Thread(target=talk, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = [turn.text for turn in store.dialogue(ANA, "d")]
    assert len(said) == 80 and said[::2] == said[1::2]
    for name in "abcd":
        assert [text for text in said[::2] if text[0] == name] == [f"{name}{i}" for i in range(10)]


def test_the_same_passage_from_many_writers_is_one_row(make_store):
    stores = [make_store() for _ in range(4)]
    written = []
    threads = [threading.Thread(target=lambda s=s: written.append(s.put(ANA, [FERRY], VECTORS[:1]))) for s in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(written) == [0, 0, 0, 1]
    assert stores[0].count(ANA, "NOTES") == 1


def test_a_killed_connection_in_the_pool_is_replaced_unnoticed(schema, make_store):
    store = make_store(connections=2)
    store.put(ANA, [FERRY])
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dragoman'"
    schema.run(kill)
    assert store.get(ANA, ["ferry"]) == [FERRY]
    schema.run(kill)
    assert store.nearest([Query(ANA, "NOTES", 1, vector=(1.0,))]) == [[]]


def test_a_read_of_one_statement_is_scoped_and_leaves_nothing_behind(filled):
    read = filled._database.read
    sql = "SELECT DISTINCT tenant, user FROM passages WHERE tenant = :tenant AND user = :user"
    assert [read(scope, sql) for scope in (ANA, BEN)] == [[("acme", "ana")], [("acme", "ben")]]
    with pytest.raises(StoreError, match="not held to a scope"):
        read(ANA, "SELECT id FROM passages")
    with pytest.raises(StoreError):
        read(ANA, "SELECT 1 / (seq - seq) FROM passages WHERE tenant = :tenant AND user = :user")
    with filled._database.opened().connection() as connection:
        assert connection.execute("SELECT current_setting('dragoman.tenant', true)").fetchone() in ((None,), ("",))
    assert read(BEN, sql) == [("acme", "ben")]


def test_reads_that_fail_or_take_too_long_leave_their_connection_whole(make_store):
    store = make_store(connections=1, statement_seconds=0.3)
    for scope in (ANA, BEN):
        store.put(scope, [FERRY])
    read, own = store._database.read, "FROM passages WHERE tenant = :tenant AND user = :user"
    for _ in range(8):  # more than it takes the driver to prepare a statement
        with pytest.raises(StoreError):
            read(ANA, f"SELECT 1 / (seq - seq) {own}")
        assert [read(scope, f"SELECT user {own}") for scope in (BEN, ANA)] == [[("ben",)], [("ana",)]]
    with pytest.raises(StoreError, match=r"0\.3"):
        read(ANA, f"SELECT pg_sleep(9)::text {own}")
    assert read(BEN, f"SELECT user {own}") == [("ben",)]


def test_ids_with_control_characters_are_told_apart(make_store):
    store = make_store()
    rows = [Passage(id_, "NOTES", f"text \x00 {i} \x10") for i, id_ in enumerate(("a\x10", "a\x101", "a", "a0"))]
    store.put(ANA, rows)
    assert store.get(ANA, [row.id for row in rows]) == rows
    assert store.get(ANA, ["a\x00"]) == [None]


@pytest.mark.parametrize("most", [(2, 2**22), (256, 40)])
def test_rows_written_at_once_are_as_given_however_they_are_grouped(make_store, monkeypatch, most):
    monkeypatch.setattr(postgres_rows, "_MOST_ROWS", most[0])
    monkeypatch.setattr(postgres_rows, "_MOST_TEXT", most[1])
    store = make_store()
    rows = [
        Passage("a", "NOTES", 'one {"} \\ NULL, \x00', headings=("H",), position=2**40),
        Passage("b", "NOTES", "", parent="p", meta={"k": "\x10"}),
        Passage("c", "NOTES", "NULL", title="null", origin="o"),
        Passage("d", "OTHER", "雨" * 50, position=-1),
        Passage("e", "NOTES", "last"),
    ]
    vectors = np.eye(5, dtype=np.float32)
    assert store.put(ANA, rows, vectors) == 5 and store.put(ANA, rows, vectors) == 0
    assert list(store.passages(ANA, "NOTES")) == [rows[i] for i in (0, 1, 2, 4)]
    assert store.get(ANA, ["d"]) == [rows[3]]
    (hits,) = store.nearest([Query(ANA, "NOTES", 1, vector=tuple(vectors[4].tolist()))])
    assert [hit.passage for hit in hits] == [rows[4]]
