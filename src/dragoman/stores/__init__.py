"""Stores: the SQLite system of record with its sidecar index, one in PostgreSQL, and one in memory."""

from dragoman.stores.in_memory import InMemoryStore
from dragoman.stores.postgres import PostgresStore
from dragoman.stores.sqlite import SqliteStore
from dragoman.stores.tables import Verification

__all__ = ["InMemoryStore", "PostgresStore", "SqliteStore", "Verification"]
