"""Shared statements and any text, in words that PostgreSQL understands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.stores import dialogues, group_commit, passage_writes, search, sql_store
from dragoman.stores.index import feed, index_manager
from dragoman.stores.postgres import search as postgres_search
from dragoman.stores.postgres.address import PostgresAddress, is_postgres
from dragoman.stores.postgres.dialect import bulk, escape, translate, unescape
from dragoman.stores.postgres.schema import migrations
from dragoman.stores.sqlite.database import check_scoped
from dragoman.stores.transfer import table_records


@given(st.text())
def test_any_text_survives_without_nul(text):
    assert "\x00" not in escape(text)
    assert unescape(escape(text)) == text


@given(st.text(st.sampled_from("\x00\x1001a")), st.text(st.sampled_from("\x00\x1001a")))
def test_different_texts_stay_different(left, right):
    assert (escape(left) == escape(right)) == (left == right)


def test_a_statement_is_translated_by_hand():
    shared = """SELECT p.user, length::int FROM passages AS p NOT INDEXED WHERE p.tenant = :tenant AND p.user = :user
    AND id IN (SELECT value FROM json_each(:ids)) AND superseded_by IS NULL"""
    statement = translate(shared)
    assert " ".join(statement.sql.split()) == (
        'SELECT p."user", length::int FROM passages AS p WHERE p.tenant = %(tenant)s AND p."user" = %(user)s '
        "AND id = ANY(%(ids)s) AND superseded_by IS NULL"
    )
    assert statement.lists == {"ids"}


@pytest.mark.parametrize(
    "module", [feed, postgres_search, table_records, search, index_manager, sql_store, passage_writes]
)
def test_no_statement_keeps_a_word_of_sqlite_only(module):
    statements = [text for name, text in vars(module).items() if isinstance(text, str) and ":tenant" in text]
    assert statements
    for sql in statements:
        check_scoped(sql)
        translated = translate(sql).sql
        assert "json_each" not in translated and "NOT INDEXED" not in translated
        assert "ON CONFLICT DO" not in translated


def test_an_insert_of_one_row_becomes_one_of_many_by_hand():
    shared = """INSERT INTO vectors (tenant, user, seq, parent, superseded, vector)
    VALUES (:tenant, :user, :seq, :parent, 0, :vector) ON CONFLICT (tenant, user, seq) DO NOTHING"""
    insert = bulk(shared)
    assert insert is not None and insert.columns == ("seq", "parent", "vector")
    assert " ".join(insert.sql.split()) == (
        'INSERT INTO vectors (tenant, "user", seq, parent, superseded, vector) '
        "SELECT %(tenant)s, %(user)s, given.seq, given.parent, 0, given.vector "
        "FROM unnest(%(seq)b::bigint[], %(parent)b::text[], %(vector)b::vector[]) AS given (seq, parent, vector) "
        'ON CONFLICT (tenant, "user", seq) DO NOTHING'
    )


def test_only_rows_with_keys_of_their_own_are_inserted_at_once():
    statements = {
        name: text
        for module in (group_commit, dialogues, table_records, passage_writes)
        for name, text in vars(module).items()
        if isinstance(text, str) and ":tenant" in text
    }
    assert {name for name, text in statements.items() if bulk(text)} == {"_INSERT", "PUT_VECTOR"}


def test_migrations_are_numbered_and_say_what_they_are_for():
    assert [step.name for step in migrations()] == [
        "passages, vectors, dialogues and kept values, each scope's rows in one of sixteen partitions",
        "find the rows of a file, or under a parent, without reading the whole source",
        "what several servers share: requests that were answered, the line of each dialogue, keys and what they used",
        "the erasures of each scope, so that a turn that began before one stores nothing after it",
        "when a turn was said",
        "which encoder the vectors of a source are from, and how far a change of it has come",
        "search by time: when a fact was said, or the day of a document",
    ]


def test_an_address_is_shown_without_its_password(monkeypatch):
    monkeypatch.setenv("PLACE", "postgresql://ana:hunter2@db.example:5433/agents?sslmode=require")
    address = PostgresAddress.of("env:PLACE")
    assert address.where == str(address) == "postgresql://ana@db.example:5433/agents"
    assert "hunter2" not in repr(address) and address.parameters["password"] == "hunter2"
    assert is_postgres("env:PLACE") and is_postgres("postgres://x/y") and not is_postgres("some/file.db")
