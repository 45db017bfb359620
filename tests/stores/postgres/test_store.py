"""The PostgreSQL store is held to the same contract as the others, against a real server."""

from __future__ import annotations

import pytest

from dragoman.core.protocols import Store
from dragoman.core.values import Scope
from dragoman.testing import stores
from dragoman.testing.stores import StoreConformance

pytestmark = pytest.mark.slow


class TestPostgresStore(StoreConformance):
    @pytest.fixture
    def store(self, make_store):
        return make_store()


class TestPostgresStoreThroughItsIndex(StoreConformance):
    @pytest.fixture
    def store(self, make_store, monkeypatch):
        monkeypatch.setattr(stores, "OTHER_ANA", Scope("other", ""))
        monkeypatch.setattr(stores, "ANA", _SharedAna("acme", ""))
        return make_store(index_above=0)


class _SharedAna(Scope):
    """Shared itself, so that its rows go through the index; `.shared` gives a third scope to tell apart."""

    @property
    def shared(self):
        return Scope("third", "")


def test_it_satisfies_the_protocol(make_store):
    assert isinstance(make_store(), Store)
