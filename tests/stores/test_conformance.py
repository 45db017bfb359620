"""Our own stores are held to the contract, the SQLite one also with everything shared going through its index."""

from __future__ import annotations

import pytest

from dragoman.core.protocols import Store
from dragoman.core.values import Scope
from dragoman.stores import InMemoryStore, SqliteStore
from dragoman.stores.in_memory import words
from dragoman.testing import stores
from dragoman.testing.stores import StoreConformance


class TestInMemoryStore(StoreConformance):
    @pytest.fixture
    def store(self):
        return InMemoryStore(analyse=words)


class TestSqliteStore(StoreConformance):
    @pytest.fixture
    def store(self, tmp_path):
        store = SqliteStore(path=tmp_path / "store.db", analyse=words)
        yield store
        store.close()


class TestSqliteStoreThroughItsIndex(StoreConformance):
    @pytest.fixture
    def store(self, tmp_path, monkeypatch):
        shared = {name: Scope(getattr(stores, name).tenant, "") for name in ("ANA", "OTHER_ANA")}
        monkeypatch.setattr(stores, "OTHER_ANA", shared["OTHER_ANA"])
        monkeypatch.setattr(stores, "ANA", _SharedAna("acme", ""))
        store = SqliteStore(path=tmp_path / "store.db", analyse=words, index_above=0)
        yield store
        store.close()


class _SharedAna(Scope):
    """Shared itself, so that its rows go through the index; `.shared` gives a third scope to tell apart."""

    @property
    def shared(self):
        return Scope("third", "")


def test_both_satisfy_the_protocol(tmp_path):
    assert isinstance(InMemoryStore(), Store)
    assert isinstance(SqliteStore(path=tmp_path / "store.db", analyse=words), Store)
